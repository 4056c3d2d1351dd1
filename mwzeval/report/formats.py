"""Documents of titled tables, and the formats that they come in, by name.

Text is for a terminal, Markdown (GitHub's) for an issue or a pull request, LaTeX (with the package
booktabs) for a paper. CSV and JSON Lines have one unrounded number a record, JSON everything.

Whatever is reported (scores, a comparison, a leaderboard) becomes a document once; each format
knows only documents.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.errors import printable
from mwzeval.report.columns import width_of
from mwzeval.report.json import json_line, to_json

BEST, ALIKE, FEW = "*", "†", "‡"
"""Marks of scores, the same wherever there are some: the best (bold where a format has bold type);
does not differ significantly from the best; of so few runs or seeds that there is no interval."""
BETTER, WORSE = "better", "worse"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as it is shown; `best` ones stand out, `mark` follows the text (`ALIKE`, say).

    `tone` is `BETTER` or `WORSE` where it is significantly so, and where a unit was won or lost.
    """

    text: str
    best: bool = False
    mark: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: the first column names the row, the others are numbers or short texts.

    `title` may be empty; every row has as many cells as `header`. The sentences of a `caption`
    stand below, and make a float of it in LaTeX.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A report for any format.

    `heading` and `notes` are lines above and below the tables; `records` the same numbers in long
    form, one a row, unrounded, for CSV and JSON Lines; `plain` the value for JSON. `signatures` are
    those of the notes that are signatures.
    """

    heading: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    notes: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]
    plain: Mapping[str, Any]
    signatures: tuple[str, ...] = ()


def sheet(title: str, header: Sequence[str], rows: Sequence[Sequence[Cell | str]]) -> Sheet:
    """Return a sheet; plain texts become cells."""
    cells = tuple(
        tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows
    )
    return Sheet(title, tuple(header), cells)


def to_text(document: Document) -> str:
    """Return heading, tables in columns, and notes, with blank lines between.

    The best numbers have a star.
    """
    parts = ["\n".join(map(printable, document.heading))]
    parts += [_sheet_text(sheet) for sheet in document.sheets]
    parts.append("\n".join(map(printable, (*about_best(document), *document.notes))))
    return "\n\n".join(part for part in parts if part) + "\n"


def about_best(document: Document) -> tuple[str, ...]:
    """Return what the star means, where there is one."""
    has_best = any(cell.best for sheet in document.sheets for row in sheet.rows for cell in row)
    return (f"{BEST}: the best",) if has_best else ()


def _sheet_text(sheet: Sheet) -> str:
    rows = [list(map(cell_text, row)) for row in sheet.rows]
    header = [sheet.header] if any(sheet.header) else []
    table = aligned([*header, *rows])
    lines = [printable(sheet.title), table, *map(printable, sheet.caption)]
    return "\n".join(line for line in lines if line)


def cell_text(cell: Cell) -> str:
    """Return the text of a cell with its marks."""
    return cell.text + (BEST if cell.best and cell.text else "") + cell.mark


def columns_of(rows: Sequence[Sequence[Cell]]) -> list[list[tuple[str, int]]]:
    """Return the texts of each column of a table, and how many columns of a terminal each takes."""
    texts = [[printable(cell_text(cell)) for cell in row] for row in rows]
    return [[(text, width_of(text)) for text in column] for column in zip(*texts, strict=True)]


def aligned(cells: Sequence[Sequence[str]]) -> str:
    """Return lines of cells in columns: the first one flush left, the others flush right.

    Characters that take two columns of a terminal, as Chinese ones do, count as two.
    """
    lines = [[printable(cell) for cell in line] for line in cells]
    widths = [max(width_of(line[index]) for line in lines) for index in range(len(lines[0]))]
    rows = []
    for line in lines:
        blanks = [" " * (width - width_of(cell)) for cell, width in zip(line, widths, strict=True)]
        right = [blank + cell for cell, blank in zip(line[1:], blanks[1:], strict=True)]
        rows.append("  ".join([line[0] + blanks[0], *right]).rstrip())
    return "\n".join(rows)


_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def to_markdown(document: Document) -> str:
    """Return heading, tables and notes; the best numbers are bold."""
    parts = ["  \n".join(_markdown_escaped(line) for line in document.heading)]
    parts += [_sheet_markdown(sheet) for sheet in document.sheets]
    parts.append("\n".join(f"`{printable(note)}`  " for note in document.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _sheet_markdown(sheet: Sheet) -> str:
    lines = [
        _markdown_line([_markdown_escaped(name) for name in sheet.header]),
        _markdown_line(["---", *(["---:"] * (len(sheet.header) - 1))]),
        *(_markdown_line([_markdown_cell(cell) for cell in row]) for row in sheet.rows),
    ]
    parts = [f"### {_markdown_escaped(sheet.title)}" if sheet.title else "", "\n".join(lines)]
    parts.append(_markdown_escaped(_with_bold(sheet)))
    return "\n\n".join(part for part in parts if part)


def _with_bold(sheet: Sheet) -> str:
    """Return the caption, if there is one, for formats that have bold numbers."""
    is_bold = any(cell.best for row in sheet.rows for cell in row)
    bold = ("Bold: the best of its column.",) if sheet.caption and is_bold else ()
    return " ".join((*sheet.caption, *bold))


def _markdown_line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Cell) -> str:
    text = _markdown_escaped(cell.text)
    return (f"**{text}**" if cell.best and text else text) + _markdown_escaped(cell.mark)


def _markdown_escaped(text: str) -> str:
    return _MARKDOWN_SPECIAL.sub(r"\\\1", printable(text.replace("\n", " ")))


_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "†": r"$^\dagger$",
    "‡": r"$^\ddagger$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "±": r"$\pm$",
    "≈": r"$\approx$",
    "»": r"$\gg$",
    "−": r"$-$",
    "×": r"$\times$",
    "↓": r"$\downarrow$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}


def to_latex(document: Document) -> str:
    r"""Return one `tabular` per table; heading and notes are comments.

    The best numbers are bold; characters that LaTeX's default fonts lack become "?".
    """
    lines = [_latex_comment(line) for line in document.heading]
    lines.append(r"% \usepackage{booktabs}")
    for sheet in document.sheets:
        lines += ["", *_sheet_latex(sheet)]
    lines += ["", *(_latex_comment(note) for note in document.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _sheet_latex(sheet: Sheet) -> list[str]:
    lines = [_latex_comment(sheet.title)] if sheet.title else []
    if sheet.caption:
        caption = _latex_escaped(_with_bold(sheet))
        lines += [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}"]
    lines += [rf"\begin{{tabular}}{{l{'r' * (len(sheet.header) - 1)}}}", r"\toprule"]
    if any(sheet.header):
        lines += [_latex_line([_latex_escaped(name) for name in sheet.header]), r"\midrule"]
    lines += [_latex_line([_latex_cell(cell) for cell in row]) for row in sheet.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return [*lines, r"\end{table}"] if sheet.caption else lines


def _latex_line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: Cell) -> str:
    text = _latex_escaped(cell.text)
    return (rf"\textbf{{{text}}}" if cell.best and text else text) + _latex_escaped(cell.mark)


def _latex_escaped(text: str) -> str:
    return "".join(
        _LATEX_ESCAPES.get(char) or (char if char.isprintable() and ord(char) < 0x250 else "?")
        for char in text
    )


def _latex_comment(text: str) -> str:
    return f"% {printable(' '.join(text.split()))}"


def to_csv(document: Document) -> str:
    """Return a header and one line per record; what a record lacks is empty."""
    columns = dict.fromkeys(name for record in document.records for name in record)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(columns), lineterminator="\n")
    writer.writeheader()
    for record in document.records:
        writer.writerow({name: _csv_cell(value) for name, value in record.items()})
    return stream.getvalue()


def _csv_cell(value: Any) -> Any:
    """Return a value as a cell: a text that a spreadsheet would take for a formula is quoted.

    Source: OWASP, "CSV Injection": an apostrophe before `=`, `+`, `-` and `@`; tabs and carriage
    returns, which may hide them, become escapes, as other control characters do. Lists and mappings
    are JSON.
    """
    if isinstance(value, (list, dict)):
        return json_line(value)
    if not isinstance(value, str):
        return value
    text = printable(value, keep="\n")  # which quotes hold together
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text


def to_json_lines(document: Document) -> str:
    """Return one JSON object per record."""
    lines = (json_line(record) for record in document.records)
    return "".join(f"{line}\n" for line in lines)


FORMATS: dict[str, Callable[[Document], str]] = {
    "text": to_text,
    "json": lambda document: to_json(document.plain),
    "jsonl": to_json_lines,
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
}


def render(document: Document, format_name: str) -> str:
    """Return the document in a format. Raises `KeyError` for an unknown one."""
    return FORMATS[format_name](document)
