"""Write one page about one or more systems: scores, reasons, units side by side.

The page is one file that needs no network, to open in a browser.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mwzeval.benchmark import Benchmark, ScoredFile
from mwzeval.commands.arguments import add_resampling
from mwzeval.commands.outcome import STANDARD_OUTPUT
from mwzeval.commands.report import names_of
from mwzeval.output import tell, write_result
from mwzeval.statistics import CONFIDENCE

if TYPE_CHECKING:
    from mwzeval.measure import Resampling


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("systems", nargs="+", metavar="INPUT", help="one file per system")
    parser.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="OUTPUT.html",
        help="where the page goes (default: %(default)s; - is standard output)",
    )
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: the systems)")
    benchmark.add_arguments(parser, "report")
    add_resampling(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Score, explain and write the page."""
    from mwzeval.commands.of_benchmark.compare import score_all
    from mwzeval.files import write_atomically
    from mwzeval.measure import Resampling

    systems = score_all(benchmark, arguments.systems, arguments)
    resampling = Resampling(CONFIDENCE, arguments.samples, arguments.seed)
    text = page(benchmark, systems, resampling, arguments.title)
    if arguments.output in STANDARD_OUTPUT:
        write_result(text, "html")
        return 0
    write_atomically(arguments.output, text)
    size = len(text.encode(errors="backslashreplace")) / 1e6
    tell(f"wrote {arguments.output} ({size:.1f} MB)")
    return 0


def page(
    benchmark: Benchmark,
    systems: Mapping[str, ScoredFile],
    resampling: Resampling,
    title: str | None = None,
) -> str:
    """Return the page of systems, file → what was scored."""
    from mwzeval.report.html import to_html
    from mwzeval.report.page_model import page_system, title_of

    shown = [
        page_system(name, system.report(resampling), system.explain_all())
        for name, system in zip(names_of(list(systems)), systems.values(), strict=True)
    ]
    return to_html(shown, title=title or title_of(shown), words=benchmark.words)
