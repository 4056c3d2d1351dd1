"""Print the published results, with your system, whose file is scored first, in its place."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mwzeval.arguments import add_files, add_format, add_resampling, files_of
from mwzeval.benchmark import optional
from mwzeval.commands.systems import names_of, scorer_of
from mwzeval.output import warnings_behind, write_result
from mwzeval.statistics.intervals import CONFIDENCE

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark
    from mwzeval.errors import Problem


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    add_files(parser, "the file of your system (default: none)", several=False)
    parser.add_argument("--name", metavar="TEXT", help="name of your system (default: the file's)")
    benchmark.add_arguments(parser, "leaderboard")
    add_resampling(parser)
    add_format(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Print the tables; return 0."""
    from mwzeval.metrics.measure import Resampling
    from mwzeval.report.systems import scored_system
    from mwzeval.scores.sheets import printed

    published = optional(benchmark, "leaderboard")
    entry = None
    warnings: Sequence[Problem] = ()
    if files := files_of(arguments, at_most=1, required=False):
        system = scorer_of(benchmark, arguments).score(files[0], progress=True)
        report = system.report(Resampling(CONFIDENCE, arguments.samples, arguments.seed))
        entry = scored_system(arguments.name or names_of(files)[0], report)
        warnings = report.warnings
    with warnings_behind(warnings):
        document = published(entry, arguments)
        write_result(printed(document, arguments.format), arguments.format)
    return 0
