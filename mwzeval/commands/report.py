"""Write an HTML page about one or more systems: scores, failure reasons, dialogues side by side.

The page is one file; open it in a browser. It needs no network.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mwzeval.arguments import (
    STANDARD_OUTPUT,
    add_files,
    add_resampling,
    files_of,
    resampling_of,
)
from mwzeval.benchmark import Benchmark, ScoredFile
from mwzeval.commands.systems import score_files, unit_of
from mwzeval.errors import UsageError
from mwzeval.libraries import no_garbage_collection
from mwzeval.output import warnings_behind, write_output, write_result

if TYPE_CHECKING:
    from mwzeval.comparison import Comparison
    from mwzeval.scores.report import Report


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    add_files(parser, "one file for each system")
    parser.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="OUTPUT.html",
        help="output file (default: %(default)s; - is standard output)",
    )
    parser.add_argument(
        "--title", metavar="TEXT", help="title of the page (default: the names of the systems)"
    )
    benchmark.add_arguments(parser, "report")
    add_resampling(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.comparison import compare

    scorer = benchmark.scorer(arguments)
    systems = score_files(files_of(arguments), arguments, benchmark, scorer)
    resampling = resampling_of(arguments)
    tables = {name: system.scored_table for name, system in systems.items()}
    with warnings_behind(*(system.warnings for system in systems.values())):
        with no_garbage_collection():  # millions of objects without cycles
            reported = {name: (s.report(resampling), s) for name, s in systems.items()}
            compared: Comparison | str | None = None
            if len(systems) > 1:
                unit = unit_of(benchmark.info.words, tables.values())
                try:
                    compared = compare(tables, resampling=resampling, scopes=True, unit=unit)
                except UsageError as error:
                    compared = str(error)
            text = page(reported, benchmark, scorer.reasons, arguments.title, compared)
        if arguments.output in STANDARD_OUTPUT:
            write_result(text, "html")
        else:
            size = len(text.encode(errors="backslashreplace")) / 1e6
            write_output(arguments.output, text, f" ({size:.1f} MB)")
    return 0


def page(
    reported: Mapping[str, tuple[Report, ScoredFile]],
    benchmark: Benchmark,
    reasons: Mapping[str, str],
    title: str | None = None,
    compared: Comparison | str | None = None,
) -> str:
    """Return the page of systems; `reported` maps names to reports and files (see `to_html`)."""
    from mwzeval.report.html import to_html
    from mwzeval.report.systems import title_of

    shown = [
        replace(report, name=name, explanations=tuple(system.explain_all()))
        for name, (report, system) in reported.items()
    ]
    return to_html(
        shown,
        title=title or title_of(shown),
        words=benchmark.info.words,
        meanings=reasons,
        compared=compared,
        headline=benchmark.info.headline,
    )
