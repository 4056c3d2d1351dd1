"""Documents as GitHub-flavoured Markdown, to be pasted into an issue or a pull request."""

from __future__ import annotations

import re

from mwzeval.errors import printable
from mwzeval.report.sheet import Cell, Document, Sheet

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def to_markdown(document: Document) -> str:
    """Return heading, tables and notes; the best numbers are bold."""
    parts = ["  \n".join(_escaped(line) for line in document.heading)]
    parts += [_sheet_markdown(sheet) for sheet in document.sheets]
    parts.append("\n".join(f"`{printable(note)}`  " for note in document.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _sheet_markdown(sheet: Sheet) -> str:
    lines = [
        _line([_escaped(name) for name in sheet.header]),
        _line(["---", *(["---:"] * (len(sheet.header) - 1))]),
        *(_line([_cell(cell) for cell in row]) for row in sheet.rows),
    ]
    table = "\n".join(lines)
    return f"### {_escaped(sheet.title)}\n\n{table}" if sheet.title else table


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    return (f"**{text}**" if cell.best and text else text) + _escaped(cell.mark)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", printable(text.replace("\n", " ")))
