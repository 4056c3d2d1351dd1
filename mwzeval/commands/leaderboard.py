"""Print the published results, with your system, whose file is scored first, in its place."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mwzeval.arguments import FORMATS, add_resampling
from mwzeval.benchmark import optional
from mwzeval.commands.systems import names_of, scorer_of
from mwzeval.output import warnings_behind, write_result
from mwzeval.statistics.intervals import CONFIDENCE

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark
    from mwzeval.errors import Problem
    from mwzeval.report.leaderboard import Entry


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    system = parser.add_mutually_exclusive_group()
    system.add_argument("-i", "--input", metavar="INPUT", help="the file of your system")
    system.add_argument("file", nargs="?", metavar="INPUT", help="the same as -i")
    parser.add_argument("--name", metavar="TEXT", help="name of your system (default: the file's)")
    benchmark.add_arguments(parser, "leaderboard")
    add_resampling(parser)
    parser.add_argument(
        "-f",
        "--format",
        default="text",
        choices=FORMATS,
        help=f"what is printed: {', '.join(FORMATS)} (default: text)",
    )


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Print the tables."""
    from mwzeval.report.terminal import printed

    published = optional(benchmark, "leaderboard")
    entry, warnings = _entry(arguments, benchmark)
    with warnings_behind(warnings):
        document = published(entry, arguments)
        write_result(printed(document, arguments.format), arguments.format)
    return 0


def _entry(
    arguments: argparse.Namespace, benchmark: Benchmark
) -> tuple[Entry | None, Sequence[Problem]]:
    """Return the entry of one's own, if there is one, and the warnings about it."""
    from mwzeval.metrics.measure import Resampling
    from mwzeval.report.leaderboard import Entry

    file: str | None = arguments.input or arguments.file
    if file is None:
        return None, ()
    name: str = arguments.name or names_of([file])[0]
    system = scorer_of(benchmark, arguments).score(file, progress=True)
    report = system.report(Resampling(CONFIDENCE, arguments.samples, arguments.seed))
    return Entry(name, report.scores, report.meta), report.warnings
