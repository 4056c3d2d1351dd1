"""The command line: verbs, arguments, exit codes. Nothing is computed here.

Exit codes: 0 fine, 1 a gate failed, 2 bad use or bad input. Results go to standard output,
everything else to standard error. When the reader of either has gone (`| head`), the command ends
without a word, with 141: as tools that a shell sees end by SIGPIPE (128 + 13).

No verb writes over what it reads: outputs are held against inputs before anything is read.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module

from mwzeval.benchmark import (
    BUILT_IN,
    DEFAULT,
    Benchmark,
    OwnVerb,
    benchmark_named,
    benchmark_of_files,
    family,
    own_verbs,
    plugin_errors,
)
from mwzeval.errors import MwzevalError, printable
from mwzeval.output import prepare_streams, warnings_told
from mwzeval.parser import BAD_USE, Parser
from mwzeval.version import __version__

GROUPS = {
    "score": "Score a system",
    "compare": "Compare systems",
    "agents": "Agents that talk",
    "files": "Files",
    "benchmarks": "Training, baselines and simulation of single benchmarks",
}
"""What people want, in the order of `mwzeval --help`."""

VERBS = {
    "evaluate": ("score the file of a system", "score"),
    "explain": ("tell why units (dialogues, examples) lost", "score"),
    "report": ("write a page about systems: scores, reasons, units side by side", "score"),
    "plot": ("draw scores with intervals, parts or reasons for a paper", "score"),
    "rows": ("print the counts of each dialogue, example or episode", "score"),
    "runs": ("score several runs of one system: mean ± standard deviation", "compare"),
    "compare": ("compare systems with a baseline: differences, p values, ranks", "compare"),
    "leaderboard": ("print the published results, with your system in its place", "compare"),
    "power": ("tell how many items and trials show a difference, from a pilot run", "compare"),
    "live": ("let an agent talk to a user about goals, and score what came of it", "agents"),
    "play": ("be the user or the agent of a dialogue yourself", "agents"),
    "validate": ("list the problems of a file, without scoring it", "files"),
}
"""Verbs of every benchmark, with their group: each is a module of `mwzeval.commands`, whose
`add_arguments(parser, benchmark)` and `run(arguments, benchmark)` are given the benchmark."""

VERBS_OF_NONE = {
    "data": OwnVerb(
        "show, download or verify public files; copy examples", "mwzeval.commands.data", "files"
    ),
    "doctor": OwnVerb(
        "tell what is here and what is missing: versions, packages, files",
        "mwzeval.doctor",
        "files",
    ),
    "completion": OwnVerb(
        "let a shell complete verbs, options and files", "mwzeval.completion", "files"
    ),
}
"""Verbs that are about no benchmark, or about all."""

ABOUT = "The standard numbers for task-oriented dialogue systems."
WIDEST = 18
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


class _Parser(Parser):
    def format_help(self) -> str:
        return _with_documentation(super().format_help())


def _with_documentation(text: str) -> str:
    """Return a text; where it names a page of docs/, with a last line that says where these are."""
    if "docs/" not in text:
        return text
    from mwzeval.files.downloads import embedded

    return f"{text.rstrip()}\ndocs/ is {embedded('docs')}{text[len(text.rstrip()) :]}"


def whole_parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs with all their arguments, those of the default benchmark."""
    return _parser([], frozenset((*VERBS, *_other_verbs())))


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = [word for word in given if not word.startswith("-")][:1]
    # Only this verb is needed, and modules take their time.
    return _parser(given, frozenset(asked)).parse_args(given)


def _parser(given: Sequence[str], verbs_in_full: frozenset[str]) -> Parser:
    named = _other_verbs(next(iter(verbs_in_full), None))
    others = {verb: (of.summary, of.group) for verb, of in named.items()}
    known = {**VERBS, **others}
    parser = _Parser(
        prog="mwzeval",
        usage="mwzeval [--help] [--version] VERB ...",
        description=f"{ABOUT}\n\n{_listed(known)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mwzeval {__version__}")
    verbs = parser.add_subparsers(
        dest="verb", metavar="VERB", required=True, prog="mwzeval", help=argparse.SUPPRESS
    )
    for verb, (summary, _) in known.items():
        of_verb = verbs.add_parser(verb, help=summary)
        if verb in verbs_in_full:
            # The verb itself is no file, though a folder may be called like it.
            place = given.index(verb) if verb in given else -1
            _add_arguments(of_verb, verb, [*given[: max(place, 0)], *given[place + 1 :]])
    return parser


