"""Print the rows behind the scores: the counts of each dialogue or example.

A score is a function of the sums of columns.
"""

from __future__ import annotations

import argparse

from mwzeval.arguments import add_files, add_format, files_of
from mwzeval.benchmark import Benchmark
from mwzeval.commands.systems import score_files
from mwzeval.output import warnings_behind, write_result


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    add_files(parser, "a system's file", several=False)
    benchmark.add_arguments(parser, "rows")
    add_format(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.scores.report import per_dialogue
    from mwzeval.scores.sheets import printed

    (system,) = score_files(files_of(arguments, at_most=1), arguments, benchmark).values()
    report = system.report()
    with warnings_behind(report.warnings):
        write_result(printed(per_dialogue(report), arguments.format), arguments.format)
    return 0
