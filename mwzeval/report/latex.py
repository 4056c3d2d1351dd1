"""Documents as LaTeX tables, for papers; needs the package booktabs."""

from __future__ import annotations

from mwzeval.errors import printable
from mwzeval.report.sheet import Cell, Document, Sheet

_ESCAPES = {
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
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}


def to_latex(document: Document) -> str:
    r"""Return one `tabular` per table; heading and notes are comments.

    The best numbers are bold; characters that LaTeX's default fonts lack become "?".
    """
    lines = [f"% {_one_line(line)}" for line in document.heading]
    lines.append(r"% \usepackage{booktabs}")
    for sheet in document.sheets:
        lines += ["", *_tabular(sheet)]
    lines += ["", *(f"% {_one_line(note)}" for note in document.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _tabular(sheet: Sheet) -> list[str]:
    lines = [f"% {_one_line(sheet.title)}"] if sheet.title else []
    lines += [rf"\begin{{tabular}}{{l{'r' * (len(sheet.header) - 1)}}}", r"\toprule"]
    if any(sheet.header):
        lines += [_row([_escaped(name) for name in sheet.header]), r"\midrule"]
    lines += [_row([_cell(cell) for cell in row]) for row in sheet.rows]
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    return (rf"\textbf{{{text}}}" if cell.best and text else text) + _escaped(cell.mark)


def _escaped(text: str) -> str:
    return "".join(
        _ESCAPES.get(char) or (char if char.isprintable() and ord(char) < 0x250 else "?")
        for char in text
    )


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
