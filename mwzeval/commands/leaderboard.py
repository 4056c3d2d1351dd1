"""Print the published tables of response generation, with your system in its place.

A system is given by its predictions, or by the report that `mwzeval evaluate --bleu --success --ci`
wrote. Published figures from which it does not differ significantly are marked.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from mwzeval.commands.arguments import add_reading, add_resampling, reading
from mwzeval.output import write_result
from mwzeval.statistics import CONFIDENCE

if TYPE_CHECKING:
    from mwzeval.leaderboard import Candidate, Leaderboard


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    system = parser.add_mutually_exclusive_group()
    system.add_argument(
        "-i",
        "--input",
        metavar="INPUT.json",
        help="predictions of your system, which are scored first",
    )
    system.add_argument("--report", metavar="REPORT.json", help="the report of your system")
    parser.add_argument("--name", metavar="TEXT", help="name of your system (default: the file's)")
    parser.add_argument(
        "--table",
        metavar="NAME",
        help="print only this table: end_to_end or policy_optimization (default: all, your system "
        "in the one whose systems have states as it has, predicted or gold)",
    )
    add_reading(parser)
    add_resampling(parser)
    formats = ("text", "json", "jsonl", "csv", "markdown", "latex")
    parser.add_argument(
        "-f",
        "--format",
        default="text",
        choices=formats,
        help=f"what is printed: {', '.join(formats)} (default: text)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the tables."""
    from mwzeval.leaderboard import cautions, read_leaderboard, standings
    from mwzeval.report.formats import render
    from mwzeval.report.leaderboard import leaderboard_document
    from mwzeval.resources import embedded

    board = read_leaderboard(embedded("leaderboard.json"))
    table = None if arguments.table is None else board.table_name(arguments.table)
    system = _system(arguments, board)
    shown = standings(board, system, table)
    noted = cautions(board, system, shown) if system else ()
    document = leaderboard_document(board, shown, system, noted)
    write_result(render(document, arguments.format), arguments.format)
    return 0


def _system(arguments: argparse.Namespace, board: Leaderboard) -> Candidate | None:
    from mwzeval.commands.report import names_of
    from mwzeval.leaderboard import candidate

    file: str | None = arguments.input or arguments.report
    if file is None:
        return None
    scores = _scores(arguments) if arguments.input else _reported(file)
    return candidate(arguments.name or names_of([file])[0], scores, board)


def _reported(file: str) -> Any:
    """Return the scores of a report; None when it has none."""
    from mwzeval.files import read_json

    plain = read_json(file)
    meta = plain.get("meta") if isinstance(plain, dict) else None
    return meta.get("scores") if isinstance(meta, dict) else None


def _scores(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    from mwzeval.evaluator import Evaluator
    from mwzeval.multiwoz.predictions import read_predictions
    from mwzeval.report.json import score_record
    from mwzeval.report.text import warnings_text

    evaluator = Evaluator(
        bleu=True,
        success=True,
        richness=True,
        **reading(arguments),
        confidence=CONFIDENCE,
        samples=arguments.samples,
        seed=arguments.seed,
    )
    predictions = read_predictions(arguments.input)
    report = evaluator.report(predictions, file=arguments.input, progress=True)
    sys.stderr.write(warnings_text(report.warnings))
    return [score_record(score) for score in report.scores]
