"""Score a system's predictions or live dialogues: print a table, and write a JSON report."""

from __future__ import annotations

import argparse
from functools import partial

from mwzeval.arguments import FORMATS, InputFile, add_files, add_format, add_intervals, files_of
from mwzeval.benchmark import Benchmark
from mwzeval.commands.systems import named_report, names_of, score_files
from mwzeval.outcome import add_outcome, finish_report
from mwzeval.statistics.intervals import CONFIDENCE

PAGE = "html"


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    add_files(parser, "a system's file", several=False)
    benchmark.add_arguments(parser, "evaluate")
    add_intervals(parser)
    add_format(parser, (*FORMATS, PAGE))
    parser.add_argument(
        "--fail-below",
        type=InputFile,
        metavar="BASELINE.json",
        help="exit with 1 if a score is significantly worse than the same score of this file "
        "(paired tests at the 5 %% level after Holm's correction)",
    )
    add_outcome(parser, benchmark)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.comparison.gates import worse_than
    from mwzeval.metrics.measure import Resampling

    files = files_of(arguments)
    if len(files) > 1:
        arguments.parser.error(
            f"{len(files)} inputs: `mwzeval compare` compares systems, `mwzeval runs` scores "
            "several runs of one system, `mwzeval shards` scores predictions in several files "
            "as one input"
        )
    if arguments.output.endswith(".html"):
        arguments.parser.error(
            "-o writes the JSON report; `mwzeval report -o PAGE.html` writes the HTML page"
        )
    resampling = Resampling(arguments.ci or CONFIDENCE)
    below = [arguments.fail_below] if arguments.fail_below is not None else []
    scorer = benchmark.scorer(arguments)
    system, *baselines = score_files([*files, *below], arguments, benchmark, scorer).values()
    worse: list[str] = []
    for baseline in baselines:
        worse += worse_than(system.scored_table, baseline.scored_table, resampling)
    (name,), is_page = names_of(files), arguments.format == PAGE
    report = named_report(name, system, resampling if arguments.ci else None, explained=is_page)
    show = None
    if is_page:
        from mwzeval.report.html import to_html  # slow to import

        show = partial(
            to_html,
            [report],
            words=benchmark.words,
            meanings=scorer.reasons,
            headline=benchmark.headline,
        )
    return finish_report(arguments, scorer, report, worse, show)
