"""Score the gold data of a fold as a system's: how high the scores of a system can be."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mwzeval.arguments import add_format, add_intervals, add_signatures
from mwzeval.commands.systems.scoring import refuse
from mwzeval.output import write_output, write_result

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    benchmark.add_arguments(parser, "ceiling")
    add_intervals(parser)
    add_format(parser)
    add_signatures(parser)
    parser.add_argument(
        "-o", "--output", metavar="OUTPUT.json", help="also write a JSON report, as of a system"
    )


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Score and print; write a report if asked to."""
    from mwzeval.metrics.measure import Resampling
    from mwzeval.report.summary import ceiling_report, ceiling_summary
    from mwzeval.report.terminal import printed
    from mwzeval.text import to_json

    refuse(benchmark, "ceiling")
    resampling = (
        Resampling(arguments.ci, arguments.samples, arguments.seed) if arguments.ci else None
    )
    report = ceiling_report(benchmark.ceiling(arguments, None, resampling))
    if arguments.output:
        write_output(arguments.output, to_json(report))
    write_result(
        printed(
            ceiling_summary(report, places=arguments.places),
            arguments.format,
            signatures=arguments.signatures,
        ),
        arguments.format,
    )
    return 0
