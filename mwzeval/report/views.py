"""Results as pandas data frames, and as tables in notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mwzeval.comparison import Comparison
from mwzeval.report.comparison import comparison_document, count
from mwzeval.report.summary import plain_number, summary
from mwzeval.scores import sheets
from mwzeval.scores.report import Report
from mwzeval.scores.sheets import COUNT, FLAG, FLOAT, TEXT, Document, sheet
from mwzeval.scores.table import Table

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")

UNIT = "unit"
"""Names the column with the units of a table."""

COLUMNS: Mapping[type, Mapping[str, str]] = {
    Report: {
        "score": TEXT,
        "scope": TEXT,
        "value": FLOAT,
        "low": FLOAT,
        "high": FLOAT,
        "n": COUNT,
        "signature": TEXT,
    },
    Comparison: {
        "score": TEXT,
        "scope": TEXT,
        "setting": TEXT,
        "system": TEXT,
        "value": FLOAT,
        "best": FLAG,
        "p_best": FLOAT,
        "runs": COUNT,
        "sd": FLOAT,
        "n": COUNT,
        "cases": COUNT,
        "difference": FLOAT,
        "low": FLOAT,
        "high": FLOAT,
        "interval": TEXT,
        "p": FLOAT,
        "p_holm": FLOAT,
        "test": TEXT,
        "wins": COUNT,
        "ties": COUNT,
        "losses": COUNT,
        "rank": COUNT,
        "rank_worst": COUNT,
        "signature": TEXT,
    },
}
"""The columns of frames, those of the CSV, with types that do not depend on what is missing."""

FIRST, LAST = 5, 5
"""How many rows of a table a notebook shows; likewise its columns."""


def to_frame(result: Report | Comparison | Table) -> pandas.DataFrame:
    """Return the records of a result as a frame, unrounded; a table as it is, a row a unit.

    Raises `DependencyError` when pandas is not installed.
    """
    if isinstance(result, Table):
        frame = sheets.to_frame({UNIT: TEXT}, [{UNIT: unit} for unit in result.units])
        for name, column in zip(result.columns, result.values.T, strict=True):
            frame[name] = column
        return frame
    return sheets.to_frame(COLUMNS[type(result)], document_of(result).records)


def document_of(result: Report | Comparison | Table) -> Document:
    """Return what the command line prints of a result."""
    match result:
        case Report():
            return summary(result)
        case Comparison():
            return comparison_document(result)
        case Table():
            return _table_document(result)


def _table_document(table: Table) -> Document:
    """Return the first and last rows and columns of a table."""
    header = [UNIT, *_ends(table.columns)]
    cells = [
        ["…"] * len(header)
        if row is None
        else [table.units[row], *_ends(list(map(_shown, table.values[row].tolist())))]
        for row in _ends(range(len(table.units)), between=None)
    ]
    size = f"{count(len(table.units), 'unit')} × {count(len(table.columns), 'column')}"
    folded = (f"with {count(table.folded, 'further unit')} folded in",) if table.folded else ()
    return Document((size, *folded), (sheet("", header, cells),), (), (), {})


def _shown(number: float) -> str:
    return str(plain_number(number))


def _ends(items: Sequence[T], between: Any = "…") -> list[T]:
    """Return the first and last items, with `between` for those that are left out."""
    if len(items) <= FIRST + LAST + 1:
        return list(items)
    return [*items[:FIRST], between, *items[-LAST:]]


def to_text(result: Report | Comparison | Table) -> str:
    """Return what the command line prints, without its last line end."""
    return sheets.to_text(document_of(result)).rstrip("\n")


def to_html(result: Report | Comparison | Table) -> str:
    """Return the same tables as the text, for a notebook."""
    return sheets.to_html(document_of(result))
