"""What all formats render: documents of titled tables.

Whatever is reported (scores, a comparison, a leaderboard) becomes a document once; each format
knows only documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as it is shown; `best` ones stand out, `mark` follows the text (†, say)."""

    text: str
    best: bool = False
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: the first column names the row, the others are numbers or short texts.

    `title` may be empty; every row has as many cells as `header`.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A report for any format.

    `heading` and `notes` are lines above and below the tables; `records` the same numbers in long
    form, one a row, unrounded, for CSV and JSON Lines; `plain` the value for JSON.
    """

    heading: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    notes: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]
    plain: Mapping[str, Any]


def sheet(title: str, header: Sequence[str], rows: Sequence[Sequence[Cell | str]]) -> Sheet:
    """Return a sheet; plain texts become cells."""
    cells = tuple(
        tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows
    )
    return Sheet(title, tuple(header), cells)
