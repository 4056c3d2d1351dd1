"""The published tables of response generation, with a system of one's own in its place."""

from __future__ import annotations

from mwzeval.files.resources import embedded
from mwzeval.multiwoz.leaderboard import candidate, cautions, read_leaderboard, standings
from mwzeval.report.boards import Entry
from mwzeval.report.leaderboard import leaderboard_document
from mwzeval.report.sheet import Document


def published_document(entry: Entry | None, table: str | None = None) -> Document:
    """Return the tables, or one of them.

    Published figures from which the system does not differ significantly are marked. Raises
    `UsageError` for an unknown table, or a system that was scored under other conditions.
    """
    board = read_leaderboard(embedded("leaderboard.json"))
    named = None if table is None else board.table_name(table)
    system = None if entry is None else candidate(entry.name, entry.records, board)
    shown = standings(board, system, named)
    noted = cautions(board, system, shown) if system else ()
    return leaderboard_document(board, shown, system, noted)
