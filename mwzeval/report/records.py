"""Documents in long form: CSV and JSON Lines, one record a line, unrounded."""

from __future__ import annotations

import csv
import io
import json

from mwzeval.report.sheet import Document


def to_csv(document: Document) -> str:
    """Return a header and one line per record; what a record lacks is empty."""
    columns = dict.fromkeys(name for record in document.records for name in record)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(document.records)
    return stream.getvalue()


def to_json_lines(document: Document) -> str:
    """Return one JSON object per record."""
    lines = (json.dumps(record, ensure_ascii=False) for record in document.records)
    return "".join(f"{line}\n" for line in lines)
