"""The command line: verbs, arguments, exit codes. Nothing is computed here.

Exit codes: 0 fine, 1 a gate failed, 2 bad use or bad input. Results go to standard output,
everything else to standard error. When the reader of either has gone (`| head`), the command ends
without a word, with 141: as tools that a shell sees end by SIGPIPE (128 + 13).

No verb writes over what it reads: outputs are held against inputs before anything is read.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from mwzeval.benchmark import (
    benchmark_named,
    benchmark_of_trajectories,
    default_benchmark,
    known_benchmarks,
    own_verbs,
)
from mwzeval.errors import MwzevalError, UsageError, printable, shorten
from mwzeval.files.reading import STANDARD_INPUT, is_url
from mwzeval.output import prepare_streams
from mwzeval.version import __version__

WRITTEN = ("output", "mentions", "claims")
"""Arguments that name what is written."""

READ = frozenset(
    {
        *(
            "against",
            "agent_prompt",
            "dataset",
            "dev",
            "dialogues",
            "encoder",
            "entities",
            "fail_below",
            "file",
            "files",
            "folder",
            "folders",
            "goal_model",
            "input",
            "knowledge",
        ),
        *("model", "ontology", "policy", "pool", "predictions", "prices", "report", "targets"),
        *("templates", "tools", "training", "user_parameters", "user_prompt"),
    }
)
"""Arguments that name what is read: files, or folders that are read as a whole."""

Identity = tuple[int, int] | str
"""Device and inode; of what is not there yet the path without symbolic links."""


def refuse_overwriting(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` when two outputs, or an output and another argument, are the same file.

    Files are the same whatever they are called: by `..`, symbolic or hard links, patterns.
    """
    given = vars(arguments)
    written: dict[Identity, str] = {}
    for option in WRITTEN:
        path = given.get(option)
        if not isinstance(path, str) or path == STANDARD_INPUT:
            continue
        identity = _identity(path)
        if identity is None:
            continue
        if identity in written:
            other = written[identity]
            raise UsageError(f"--{option} and --{other} are the same file: {_shown(path)}")
        written[identity] = option
    if not written:
        return
    for name in sorted(READ & given.keys()):
        for path in _files(given[name]):
            identity = _standard_input() if path == STANDARD_INPUT else _identity(path)
            if identity in written:
                option = written[identity]
                raise UsageError(
                    f"--{option} {_shown(given[option])} is also read ({_shown(path)}), and would "
                    "be overwritten: name another file"
                )


def _files(value: Any) -> Iterator[str]:
    """Yield what may be names of files in an argument, patterns as the files that match."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from _files(each)
    elif isinstance(value, str):
        from mwzeval.arguments import named_runs

        yield value
        if runs := named_runs(value):
            yield from _files(runs[1])
        if any(sign in value for sign in "*?[") and not is_url(value):
            import glob

            yield from glob.iglob(value, recursive=True)  # noqa: PTH207


def _identity(path: str) -> Identity | None:
    """Return what a file or folder is known by; None for devices, pipes and impossible names."""
    try:
        return _known_by(Path(path).stat())
    except FileNotFoundError:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None


def _standard_input() -> Identity | None:
    try:
        return _known_by(os.fstat(sys.stdin.fileno()))
    except (OSError, ValueError, AttributeError):
        return None


def _known_by(status: os.stat_result) -> Identity | None:
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return status.st_dev, status.st_ino
    return None


def _shown(path: str) -> str:
    return shorten(path, 300)


VERBS = {
    "evaluate": "score the file of a system",
    "validate": "list every problem of a file, as JSON",
    "explain": "tell why units (dialogues, examples) lost",
    "report": "write a page about systems: scores, reasons, units side by side",
    "plot": "draw scores with intervals, parts or reasons for a paper",
    "live": "let an agent talk to a user about goals, and score what came of it",
    "play": "be the user or the agent of a dialogue yourself",
    "compare": "compare systems with a baseline: differences, p values, ranks",
    "power": "tell how many items and trials show a difference, from a pilot run",
    "ceiling": "score gold data as a system's: how high scores can be",
    "leaderboard": "print the published results, with your system in its place",
}
"""Verbs of every benchmark: each is a module of `mwzeval.commands`, whose `add_arguments(parser,
benchmark)` and `run(arguments, benchmark)` are given the benchmark."""

VERBS_OF_NONE = {"data": "show, download or verify public files; copy example predictions"}
"""Verbs that are about no benchmark, or about all: modules of `mwzeval.commands`."""

BAD_USE = 2
INTERRUPTED = 130
READER_GONE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mwzeval VERB …` and return the exit code."""
    return _run(partial(_parsed, arguments))


