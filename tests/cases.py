"""Test cases in TSV files: `test_text.py` has its cases in `text.tsv` in the same folder.

Each paragraph of the file is a table. Its first line has the names of the test and its arguments,
every other line is a case, and lines that begin with "# " are comments. A cell contains text with
Python's escapes, or "=" followed by a Python literal.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., None])


def value(cell: str) -> Any:
    """Return the value of a cell."""
    if cell.startswith("="):
        return ast.literal_eval(cell[1:])
    return cell.encode("latin-1", "backslashreplace").decode("unicode_escape")


@cache
def tables(file: Path) -> dict[str, tuple[list[str], list[list[Any]]]]:
    """Return the columns and rows of each table by its name."""
    found = {}
    for paragraph in file.read_text(encoding="utf-8").split("\n\n"):
        head, *lines = paragraph.strip("\n").split("\n")
        name, *columns = head.split("\t")
        rows = [[*map(value, line.split("\t"))] for line in lines if not line.startswith("# ")]
        assert rows, name
        assert all(len(row) == len(columns) for row in rows), name
        found[name] = columns, rows
    return found


def tabled(test: Test) -> Test:
    """Parametrize a test with the cases of its table."""
    file = Path(inspect.getfile(test))
    table = file.with_name(f"{file.stem.removeprefix('test_')}.tsv")
    columns, rows = tables(table)[test.__name__]
    # For a single argument, pytest expects values instead of tuples.
    cases = rows if len(columns) > 1 else [row[0] for row in rows]
    marked: Test = pytest.mark.parametrize(",".join(columns), cases)(test)
    return marked
