"""The formats that documents come in, by name."""

from __future__ import annotations

from collections.abc import Callable

from mwzeval.report.json import to_json
from mwzeval.report.latex import to_latex
from mwzeval.report.markdown import to_markdown
from mwzeval.report.records import to_csv, to_json_lines
from mwzeval.report.sheet import Document
from mwzeval.report.text import to_text

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
