"""Documents as text for people to read on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from mwzeval.errors import SHOWN_PROBLEMS, Problem
from mwzeval.report.sheet import Document, Sheet


def to_text(document: Document) -> str:
    """Return heading, tables in columns, and notes, with blank lines between."""
    parts = ["\n".join(document.heading)]
    parts += [_sheet_text(sheet) for sheet in document.sheets]
    parts.append("\n".join(document.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _sheet_text(sheet: Sheet) -> str:
    rows = [[cell.text + cell.mark for cell in row] for row in sheet.rows]
    header = [sheet.header] if any(sheet.header) else []
    table = aligned([*header, *rows])
    return f"{sheet.title}\n{table}" if sheet.title else table


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return lines of cells in columns: the first one flush left, the others flush right."""
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        ).rstrip()
        for line in lines
    )


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
