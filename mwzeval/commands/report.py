"""Write an HTML page about one or more systems: scores, failure reasons, dialogues side by side.

The page is one file; open it in a browser. It needs no network.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mwzeval.arguments import (
    STANDARD_OUTPUT,
    add_files,
    add_resampling,
    files_of,
    resampling_of,
)
from mwzeval.benchmark import Benchmark
from mwzeval.commands.systems import named_report, score_files, unit_of
from mwzeval.errors import UsageError
from mwzeval.libraries import no_garbage_collection
from mwzeval.output import warnings_behind, write_output, write_result

if TYPE_CHECKING:
    from mwzeval.comparison import Comparison


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
    from mwzeval.report.html import to_html

    scorer = benchmark.scorer(arguments)
    systems = score_files(files_of(arguments), arguments, benchmark, scorer)
    resampling = resampling_of(arguments)
    tables = {name: system.scored_table for name, system in systems.items()}
    with warnings_behind(*(system.warnings for system in systems.values())):
        with no_garbage_collection():  # millions of objects without cycles
            reports = [
                named_report(*named, resampling, explained=True) for named in systems.items()
            ]
            compared: Comparison | str | None = None
            if len(systems) > 1:
                unit = unit_of(benchmark.words, tables.values())
                try:
                    compared = compare(tables, resampling=resampling, scopes=True, unit=unit)
                except UsageError as error:
                    compared = str(error)
            text = to_html(
                reports,
                title=arguments.title,
                words=benchmark.words,
                meanings=scorer.reasons,
                compared=compared,
                headline=benchmark.headline,
            )
        if arguments.output in STANDARD_OUTPUT:
            write_result(text, "html")
        else:
            size = len(text.encode(errors="backslashreplace")) / 1e6
            write_output(arguments.output, text, f" ({size:.1f} MB)")
    return 0