def _other_verbs(asked: str | None = None) -> dict[str, OwnVerb]:
    """Return the verbs of single benchmarks and those of none.

    Plug-ins are searched only if the verb that is asked for is not one of these.
    """
    known = {**own_verbs(), **VERBS_OF_NONE}
    if asked is not None and asked not in known and asked not in VERBS:
        found = own_verbs(external=True)
        known |= {verb: of for verb, of in found.items() if verb not in {**known, **VERBS}}
    return known


def _listed(known: Mapping[str, tuple[str, str]]) -> str:
    """Return verbs and what each is for, by group."""
    parts = []
    for group, title in GROUPS.items():
        lines = [
            f"  {verb:<{WIDEST}}{summary}" for verb, (summary, of) in known.items() if of == group
        ]
        parts.append("\n".join([f"{title}:", *lines]))
    return "\n\n".join(parts)


def _add_arguments(parser: Parser, verb: str, given: Sequence[str]) -> None:
    """Add the arguments of a verb, those of the benchmark that is asked for among them."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    if verb in VERBS:
        command = import_module(f"mwzeval.commands.{verb}")
        name, by_file = _asked_benchmark(verb, given)
        benchmark = benchmark_named(name)
        if by_file:
            parser.why_unknown = (
                f" (the file looks like one of {name}, whose options these are not: "
                "--benchmark names another)"
            )
        names = ", ".join(BUILT_IN)
        parser.add_argument(
            "--benchmark",
            default=name,
            metavar="NAME",
            help=f"{names} or one of their parts (default: that of the first file, by its shape, "
            f"else {DEFAULT}); each has options of its own: {verb} --benchmark NAME "
            "--help",
        )
        run = partial(_run_command, command.run, benchmark)
        with plugin_errors(benchmark):
            command.add_arguments(parser, benchmark)
    else:
        command = import_module(_other_verbs(verb)[verb].module)
        run = command.run
        command.add_arguments(parser)
    parser.set_defaults(run=run, parser=parser, verb=verb)
    parser.description = command.__doc__


def _run_command(
    run: Callable[..., int], benchmark: Benchmark, arguments: argparse.Namespace
) -> int:
    with plugin_errors(benchmark):
        return run(arguments, benchmark)


def _asked_benchmark(verb: str, given: Sequence[str]) -> tuple[str, bool]:
    """Return the benchmark that a command is about, and whether a file determines it.

    It is what `--benchmark` names, else the benchmark of the first file, else the default.

    `given` are the arguments of the verb. It is looked for before anything else, because each
    benchmark has options of its own.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--benchmark", nargs="?")
    parser.add_argument("-i", "--input", nargs="?", action="append", default=[])
    for option in (("-o", "--output"), ("--data",)):
        parser.add_argument(*option, nargs="?")
    known, others = parser.parse_known_args(given)
    if known.benchmark is not None:
        return known.benchmark, False
    if verb == "play":
        word = given[0] if given else "-"
        if not word.startswith("-") and family(word) is not None:
            return word, False
    if "--items" not in given:  # of these no benchmark knows anything
        # What `live` writes it may go on with.
        files = [*known.input, *others, *([known.output] if verb == "live" else [])]
        if found := benchmark_of_files(_words(word for word in files if word)):
            return found, True
    return DEFAULT, False


def _words(given: Iterable[str]) -> Iterator[str]:
    """Yield what may be names of files in arguments, those of runs among them."""
    from mwzeval.arguments import named_runs

    for word in given:
        yield word
        if runs := named_runs(word):
            yield from runs[1]


@contextmanager
def _imports() -> Iterator[None]:
    """Let the collector of garbage rest while modules are imported, which stay."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


def _run(parse: Callable[[], argparse.Namespace]) -> int:
    """Parse, run the verb, and return the exit code; Ctrl-C is heeded from the first import on."""
    arguments = None
    try:
        prepare_streams()
        with _imports():
            arguments = parse()
        from mwzeval.output_checks import check_outputs, refuse_overwriting  # `--help` ends above

        refuse_overwriting(arguments)
        check_outputs(arguments)
        with warnings_told():
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
        print(_with_documentation(message), file=sys.stderr)
        sys.stderr.flush()
    return BAD_USE
