"""CSV (also with semicolons) and TSV: a line of column names, then a row a line."""

from __future__ import annotations

import csv
import io
from collections import Counter

from mwzeval.comparison.items.sheet import Row, Sheet
from mwzeval.errors import shorten
from mwzeval.scores.findings import Findings

FORMAT = "table"


def read_separated(text: str, file: str) -> Sheet:
    """Return the rows of a table. Names of columns are in lower case.

    Raises `InputError` with every line that does not fit, and for what is no table.
    """
    findings = Findings(file)
    first = next(iter(text.lstrip().splitlines()), "")
    delimiter = next((sign for sign in ("\t", ",", ";") if sign in first), ",")
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    names: list[str] = []
    rows = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            place = f"line {reader.line_num}"
            if not names:
                names = [name.strip().lower() for name in cells]
                for name in sorted(name for name, count in Counter(names).items() if count > 1):
                    what = f'{place} names two columns "{shorten(name)}"'
                    findings.error("repeated-column", what)
            elif len(cells) != len(names):
                findings.error(
                    "other-columns",
                    f"{place} has {len(cells)} cells, the names of columns are {len(names)}",
                )
            else:
                stripped = [cell.strip() for cell in cells]
                rows.append(Row(place, dict(zip(names, stripped, strict=True))))
    except csv.Error as error:
        findings.error("not-a-table", f"line {reader.line_num}: {error}")
    findings.check()
    return Sheet(file, FORMAT, rows, header=tuple(names))
