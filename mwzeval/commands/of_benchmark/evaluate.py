"""Score the file of a system: prints a table and writes a JSON report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from mwzeval.benchmark import Benchmark, ScoredFile
from mwzeval.commands.arguments import FORMATS as TABLE_FORMATS
from mwzeval.commands.arguments import add_format, add_intervals
from mwzeval.commands.outcome import (
    add_gates,
    add_output,
    add_quiet,
    failed_gates,
    finish,
)

if TYPE_CHECKING:
    from mwzeval.measure import Resampling

PAGE = "html"


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    parser.add_argument(
        "more", nargs="*", metavar="INPUT", help="the same as -i; several with --runs"
    )
    parser.add_argument(
        "-i", "--input", action="append", default=[], metavar="INPUT", help="what is scored"
    )
    parser.add_argument(
        "--runs",
        action="store_true",
        help="the inputs are runs of one system: print mean ± standard deviation of each score",
    )
    add_output(parser)
    benchmark.add_arguments(parser, "evaluate")
    add_intervals(parser)
    add_format(parser, (*TABLE_FORMATS, PAGE))
    unit = benchmark.words.unit
    parser.add_argument(
        f"--per-{unit}",
        dest="per_unit",
        action="store_true",
        help=f"print the counts of each {unit} instead",
    )
    add_gates(parser, ",".join(f"{alias}=0.5" for alias in list(benchmark.aliases)[:2]))
    parser.add_argument("--strict", action="store_true", help="errors where scoring has a way out")
    add_quiet(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Score, print and write; return the exit code."""
    from mwzeval.gates import parse_gates, worse_than
    from mwzeval.measure import Resampling
    from mwzeval.report.formats import render
    from mwzeval.report.json import to_plain
    from mwzeval.report.summary import per_dialogue, summary
    from mwzeval.report.text import warnings_text

    files = [*arguments.input, *arguments.more]
    if arguments.runs:
        return _score_runs(arguments, benchmark, files)
    if len(files) != 1:
        arguments.parser.error("name one file, or several with --runs")
    (file,) = files
    gates = parse_gates(arguments.fail_under, arguments.fail_over)
    resampling = Resampling(arguments.ci or 0.95, arguments.samples, arguments.seed)
    system = benchmark.score(arguments.benchmark, file, arguments)
    report = system.report(resampling if arguments.ci else None)
    if not arguments.quiet:
        sys.stderr.write(warnings_text(report.warnings))
    failed = failed_gates(gates, report.scores, benchmark.aliases)
    if arguments.fail_below is not None:
        baseline = benchmark.score(arguments.benchmark, arguments.fail_below, arguments)
        failed += [str(worse) for worse in worse_than(system.scored, baseline.scored, resampling)]
    document = summary(report, places=arguments.places)
    if arguments.format == PAGE:
        show = partial(_page, benchmark, system, file, resampling)
    else:
        shown = per_dialogue(report) if arguments.per_unit else document
        show = partial(render, shown, arguments.format)
    return finish(arguments, to_plain(report), document, show, failed)


def _score_runs(arguments: argparse.Namespace, benchmark: Benchmark, files: Sequence[str]) -> int:
    from mwzeval.commands.of_benchmark.compare import score_all
    from mwzeval.gates import parse_gates
    from mwzeval.report.formats import render
    from mwzeval.report.runs import runs_document
    from mwzeval.runs import across

    if len(files) < 2 or arguments.format == PAGE or arguments.per_unit or arguments.fail_below:
        arguments.parser.error(
            "--runs takes several files, and nothing that is of one file: "
            f"--per-{benchmark.words.unit}, --fail-below, -f html"
        )
    systems = score_all(benchmark, files, arguments)
    scores = across({file: system.scored for file, system in systems.items()})
    reports = {file: system.report() for file, system in systems.items()}
    document = runs_document(
        scores,
        runs={file: report.metrics for file, report in reports.items()},
        meta=reports[files[0]].meta,
        places=arguments.places,
    )
    gates = parse_gates(arguments.fail_under, arguments.fail_over)
    show = partial(render, document, arguments.format)
    failed = failed_gates(gates, scores, benchmark.aliases)
    return finish(arguments, document.plain, document, show, failed)


def _page(benchmark: Benchmark, system: ScoredFile, file: str, resampling: Resampling) -> str:
    from mwzeval.commands.of_benchmark.report import page

    return page(benchmark, {file: system}, resampling)
