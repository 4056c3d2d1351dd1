"""Draw a figure for a paper: PNG, SVG or PDF, one column wide, by the ending of its file.

Kinds: scores (with 95 % intervals), domains (a heat map of Inform and Success), reasons (how many
dialogues each lost). Needs matplotlib: pip install 'mwzeval[plot]'
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from mwzeval.commands.arguments import add_resampling
from mwzeval.commands.report import add_files, read_systems
from mwzeval.errors import UsageError
from mwzeval.output import tell

if TYPE_CHECKING:
    from mwzeval.report.page_model import PageSystem

KINDS = ("scores", "domains", "reasons")
TRACKING = ("dst.joint_accuracy", "dst.slot_f1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_files(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FIGURE.pdf",
        help="where the figure goes: .pdf, .png or .svg",
    )
    parser.add_argument("--kind", choices=KINDS, default="scores", help="default: %(default)s")
    parser.add_argument(
        "--scores",
        metavar="NAMES",
        help="which scores, with commas between, such as inform,dst.slot_f1 (default: Inform, "
        "Success, BLEU and Combined)",
    )
    parser.add_argument(
        "--width", type=_width, default=3.3, metavar="INCHES", help="default: %(default)s"
    )
    add_resampling(parser)


def _width(text: str) -> float:
    width = float(text)
    if not 2 <= width <= 20:
        raise argparse.ArgumentTypeError(f"a figure is 2 to 20 inches wide, not {text}")
    return width


def run(arguments: argparse.Namespace) -> int:
    """Score and draw; return the exit code."""
    if arguments.scores and arguments.kind != "scores":
        arguments.parser.error("--scores chooses what --kind scores draws")
    from mwzeval.files import write_atomically
    from mwzeval.report.plots import FORMATS, require_matplotlib

    format_name = PurePath(arguments.output).suffix.lower().removeprefix(".")
    if format_name not in FORMATS:
        endings = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(f"{arguments.output}: a figure's file ends in one of {endings}")
    require_matplotlib()
    figure = _draw(arguments, format_name)
    write_atomically(arguments.output, figure)
    tell(f"wrote {arguments.output} ({len(figure) / 1e3:.0f} kB)")
    return 0


def _draw(arguments: argparse.Namespace, format_name: str) -> bytes:
    from mwzeval.multiwoz.page import WORDS, explanations
    from mwzeval.report.page_model import PageSystem
    from mwzeval.report.plots import plot_parts, plot_reasons, plot_scores

    systems = []
    for system in read_systems(arguments):
        report, checked = system.report(), system.checked
        explained = (
            explanations(checked.dialogues, checked.scorer) if arguments.kind == "reasons" else ()
        )
        systems.append(
            PageSystem(system.name, report.scores, explained, report.warnings, report.meta)
        )
    if arguments.kind == "domains":
        return plot_parts(systems, format_name=format_name, words=WORDS, width=arguments.width)
    if arguments.kind == "reasons":
        return plot_reasons(systems, format_name=format_name, words=WORDS, width=arguments.width)
    names = (arguments.scores or ",".join(_main_scores(systems))).split(",")
    return plot_scores(systems, names, format_name=format_name, width=arguments.width)


def _main_scores(systems: Sequence[PageSystem]) -> Sequence[str]:
    """Return Inform, Success, BLEU and Combined; without responses what state tracking has."""
    names = dict.fromkeys(score.name for system in systems for score in system.scores)
    bleu = next((name for name in names if name.startswith("bleu.")), "")
    main = [name for name in ("inform", "success", bleu, "combined") if name in names]
    return main or TRACKING
