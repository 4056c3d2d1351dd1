"""The tables of words are read as they stand, and a broken row is named."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from mwzeval.errors import DataError
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.words.vocabulary import (
    LISTS,
    PATTERNS,
)
from tests.places import ROOT


def test_lists_and_expressions_are_those_that_are_used() -> None:
    """A mistyped name would fail only where it is looked up."""
    source = "".join(path.read_text() for path in (ROOT / "mwzeval/multiwoz").rglob("*.py"))
    assert {*re.findall(r'\b(?:PATTERNS\[|has\()"([^"]+)"', source)} <= PATTERNS.rows.keys()
    assert {*re.findall(r'\b(?:WORDS\[|LISTS\[|has_any\()"([^"]+)"', source)} <= LISTS.keys()
    rows = [row for rows in PATTERNS.rows.values() for row in rows]
    used = {part for row in rows for part in re.findall("%([a-z -]+)%", row)}
    used = used.union(*(re.findall('"([^"{]+)', line) for line in source.splitlines()))
    used = {name.strip() for name in used}
    # Some names are looked up by their first words: f"kinds of {domain}s".
    unused = {
        name
        for name in (*PATTERNS.rows, *LISTS)
        if name not in used
        and used.isdisjoint(" ".join(name.split()[:count]) for count in range(2, 5))
    }
    assert unused == set()
    assert all(PATTERNS[name] for name in PATTERNS.rows)


@pytest.mark.parametrize("row", ["area\tnorth", "area\t\tnorth", "area\tnorth\tnorth\t", "area"])
def test_a_broken_row_is_named(tmp_path: Path, row: str) -> None:
    table = tmp_path / "spellings.tsv"
    table.write_text(f"# slot, value, spellings\n\narea\teast\teast, eastern\n{row}\n")
    with pytest.raises(DataError, match=r"spellings\.tsv, line 4: .*3 columns"):
        list(table_rows(table, 3))


def test_no_word_is_listed_twice() -> None:
    entries = Counter(
        (key, entry)
        for key, text in table_rows(embedded("words", "lists.tsv"), 2)
        for entry in (text.split(", ") if ", " in text else text.split())
    ) + Counter(
        (slot, value, spelling)
        for slot, value, text in table_rows(embedded("words", "spellings.tsv"), 3)
        for spelling in text.split(", ")
    )
    assert [entry for entry, times in entries.items() if times > 1] == []
