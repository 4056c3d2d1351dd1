"""Documents in long form: CSV and JSON Lines, one record a line, unrounded."""

from __future__ import annotations

import csv
import io
from typing import Any

from mwzeval.errors import printable
from mwzeval.report.json import json_line
from mwzeval.report.sheet import Document


def to_csv(document: Document) -> str:
    """Return a header and one line per record; what a record lacks is empty."""
    columns = dict.fromkeys(name for record in document.records for name in record)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(columns), lineterminator="\n")
    writer.writeheader()
    for record in document.records:
        writer.writerow({name: _cell(value) for name, value in record.items()})
    return stream.getvalue()


def _cell(value: Any) -> Any:
    """Return a value as a cell: a text that a spreadsheet would take for a formula is quoted.

    Source: OWASP, "CSV Injection": an apostrophe before `=`, `+`, `-` and `@`; tabs and carriage
    returns, which may hide them, become escapes, as other control characters do.
    """
    if not isinstance(value, str):
        return value
    text = printable(value, keep="\n")  # which quotes hold together
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text


def to_json_lines(document: Document) -> str:
    """Return one JSON object per record."""
    lines = (json_line(record) for record in document.records)
    return "".join(f"{line}\n" for line in lines)
