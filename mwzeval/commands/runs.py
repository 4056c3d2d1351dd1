"""Score several runs of one system: mean ± standard deviation of each score.

The table also shows how much of the variance is between runs and how much between dialogues
or examples.
"""

from __future__ import annotations

import argparse

from mwzeval.arguments import add_files, add_format, files_of
from mwzeval.benchmark import Benchmark
from mwzeval.commands.systems import score_files
from mwzeval.outcome import add_outcome, finish


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    add_files(parser, "files of two or more runs of one system")
    benchmark.add_arguments(parser, "runs")
    add_format(parser)
    add_outcome(parser, benchmark)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.comparison.gates import failures
    from mwzeval.comparison.runs import runs_document, scores_of_runs
    from mwzeval.files.reading import shortest_ends
    from mwzeval.scores.report import plain_problem

    files = files_of(arguments)
    if len(set(files)) < max(len(files), 2):
        arguments.parser.error("name two or more different files, one for each run")
    runs = score_files(files, arguments, benchmark)
    reports = [run.report() for run in runs.values()]
    scores = scores_of_runs({name: run.scored_table for name, run in runs.items()})
    meta = reports[0].meta
    failed = failures(arguments.fail_under, scores, reports[0].aliases)
    warnings = [warning for report in reports for warning in report.warnings]
    named = zip(shortest_ends(files), reports, strict=True)
    document = runs_document(
        scores,
        runs={name: report.metrics for name, report in named},
        meta={**meta, "warnings": [plain_problem(warning.shared()) for warning in warnings]},
        words=benchmark.words,
    )
    return finish(arguments, document, warnings, failed)
