"""The command line: verbs, arguments, exit codes. Nothing is computed here.

Exit codes: 0 fine, 1 a gate failed, 2 bad use or bad input. Results go to standard output,
everything else to standard error. When the reader of either has gone (`| head`), the command ends
without a word, with 141: as tools that a shell sees end by SIGPIPE (128 + 13).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from mwzeval.commands.overwriting import refuse_overwriting
from mwzeval.errors import MwzevalError, printable
from mwzeval.output import prepare_streams
from mwzeval.version import __version__

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark

MULTIWOZ = "multiwoz"
"""The benchmark that is meant when none is named."""

VERBS = {
    "evaluate": "score a predictions file",
    "validate": "list every problem of a predictions file, as JSON",
    "explain": "tell why dialogues lost Inform or Success",
    "report": "write a page about systems: scores, reasons, dialogues side by side",
    "plot": "draw scores with intervals, domains or reasons for a paper",
    "compare": "compare systems with a baseline: differences, p values, ranks",
    "ceiling": "score the gold responses and states: how high scores can be",
    "leaderboard": "print the published tables, with your system in its place",
    "add-slot-domains": "fill active_domains from the domains of placeholders",
    "delexicalize": "put placeholders for what responses say in words, by the database",
    "tools-schema": "print the JSON tool schema for systems that call tools",
    "baseline": "run a baseline system over a fold and write its predictions",
    "dstc7": "baselines, synthetic data and conversions for DSTC7 sentence selection",
    "crosswoz": "statistics, simulation, templates, policy and NLU of CrossWOZ",
    "pydial": "reinforcement learning on PyDial's tasks: run, tables, plots, play",
    "data": "show, download or verify corpus files; copy example predictions",
}
"""Each verb is a module of `mwzeval.commands` with `add_arguments(parser)` and `run(arguments)`."""

OF_BENCHMARK = ("evaluate", "validate", "explain", "report", "compare", "leaderboard")
"""Verbs that all benchmarks have; the modules of `mwzeval.commands.of_benchmark` take one more
argument, the benchmark."""

BAD_USE = 2
INTERRUPTED = 130
READER_GONE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mwzeval VERB …` and return the exit code."""
    return _run(partial(_parsed, arguments))


def run_verb(verb: str, program: str) -> int:
    """Run one verb as a program of its own (`python evaluate.py …`) and return the exit code."""
    return _run(partial(_parsed_for, verb, program))


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints repeat nothing that a terminal would obey."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    given = sys.argv[1:] if arguments is None else arguments
    benchmark = _asked_benchmark(given)
    parser = _Parser(
        prog="mwzeval", description="The standard numbers for task-oriented dialogue systems."
    )
    parser.add_argument("--version", action="version", version=f"mwzeval {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, summary in VERBS.items():
        _add_arguments(verbs.add_parser(verb, help=summary), verb, benchmark)
    return parser.parse_args(given)


def _parsed_for(verb: str, program: str) -> argparse.Namespace:
    parser = _Parser(prog=program)
    parser.add_argument("--version", action="version", version=f"mwzeval {__version__}")
    _add_arguments(parser, verb, _asked_benchmark(sys.argv[1:]))
    return parser.parse_args()


def _asked_benchmark(arguments: Sequence[str]) -> Benchmark | None:
    """Return the benchmark that `--benchmark` names, None for MultiWOZ.

    It is looked for before anything else, because each benchmark has options of its own.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--benchmark", nargs="?", default=MULTIWOZ)
    name = parser.parse_known_args(arguments)[0].benchmark
    if name in (None, MULTIWOZ):
        return None
    from mwzeval.benchmark import benchmark_named

    return benchmark_named(name)


def _add_arguments(parser: argparse.ArgumentParser, verb: str, benchmark: Benchmark | None) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    module = verb.replace("-", "_")
    if verb in OF_BENCHMARK:
        parser.add_argument(
            "--benchmark",
            default=MULTIWOZ,
            metavar="NAME",
            help="multiwoz (default), or another benchmark, which has options of its own: "
            f"{verb} --benchmark dstc7-ubuntu-1 --help",
        )
    if verb in OF_BENCHMARK and benchmark is not None:
        command = import_module(f"mwzeval.commands.of_benchmark.{module}")
        run = partial(command.run, benchmark=benchmark)
        parser.set_defaults(run=run, parser=parser)
        command.add_arguments(parser, benchmark)
    else:
        command = import_module(f"mwzeval.commands.{module}")
        parser.set_defaults(run=command.run, parser=parser)
        command.add_arguments(parser)
    parser.description = command.__doc__


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
