"""A document on a terminal: as wide as that is, and with colours where these are wanted.

The columns of a table that is too wide stand in several blocks, each with the names of the rows:
numbers are neither cut off nor broken. What is not a terminal gets plain text, as any file does.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mwzeval.errors import printable
from mwzeval.report.columns import broken, width_of
from mwzeval.report.formats import (
    BETTER,
    WORSE,
    Cell,
    Document,
    Sheet,
    about_best,
    columns_of,
    render,
)

BOLD, DIM, GREEN, RED, YELLOW = "1", "2", "32", "31", "33"
TONES = {BETTER: GREEN, WORSE: RED}
GAP = "  "
CAUTION = "caution:"
FORCING = ("FORCE_COLOR", "CLICOLOR_FORCE")


@dataclass(frozen=True, slots=True)
class Look:
    """Whether there are colours, and how many columns a line may have (None: any number)."""

    colours: bool = False
    width: int | None = None

    @classmethod
    def of_output(cls) -> Look:
        """Return how standard output is written to.

        Colours are for terminals that can show them; `NO_COLOR` forbids them, and `FORCE_COLOR` or
        `CLICOLOR_FORCE` wants them everywhere (each of these when it is set to something).
        """
        given = os.environ
        is_terminal = sys.stdout.isatty()
        forced = any(given.get(name, "0") not in ("", "0") for name in FORCING)
        able = is_terminal and given.get("TERM") != "dumb"
        return cls(
            colours=not given.get("NO_COLOR") and (forced or able),
            width=shutil.get_terminal_size().columns if is_terminal else None,
        )


PLAIN = Look()


def printed(document: Document, format_name: str, *, signatures: bool = True) -> str:
    """Return a document as it goes to standard output, in a format.

    On a terminal a line stands for the signatures unless these are asked for.
    """
    look = Look.of_output()
    if format_name != "text" or look == PLAIN:
        return render(document, format_name)
    return terminal_text(document, look, signatures=signatures or look.width is None)


def terminal_text(document: Document, look: Look, *, signatures: bool = True) -> str:
    """Return heading, tables, notes and signatures as a terminal shows them."""
    parts = [
        _lines(
            [(line, YELLOW if line.startswith(CAUTION) else "") for line in document.heading], look
        )
    ]
    parts += [sheet_text(sheet, look) for sheet in document.sheets]
    signed = set(document.signatures)
    notes = [note for note in (*about_best(document), *document.notes) if note not in signed]
    parts.append(_lines([(note, DIM) for note in notes], look))
    if signatures:
        parts.append(_lines([(signature, DIM) for signature in document.signatures], look))
    elif document.signatures:
        number = len(document.signatures)
        what = "1 signature" if number == 1 else f"{number} signatures"
        parts.append(_lines([(f"{what}: --signatures", DIM)], look))
    return "\n\n".join(part for part in parts if part) + "\n"


def _lines(texts: Sequence[tuple[str, str]], look: Look) -> str:
    """Return lines, broken between words where they are too long."""
    return "\n".join(
        styled(line, style, look)
        for text, style in texts
        for line in (_broken(printable(text), look.width) or [""])
    )


def _broken(text: str, width: int | None) -> list[str]:
    if width is None or width_of(text) <= width:
        return [text]
    return broken(text, width, then=GAP, long_words=False)


def styled(text: str, style: str, look: Look) -> str:
    """Return a text in a style, as it is without one and where there are no colours."""
    return f"\x1b[{style}m{text}\x1b[0m" if style and text and look.colours else text


def sheet_text(sheet: Sheet, look: Look) -> str:
    """Return a table with its title and its caption, in blocks of columns that fit."""
    head = [Cell(name) for name in sheet.header]
    rows = [head, *sheet.rows] if any(sheet.header) else [*sheet.rows]
    columns = columns_of(rows)
    blocks = [
        "\n".join(_block(rows, columns, shown, head, look)) for shown in _fitting(columns, look)
    ]
    title = _lines([(sheet.title, BOLD)], look) if sheet.title else ""
    caption = _lines([(line, DIM) for line in sheet.caption], look)
    return "\n".join(part for part in (title, "\n\n".join(blocks), caption) if part)


def _fitting(columns: Sequence[Sequence[tuple[str, int]]], look: Look) -> Iterator[list[int]]:
    """Yield the columns of each block beside the first one, at least one."""
    widths = [max((width for _, width in column), default=0) for column in columns]
    others = list(range(1, len(widths)))
    if look.width is None or not others:
        yield others
        return
    block: list[int] = []
    taken = widths[0]
    for column in others:
        needed = len(GAP) + widths[column]
        if block and taken + needed > look.width:
            yield block
            block, taken = [], widths[0]
        block.append(column)
        taken += needed
    yield block


def _block(
    rows: Sequence[Sequence[Cell]],
    columns: Sequence[Sequence[tuple[str, int]]],
    shown: Sequence[int],
    head: Sequence[Cell],
    look: Look,
) -> Iterator[str]:
    """Yield a line a row: the first column flush left, the others flush right."""
    for number, row in enumerate(rows):
        line = ""
        for index in (0, *shown):
            text, width = columns[index][number]
            blank = " " * (max(of for _, of in columns[index]) - width)
            shown_text = styled(text, BOLD if row is head else style_of(row[index]), look)
            line += shown_text + blank if index == 0 else GAP + blank + shown_text
        yield line.rstrip()


def style_of(cell: Cell) -> str:
    """Return how a cell stands out: bold or not, and its colour."""
    return ";".join(filter(None, (BOLD if cell.best else "", TONES.get(cell.tone, ""))))
