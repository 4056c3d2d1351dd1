"""Results as pandas data frames, and as tables in notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

from mwzeval.comparison import Comparison
from mwzeval.errors import printable
from mwzeval.libraries import required
from mwzeval.report import formats
from mwzeval.report.comparison import comparison_document, count
from mwzeval.report.formats import Cell, Document, Sheet, sheet
from mwzeval.report.summary import plain_number, summary
from mwzeval.scores.report import Report
from mwzeval.scores.table import Table

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")

EXTRA = "frames"
UNIT = "unit"
"""Names the column with the units of a table."""

TEXT, FLOAT, COUNT, FLAG = "string", "float64", "Int64", "boolean"
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
    pandas = required("pandas", EXTRA, "a data frame needs pandas")
    if isinstance(result, Table):
        frame = pandas.DataFrame(result.values, columns=list(result.columns))
        frame.insert(0, UNIT, pandas.array(list(result.units), dtype=TEXT))
        return frame
    records = document_of(result).records
    return pandas.DataFrame(
        {
            name: pandas.array([record[name] for record in records], dtype=dtype)
            for name, dtype in COLUMNS[type(result)].items()
        }
    )


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


_TABLE = "border-collapse:collapse;margin:0.5em 0;color:inherit;font-size:inherit"
_HEADER = "border-bottom:1px solid currentColor;"
_CELL = "padding:0.15em 0.6em;white-space:nowrap;background:none;color:inherit;text-align:"
_LINES = "margin:0.3em 0;white-space:pre-wrap"


def to_text(result: Report | Comparison | Table) -> str:
    """Return what the command line prints, without its last line end."""
    return formats.to_text(document_of(result)).rstrip("\n")


def to_html(result: Report | Comparison | Table) -> str:
    """Return the same tables as the text, for a notebook with dark or light colours.

    Everything is escaped; there is no script, no colour of its own, and no style that reaches
    other cells of the notebook.
    """
    document = document_of(result)
    parts = [_lines_html(document.heading), *map(_sheet_html, document.sheets)]
    if document.notes:
        notes = _lines_html(document.notes)
        parts.append(f"<details><summary>signatures and notes</summary>{notes}</details>")
    return f'<div style="color:inherit;overflow-x:auto">{"".join(parts)}</div>'


def _lines_html(lines: tuple[str, ...]) -> str:
    return f'<p style="{_LINES}">{"<br>".join(map(_escaped, lines))}</p>' if lines else ""


def _sheet_html(sheet: Sheet) -> str:
    header = (
        f"<thead><tr>{_row_html('th', [Cell(name) for name in sheet.header], _HEADER)}</tr></thead>"
        if any(sheet.header)
        else ""
    )
    rows = "".join(f"<tr>{_row_html('td', row)}</tr>" for row in sheet.rows)
    title = f"<b>{_escaped(sheet.title)}</b>" if sheet.title else ""
    table = f'<table style="{_TABLE}">{header}<tbody>{rows}</tbody></table>'
    return title + table + _lines_html(sheet.caption)


def _row_html(tag: str, cells: Any, style: str = "") -> str:
    parts = []
    for place, cell in enumerate(cells):
        text = _escaped(cell.text)
        text = (f"<b>{text}</b>" if cell.best and text else text) + _escaped(cell.mark)
        parts.append(f'<{tag} style="{style}{_CELL}{"right" if place else "left"}">{text}</{tag}>')
    return "".join(parts)


def _escaped(text: str) -> str:
    return escape(printable(text))
