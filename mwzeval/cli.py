"""The command line: commands, arguments, exit codes. This module computes no scores.

Exit codes: 0 success, 1 a gate failed, 2 wrong usage or bad input, 130 interrupted, 141 the reader
of a pipe has exited (128 + SIGPIPE, as for other command-line tools). Results go to standard
output, everything else to standard error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any, NoReturn

from mwzeval.benchmark import (
    BUILT_IN,
    DEFAULT,
    OwnVerb,
    benchmark_named,
    benchmark_of,
    benchmarks,
    own_verbs,
    plugin_errors,
)
from mwzeval.errors import MwzevalError, did_you_mean, printable, shorten
from mwzeval.libraries import no_garbage_collection
from mwzeval.output import prepare_streams, warnings_as_lines
from mwzeval.version import __version__

GROUPS = {
    "score": "Score a system",
    "compare": "Compare systems",
    "agents": "Live dialogues and agents",
    "files": "Files",
    "benchmarks": "Training, baselines and simulation of single benchmarks",
}

VERBS = {
    "evaluate": ("score a system's predictions or live dialogues", "score"),
    "explain": ("explain why dialogues or examples failed", "score"),
    "report": ("write an HTML page: scores, failure reasons, dialogues side by side", "score"),
    "plot": ("draw a figure for a paper: scores with intervals, or failure reasons", "score"),
    "rows": ("print the counts behind the scores, for each dialogue, example or episode", "score"),
    "shards": ("score many files as one input, in this process or on a Dask cluster", "score"),
    "runs": ("score several runs of one system: mean ± standard deviation", "compare"),
    "compare": ("compare systems with a baseline: differences, p values, ranks", "compare"),
    "leaderboard": ("print the published results, optionally with your system", "compare"),
    "power": (
        "compute from a pilot run how many items and trials are needed to detect a difference",
        "compare",
    ),
    "live": ("let an agent talk to a simulated user, and score the dialogues", "agents"),
    "play": ("take part in a dialogue yourself, as the user or the agent", "agents"),
    "validate": ("list the problems of a file, without scoring it", "files"),
}
"""The commands of every benchmark, with help and group. Each is a module of `mwzeval.commands`
with the functions `add_arguments(parser, benchmark)` and `run(arguments, benchmark)`."""

VERBS_OF_NONE = {
    "data": ("show, download or verify public files; copy examples", "mwzeval.commands.data"),
    "doctor": (
        "show what is installed and what is missing: versions, packages, files",
        "mwzeval.commands.doctor",
    ),
    "completion": ("set up shell completion of verbs, options and files", "mwzeval.completion"),
}
"""The commands that are not about a benchmark, with their help and modules."""

BAD_USE, INTERRUPTED, READER_GONE = 2, 130, 141

MOVED = Path(__file__).with_name("moved_options.tsv")
"""The options of earlier versions, and their replacements."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mwzeval COMMAND …` and return the exit code, also if Ctrl-C interrupts the imports."""
    parsed = None
    try:
        prepare_streams()
        given = sys.argv[1:] if arguments is None else list(arguments)
        with no_garbage_collection():  # imported modules are never garbage
            parsed = command_parser(given).parse_args(given)
        from mwzeval.arguments import check_outputs  # not needed by `--help`, which exits above

        check_outputs(parsed)
        with warnings_as_lines():
            code: int = parsed.run(parsed)
        sys.stdout.flush()
    except MwzevalError as error:
        return _failed(f"error: {error}")
    except MemoryError:
        return _failed("error: the input does not fit into memory")
    except KeyboardInterrupt:
        # Commands that write during the run set `interrupted`, which states how to resume.
        _failed(f"interrupted; {getattr(parsed, 'interrupted', 'nothing was written')}")
        return INTERRUPTED
    except BrokenPipeError:
        # Discard the remaining output, so that Python prints no error at exit.
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


