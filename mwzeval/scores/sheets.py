"""Tables for output, as sheets of cells, and the formats in which they are written.

Every result (scores, a comparison, a leaderboard) is converted to a `Document`. A document is
rendered as text for a terminal, Markdown (GitHub's) for an issue, HTML for a notebook, or LaTeX
(with the package booktabs) for a paper. CSV and JSON Lines have one unrounded number per record;
JSON has the complete result.
"""

from __future__ import annotations

import csv
import html
import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mwzeval.errors import printable
from mwzeval.libraries import required
from mwzeval.scores.score import Interval
from mwzeval.text import broken, json_line, to_json, width_of

if TYPE_CHECKING:
    import pandas

UNKNOWN = "—"
"""The text shown for a number that is unknown or does not exist."""
BEST, ALIKE, FEW = "*", "†", "‡"
"""The marks of scores: the best score (bold in formats that have bold type), a score that does not
differ significantly from the best, and a score with too few runs or seeds for an interval."""
BETTER, WORSE = "better", "worse"


def number_text(value: float | None, form: str) -> str:
    """Return a number as text in a format such as `.1f`; with `+.1f`, zero has no sign."""
    if value is None:
        return UNKNOWN
    text = format(value, form)
    return text[1:] if "+" in form and float(text) == 0 else text


