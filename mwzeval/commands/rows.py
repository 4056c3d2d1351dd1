"""Print the rows behind the scores: the counts of each dialogue or example.

A score is a function of the sums of columns.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mwzeval.arguments import add_files, add_format, file_of
from mwzeval.commands.systems import scorer_of
from mwzeval.output import warnings_behind, write_result

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    add_files(parser, "the file of a system", several=False)
    benchmark.add_arguments(parser, "rows")
    add_format(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Score a file and print its rows; return 0."""
    from mwzeval.scores.report import per_dialogue
    from mwzeval.scores.sheets import printed

    report = scorer_of(benchmark, arguments).score(file_of(arguments), progress=True).report()
    with warnings_behind(report.warnings):
        write_result(printed(per_dialogue(report), arguments.format), arguments.format)
    return 0
