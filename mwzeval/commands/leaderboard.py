"""Print the published results and, if a file is given, score the file and show your system."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mwzeval.arguments import add_files, add_format, add_resampling, files_of, resampling_of
from mwzeval.benchmark import Benchmark
from mwzeval.commands.systems import named_report, score_files
from mwzeval.errors import Problem
from mwzeval.output import warnings_behind, write_result
from mwzeval.scores.sheets import printed


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    add_files(parser, "your system's file (default: none)", several=False)
    parser.add_argument(
        "--name", metavar="TEXT", help="name of your system (default: the name of the file)"
    )
    benchmark.add_arguments(parser, "leaderboard")
    add_resampling(parser)
    add_format(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    entry = None
    warnings: Sequence[Problem] = ()
    files = files_of(arguments, at_most=1, required=False)
    for name, system in score_files(files, arguments, benchmark).items():
        entry = named_report(arguments.name or name, system, resampling_of(arguments))
        warnings = entry.warnings
    with warnings_behind(warnings):
        document = benchmark.leaderboard(entry, arguments)
        write_result(printed(document, arguments.format), arguments.format)
    return 0