def command_parser(given: Sequence[str] | None = None) -> Parser:
    """Return the parser of `mwzeval`, with the arguments of the command in `given`.

    Without `given`, the parser has the arguments of all commands for the default benchmark. Raises
    `UsageError` for an unknown benchmark.
    """
    verbs = {v: OwnVerb(what, f"mwzeval.commands.{v}", group) for v, (what, group) in VERBS.items()}
    verbs |= own_verbs()
    verbs |= {verb: OwnVerb(*about, "files") for verb, about in VERBS_OF_NONE.items()}
    words = list(given or ())
    chosen = next((word for word in words if not word.startswith("-")), None)
    if chosen is not None:
        # The command is not a file, even if a folder has the same name.
        words.remove(chosen)
        if chosen not in verbs:  # only now, because a search for plug-ins is slow
            verbs = own_verbs(external=True) | verbs
    parser = Parser(
        prog="mwzeval",
        usage="mwzeval [--help] [--version] VERB ...",
        description=_listed(verbs),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mwzeval {__version__}")
    subparsers = parser.add_subparsers(
        dest="verb", metavar="VERB", required=True, prog="mwzeval", help=argparse.SUPPRESS
    )
    for verb, about in verbs.items():
        subparser = subparsers.add_parser(verb, help=about.summary)
        if given is None or verb == chosen:  # only the needed modules, because imports are slow
            _add_arguments(subparser, verb, about, words)
    return parser


def _listed(verbs: dict[str, OwnVerb]) -> str:
    lines = ["Compute the standard scores of task-oriented dialogue systems."]
    for group, title in GROUPS.items():
        lines += ["", f"{title}:"]
        lines += [
            f"  {verb:<17} {about.summary}" for verb, about in verbs.items() if about.group == group
        ]
    return "\n".join([*lines, "", "`mwzeval VERB --help` lists the options of a verb."])


def _add_arguments(parser: Parser, verb: str, about: OwnVerb, given: Sequence[str]) -> None:
    benchmark, more = None, {}
    if verb in VERBS:
        name = _chosen_benchmark(verb, given)
        benchmark = benchmark_named(name)
        parser.why_unknown = (
            f" (these are the options of {name}; --benchmark NAME selects another benchmark)"
        )
        names = ", ".join(BUILT_IN)
        parser.add_argument(
            "--benchmark",
            default=name,
            metavar="NAME",
            help=f"{names}, or a task of a benchmark as NAME-TASK (default: detected "
            f"from the first file, else {DEFAULT}); each benchmark has its own options: {verb} "
            "--benchmark NAME --help",
        )
        more = {"benchmark": benchmark}
    elif verb not in VERBS_OF_NONE:
        benchmark = next(owner for owner in benchmarks() if owner.verbs.get(verb) == about)
    with plugin_errors(benchmark):
        module, _, name = about.module.partition(":")
        command: Any = import_module(module)
        command = getattr(command, name) if name else command
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.description = cleandoc(command.__doc__ or "")
        guarded = plugin_errors(benchmark, may_exit=verb not in VERBS)
        run = guarded(partial(command.run, **more))
        command.add_arguments(parser, **more)
    parser.set_defaults(run=run, parser=parser, verb=verb)


def _chosen_benchmark(verb: str, given: Sequence[str]) -> str:
    """Return the name of the benchmark of a command, before its other arguments are parsed.

    This is the argument of `--benchmark`, else the benchmark that recognizes a file, else the
    default.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--benchmark", nargs="?")
    parser.add_argument("-i", "--input", nargs="?", action="append", default=[])
    for option in (("-o", "--output"), ("--data",)):
        parser.add_argument(*option, nargs="?")
    known, others = parser.parse_known_args(given)
    if known.benchmark is not None:
        return str(known.benchmark)
    for word in others if verb == "play" else ():  # also accepts the name without an option
        with suppress(MwzevalError):
            benchmark_named(word)
            return word
    if "--items" not in given:  # no benchmark recognizes files of items
        from mwzeval.arguments import named_runs

        # `live` may resume from its output file.
        files = [*known.input, *others, *([known.output] if verb == "live" else [])]
        for word in filter(None, files):
            _, runs = named_runs(word) or ("", ())
            for file in (word, *runs):
                if benchmark := benchmark_of(file):
                    return benchmark.name
    return DEFAULT


class Parser(argparse.ArgumentParser):
    """A parser whose errors have three lines: the error, a short usage, and how to get help.

    Control characters are escaped. `why_unknown` returns the reason why an option is unknown.
    """

    why_unknown = ""

    def format_help(self) -> str:
        """Return the help text, and the folder of the documentation pages that the help names."""
        return _with_documentation(super().format_help())

    def error(self, message: str) -> NoReturn:
        """Print the message, and exit with 2."""
        needed = [a for a in self._actions if a.required or not a.option_strings]
        formatter = argparse.HelpFormatter(f"{self.prog} [options]", width=1_000)
        formatter.add_usage(self.usage, needed, [])
        usage = formatter.format_help().strip()
        for line in (
            f"{self.prog}: error: {message}",
            usage,
            f"for all options, run {self.prog} --help",
        ):
            print(printable(line), file=sys.stderr)
        self.exit(BAD_USE)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse all arguments; exit with 2 if an argument is unknown."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            from mwzeval.files.reading import table_rows  # not needed by `--help`

            option = next((word for word in unknown if word.startswith("-")), "")
            name = option.partition("=")[0]
            if replacement := dict(table_rows(MOVED, 2)).get(name):
                self.error(f"this verb has no option {name}: {replacement}")
            advice = did_you_mean(name, self._option_string_actions)
            words = shorten(" ".join(unknown), 200) + (advice if option else "")
            self.error(f"unrecognized arguments: {words}{self.why_unknown if option else ''}")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        advice = did_you_mean(str(value), choices)
        known = "" if advice else f" ({', '.join(choices)})"
        raise argparse.ArgumentError(action, f'unknown "{shorten(str(value))}"{advice}{known}')


def _with_documentation(text: str) -> str:
    """Return a text; if it names a page of docs/, add a last line with the folder."""
    if "docs/" not in text:
        return text
    from mwzeval.files.downloads import embedded

    return f"{text.rstrip()}\ndocs/ is {embedded('docs')}{text[len(text.rstrip()) :]}"