def interval_text(interval: Interval | None, form: str, pattern: str = "{}–{}") -> str:
    """Return the ends of an interval as text in a `pattern` (default: `low–high`); "" for None."""
    if interval is None:
        return ""
    return pattern.format(number_text(interval.low, form), number_text(interval.high, form))


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with a text, or with a number in the format `form` (`.1f`) and its `interval`.

    Numbers that are `best` are highlighted; `mark` (such as `ALIKE`) follows the text. `tone` is
    `BETTER` or `WORSE` for outcomes and significant differences; `score` is the name of the score.
    """

    value: float | str | None
    best: bool = False
    mark: str = ""
    tone: str = ""
    form: str = ""
    interval: Interval | None = None
    score: str | None = None

    @property
    def number(self) -> str:
        """The text of the cell without its interval and its mark."""
        return self.value if isinstance(self.value, str) else number_text(self.value, self.form)

    @property
    def ends(self) -> str:
        """The ends of the interval; empty if there is none."""
        return interval_text(self.interval, self.form)

    @property
    def text(self) -> str:
        """The text of the cell with its interval, without its mark."""
        return f"{self.number} ({self.ends})" if self.interval else self.number


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: the first column names the row, the other columns are numbers or short texts.

    `title` may be empty; every row has as many cells as `header`. The `caption` is printed below
    the table; in LaTeX, a table with a caption is a float.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: tuple[str, ...] = ()

    @property
    def scores(self) -> frozenset[str]:
        """The names of the scores in this table."""
        return frozenset(cell.score for row in self.rows for cell in row if cell.score is not None)


@dataclass(frozen=True, slots=True)
class Document:
    """A report that can be rendered in any format.

    `heading` and `notes` are the lines above and below the tables. `records` are unrounded numbers
    in long form, for CSV and JSON Lines. `plain` is the value for JSON.
    """

    heading: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    notes: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]
    plain: Mapping[str, Any]


def sheet(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell | str]],
    caption: Sequence[str] = (),
) -> Sheet:
    """Return a table in which plain texts are converted to cells."""
    cells = tuple(
        tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows
    )
    return Sheet(title, tuple(header), cells, tuple(caption))


def _marked(cell: Cell, escaped: Callable[[str], str], bold: str) -> str:
    text = escaped(cell.text)
    return (bold.format(text) if cell.best and text else text) + escaped(cell.mark)


BOLD, DIM, GREEN, RED, YELLOW = "1", "2", "32", "31", "33"
TONES = {BETTER: GREEN, WORSE: RED}
GAP = "  "
CAUTION = "caution:"


class Look(NamedTuple):
    """Whether text output has colors, and the maximum width of lines (None: no limit)."""

    colours: bool = False
    width: int | None = None


PLAIN = Look()


def output_look() -> Look:
    """Return the format for standard output: plain text if it is not a terminal.

    `NO_COLOR` disables colors; `FORCE_COLOR` and `CLICOLOR_FORCE` enable them everywhere.
    """
    is_terminal, given = sys.stdout.isatty(), os.environ
    forced = any(
        given.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")
    )
    able = is_terminal and given.get("TERM") != "dumb"
    return Look(
        colours=not given.get("NO_COLOR") and (forced or able),
        width=shutil.get_terminal_size().columns if is_terminal else None,
    )


def to_text(document: Document, look: Look = PLAIN) -> str:
    """Return heading, tables in columns, and notes, separated by blank lines.

    The best numbers have a star.
    """
    starred = any(cell.best for sheet in document.sheets for row in sheet.rows for cell in row)
    notes = [f"{BEST}: the best"] * starred
    notes += document.notes
    styles = [(text, YELLOW if text.startswith(CAUTION) else "") for text in document.heading]
    parts = [
        "\n".join(line for text, style in styles for line in _lines(text, style, look)),
        *(sheet_text(sheet, look) for sheet in document.sheets),
        "\n".join(line for note in notes for line in _lines(note, DIM, look)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _lines(text: str, style: str, look: Look) -> list[str]:
    lines = [printable(text)]
    if look.width is not None and width_of(lines[0]) > look.width:
        lines = broken(lines[0], look.width, then=GAP, long_words=False)
    return [styled(line, style, look) for line in lines]


def styled(text: str, style: str, look: Look) -> str:
    """Return a text in a style; without a style or colors, return the text unchanged."""
    return f"\x1b[{style}m{text}\x1b[0m" if style and text and look.colours else text


def sheet_text(sheet: Sheet, look: Look = PLAIN) -> str:
    """Return a table as text with its title and its caption; the first column is left-aligned.

    A table that is too wide is split into blocks; each block repeats the names of the rows.
    """
    head = tuple(Cell(name) for name in sheet.header)
    rows = [head, *sheet.rows] if any(sheet.header) else [*sheet.rows]
    texts = [[printable(_marked(cell, str, "{}" + BEST)) for cell in row] for row in rows]
    widths = [max(map(width_of, column)) for column in zip(*texts, strict=True)]
    blocks = []
    for columns in _fitting(widths, look):
        lines = []
        for row, shown in zip(rows, texts, strict=True):
            line = ""
            for column in columns:
                blank = " " * (widths[column] - width_of(shown[column]))
                is_bold = row is head or row[column].best
                styles = (BOLD * is_bold, TONES.get(row[column].tone, ""))
                text = styled(shown[column], ";".join(filter(None, styles)), look)
                line += GAP + blank + text if column else text + blank
            lines.append(line.rstrip())
        blocks.append("\n".join(lines))
    title = _lines(sheet.title, BOLD, look) if sheet.title else []
    caption = [line for text in sheet.caption for line in _lines(text, DIM, look)]
    return "\n".join([*title, "\n\n".join(blocks), *caption])


def _fitting(widths: Sequence[int], look: Look) -> Iterator[list[int]]:
    """Yield the columns of each block: the first column and at least one other."""
    block, used = [0], widths[0]
    for column, width in enumerate(widths[1:], 1):
        used += len(GAP) + width
        if look.width is not None and used > look.width and len(block) > 1:
            yield block
            block, used = [0], widths[0] + len(GAP) + width
        block.append(column)
    yield block


_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def to_markdown(document: Document) -> str:
    """Return heading, tables and notes; the best numbers are bold."""
    parts = ["  \n".join(_markdown_escaped(line) for line in document.heading)]
    for sheet in document.sheets:
        head = [*map(_markdown_escaped, sheet.header)]
        rows = ([_marked(cell, _markdown_escaped, "**{}**") for cell in row] for row in sheet.rows)
        lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
        title = f"### {_markdown_escaped(sheet.title)}" if sheet.title else ""
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        parts += [title, table, _markdown_escaped(_caption(sheet))]
    notes = (printable(note).replace("`", "'") for note in document.notes)
    parts.append("\n".join(f"`{note}`  " for note in notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_escaped(text: str) -> str:
    return _MARKDOWN_SPECIAL.sub(r"\\\1", printable(text.replace("\n", " ")))


def _caption(sheet: Sheet) -> str:
    is_bold = any(cell.best for row in sheet.rows for cell in row)
    bold = ("Bold: the best of its column.",) if sheet.caption and is_bold else ()
    return " ".join((*sheet.caption, *bold))


def to_html(document: Document) -> str:
    """Return heading, tables and notes as a `div` for notebooks; the best numbers are bold."""
    parts = [f"<p>{'<br/>'.join(map(_html_escaped, document.heading))}</p>"]
    for sheet in document.sheets:
        rows = [[_marked(cell, _html_escaped, "<b>{}</b>") for cell in row] for row in sheet.rows]
        head = "".join(f"<th>{_html_escaped(name)}</th>" for name in sheet.header)
        lines = [head, *("".join(f"<td>{cell}</td>" for cell in row) for row in rows)]
        title = f"<caption>{_html_escaped(sheet.title)}</caption>" if sheet.title else ""
        table = "".join(f"<tr>{line}</tr>" for line in lines)
        parts.append(f"<table>{title}{table}</table>")
        parts += [f"<p>{_html_escaped(_caption(sheet))}</p>"] if sheet.caption else []
    notes = "<br/>".join(f"<code>{_html_escaped(note)}</code>" for note in document.notes)
    return f"<div>{''.join(parts)}<p>{notes}</p></div>"


def _html_escaped(text: str) -> str:
    return html.escape(printable(text))


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
        lines += ["", *([_latex_comment(sheet.title)] if sheet.title else [])]
        if sheet.caption:
            caption = _latex_escaped(_caption(sheet))
            lines += [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}"]
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(sheet.header) - 1)}}}", r"\toprule"]
        if any(sheet.header):
            lines += [" & ".join(map(_latex_escaped, sheet.header)) + r" \\", r"\midrule"]
        for row in sheet.rows:
            cells = (_marked(cell, _latex_escaped, r"\textbf{{{}}}") for cell in row)
            lines.append(" & ".join(cells) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [r"\end{table}"] if sheet.caption else []
    lines += ["", *(_latex_comment(note) for note in document.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _latex_escaped(text: str) -> str:
    return "".join(
        _LATEX_ESCAPES.get(char) or (char if char.isprintable() and ord(char) < 0x250 else "?")
        for char in text
    )


def _latex_comment(text: str) -> str:
    return f"% {printable(' '.join(text.split()))}"


def to_csv(document: Document) -> str:
    """Return a header and one line per record; fields that a record lacks are empty."""
    columns = dict.fromkeys(name for record in document.records for name in record)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(columns), lineterminator="\n")
    writer.writeheader()
    for record in document.records:
        writer.writerow({name: _csv_cell(value) for name, value in record.items()})
    return stream.getvalue()


def _csv_cell(value: Any) -> Any:
    """Return a value as a CSV cell; text that a spreadsheet would read as a formula is quoted.

    Source: OWASP, "CSV Injection". Lists and mappings are JSON.
    """
    if isinstance(value, (list, dict)):
        return json_line(value)
    if not isinstance(value, str):
        return value
    text = printable(value, keep="\n")  # safe inside quotes
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text


FORMATS: dict[str, Callable[[Document], str]] = {
    "text": to_text,
    "json": lambda document: to_json(document.plain),
    "jsonl": lambda document: "".join(f"{json_line(record)}\n" for record in document.records),
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
}


def render(document: Document, format_name: str) -> str:
    """Return the text of the document in a format. Raises `KeyError` for an unknown format."""
    return FORMATS[format_name](document)


def printed(document: Document, format_name: str) -> str:
    """Return a document in a format; on a terminal, text has colors and the terminal's width."""
    if format_name == "text":
        return to_text(document, output_look())
    return render(document, format_name)


TEXT, FLOAT, COUNT, FLAG = "string", "float64", "Int64", "boolean"
"""Types of columns, which do not depend on missing values."""


def to_frame(columns: Mapping[str, str], records: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return records as a data frame; `columns` maps names to types (`TEXT`, `FLOAT` …).

    Raises `DependencyError` if pandas (the extra `frames`) is not installed.
    """
    pandas = required("pandas", "frames", "a data frame needs pandas")
    values = {name: [record[name] for record in records] for name in columns}
    return pandas.DataFrame(
        {n: pandas.array(column, dtype=columns[n]) for n, column in values.items()}
    )


def plain_number(value: float) -> float | int:
    """Return a whole number as an integer, for tables of counts."""
    return int(value) if value.is_integer() else value


def plural(number: int, noun: str) -> str:
    """Return a number with a noun: `1 dialogue`, `2 dialogues`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