def run_verb(verb: str, program: str) -> int:
    """Run one verb as a program of its own (`python evaluate.py …`) and return the exit code."""
    return _run(lambda: parser_of(verb, sys.argv[1:], program).parse_args())


def parser_of(
    verb: str, arguments: Sequence[str] = (), program: str | None = None
) -> argparse.ArgumentParser:
    """Return the parser of a verb, with the options of the benchmark that `arguments` name.

    `program` is what usage calls it. Raises `UsageError` for an unknown benchmark.
    """
    parser = _Parser(prog=program or f"mwzeval {verb}")
    parser.add_argument("--version", action="version", version=f"mwzeval {__version__}")
    _add_arguments(parser, verb, arguments)
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints repeat nothing that a terminal would obey."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = _Parser(
        prog="mwzeval", description="The standard numbers for task-oriented dialogue systems."
    )
    parser.add_argument("--version", action="version", version=f"mwzeval {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    own = {verb: about.summary for verb, about in own_verbs().items()}
    asked = next((word for word in given if not word.startswith("-")), None)
    for verb, summary in {**VERBS, **own, **VERBS_OF_NONE}.items():
        of_verb = verbs.add_parser(verb, help=summary)
        if verb == asked:  # only this one is needed, and modules take their time
            _add_arguments(of_verb, verb, given)
    return parser.parse_args(given)


def _add_arguments(parser: argparse.ArgumentParser, verb: str, given: Sequence[str]) -> None:
    """Add the arguments of a verb, those of the benchmark that is asked for among them."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    if verb in VERBS:
        command = import_module(f"mwzeval.commands.{verb}")
        asked = _asked_benchmark(given)
        benchmark = benchmark_named(asked)
        names = ", ".join(known.name for known in known_benchmarks())
        parser.add_argument(
            "--benchmark",
            default=asked,
            metavar="NAME",
            help=f"{names} or one of their parts (default: what a file of live dialogues says, "
            f"else {default_benchmark()}); each has options of its own: {verb} --benchmark NAME "
            "--help",
        )
        run = partial(command.run, benchmark=benchmark)
        command.add_arguments(parser, benchmark)
    else:
        own = own_verbs()
        module = own[verb].module if verb in own else f"mwzeval.commands.{verb}"
        command = import_module(module)
        run = command.run
        command.add_arguments(parser)
    parser.set_defaults(run=run, parser=parser, verb=verb)
    parser.description = command.__doc__


def _asked_benchmark(given: Sequence[str]) -> str:
    """Return what `--benchmark` names, or else a file of live dialogues, or the default.

    It is looked for before anything else, because each benchmark has options of its own.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--benchmark", nargs="?")
    said: str | None = parser.parse_known_args(given)[0].benchmark
    if said is None and given[:1] == ["play"]:
        names = {known.name for known in known_benchmarks()}
        said = next((word for word in given[1:2] if word.partition("-")[0] in names), None)
    if said is None and "--items" not in given:  # of these no benchmark knows anything
        said = benchmark_of_trajectories(_words(given))
    return said or default_benchmark()


def _words(given: Sequence[str]) -> Iterator[str]:
    """Yield what may be names of files in arguments, those of runs among them."""
    from mwzeval.arguments import named_runs

    for word in given:
        yield word
        if runs := named_runs(word):
            yield from runs[1]


def _run(parse: Callable[[], argparse.Namespace]) -> int:
    """Parse, run the verb, and return the exit code; Ctrl-C is heeded from the first import on."""
    arguments = None
    try:
        prepare_streams()
        arguments = parse()
        refuse_overwriting(arguments)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except MwzevalError as error:
        return _failed(f"error: {error}")
    except MemoryError:
        return _failed("error: the input does not fit into memory")
    except KeyboardInterrupt:
        # Verbs that write as they go say what is left, and how to go on.
        _failed(f"interrupted; {getattr(arguments, 'interrupted', 'nothing was written')}")
        return INTERRUPTED
    except BrokenPipeError:
        # What is still to be written goes nowhere: Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _failed(printable(f"error: {place}{error.strerror or error}"))
    return code


def _failed(message: str) -> int:
    with suppress(OSError):
        print(message, file=sys.stderr)
        sys.stderr.flush()
    return BAD_USE
