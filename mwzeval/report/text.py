"""Documents as text for people to read on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

from mwzeval.errors import SHOWN_PROBLEMS, Problem, printable
from mwzeval.report.sheet import Document, Sheet


def to_text(document: Document) -> str:
    """Return heading, tables in columns, and notes, with blank lines between."""
    parts = ["\n".join(map(printable, document.heading))]
    parts += [_sheet_text(sheet) for sheet in document.sheets]
    parts.append("\n".join(map(printable, document.notes)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _sheet_text(sheet: Sheet) -> str:
    rows = [[cell.text + cell.mark for cell in row] for row in sheet.rows]
    header = [sheet.header] if any(sheet.header) else []
    table = aligned([*header, *rows])
    return f"{printable(sheet.title)}\n{table}" if sheet.title else table


def aligned(cells: Sequence[Sequence[str]]) -> str:
    """Return lines of cells in columns: the first one flush left, the others flush right.

    Characters that take two columns of a terminal, as Chinese ones do, count as two.
    """
    lines = [[printable(cell) for cell in line] for line in cells]
    widths = [max(_width(line[index]) for line in lines) for index in range(len(lines[0]))]
    rows = []
    for line in lines:
        blanks = [" " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)]
        right = [blank + cell for cell, blank in zip(line[1:], blanks[1:], strict=True)]
        rows.append("  ".join([line[0] + blanks[0], *right]).rstrip())
    return "\n".join(rows)


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return len(text) + sum(east_asian_width(character) in "WF" for character in text)


def warnings_text(warnings: Sequence[Problem]) -> str:
    """Return the warnings, one a line, each with how often it was found; the first few of them."""
    lines = [
        f"warning: {problem}" + (f" ({problem.count} times)" if problem.count > 1 else "")
        for problem in warnings[:SHOWN_PROBLEMS]
    ]
    hidden = len(warnings) - len(lines)
    if hidden:
        lines.append(f"… and {hidden} more warnings; the JSON report lists all of them")
    return "".join(f"{line}\n" for line in lines)
