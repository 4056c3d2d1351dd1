"""Print the published results, with your system in its place."""

from __future__ import annotations

import argparse
import sys

from mwzeval.benchmark import Benchmark
from mwzeval.commands.arguments import FORMATS, add_resampling
from mwzeval.commands.report import names_of
from mwzeval.output import write_result
from mwzeval.statistics import CONFIDENCE


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("-i", "--input", metavar="INPUT", help="the file of your system")
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
    from mwzeval.measure import Resampling
    from mwzeval.report.formats import render
    from mwzeval.report.text import warnings_text

    report = None
    name = "yours"
    if arguments.input:
        name = arguments.name or names_of([arguments.input])[0]
        system = benchmark.score(arguments.benchmark, arguments.input, arguments)
        report = system.report(Resampling(CONFIDENCE, arguments.samples, arguments.seed))
        sys.stderr.write(warnings_text(report.warnings))
    document = benchmark.published(arguments.benchmark, report, name)
    write_result(render(document, arguments.format), arguments.format)
    return 0
