"""Score the gold data as predictions: the ceiling of a system's scores.

Without a file of a system, the gold data of the whole fold are scored. With a system's file, the
system's scores are printed next to those of the gold data of the same dialogues.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from mwzeval.arguments import add_files, add_format, add_intervals, files_of
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.benchmark import add_metrics, add_options, add_reading, scorer_of
from mwzeval.output import warnings_behind, write_output, write_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.set_defaults(benchmark=NAME)
    add_files(parser, "a system's file (default: none)", several=False)
    parser.add_argument("-o", "--output", metavar="OUTPUT.json", help="also write a JSON report")
    add_metrics(parser, "all metrics that the input allows (for a fold: all metrics)")
    add_options(parser, "--references")
    add_reading(parser)
    add_intervals(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the scores; write a report if requested; return 0."""
    from mwzeval.metrics.measure import Resampling
    from mwzeval.multiwoz.ceiling import GOLD, ceiling_of, document_with, signed_as_gold
    from mwzeval.scores.report import summary
    from mwzeval.scores.sheets import printed
    from mwzeval.text import to_json

    scorer = scorer_of(arguments)
    resampling = Resampling(arguments.ci) if arguments.ci else None
    if files := files_of(arguments, at_most=1, required=False):
        system: Any = scorer.score(files[0], progress=True)
        ceiling = ceiling_of(scorer, system, None)
        report = system.report(resampling)
        report = replace(report, meta={**report.meta, "ceiling": dict(ceiling.metrics)})
        document = document_with(ceiling, report)
    else:
        report = signed_as_gold(ceiling_of(scorer, None, resampling))
        document = summary(report)
        heading = (
            *document.heading,
            f"These are the scores of the {GOLD} when they are taken as predictions.",
        )
        document = replace(document, heading=heading)
    with warnings_behind(report.warnings):
        if arguments.output:
            write_output(arguments.output, to_json(report.to_dict()))
        write_result(printed(document, arguments.format), arguments.format)
    return 0
