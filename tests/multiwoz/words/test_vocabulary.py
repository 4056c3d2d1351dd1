"""The tables of words are read as they stand, and a broken row is named."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from mwzeval.errors import DataError
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.schema import VENUE_DOMAINS
from mwzeval.multiwoz.words.vocabulary import (
    LISTS,
    PATTERNS,
)
from tests.places import ROOT


def test_lists_and_expressions_are_those_that_are_used() -> None:
    """A mistyped name would fail only where it is looked up."""
    source = "".join(path.read_text() for path in (ROOT / "mwzeval/multiwoz").rglob("*.py"))
    rows = list(table_rows(embedded("words", "patterns.tsv"), 2))
    parts = {part for _, row in rows for part in re.findall("%([a-z -]+)%", row)}
    expressions = {key for key, _ in rows}
    assert {*re.findall(r'\bPATTERNS\["([^"]+)"\]', source)} <= expressions
    assert {*re.findall(r'\b(?:WORDS\[|LISTS\[|has_any\()"([^"]+)"', source)} <= LISTS.keys()
    used = parts.union(*(re.findall('"([^"{]+)', line) for line in source.splitlines()))
    # Names of lists and expressions for a domain end with it: f"kinds of {domain}s".
    unused = {
        key
        for key in (*expressions, *LISTS)
        if key not in used and not any(key.startswith(word) for word in used if " of " in word)
    }
    assert unused == {f"last words of {domain}s" for domain in VENUE_DOMAINS}
    assert all(PATTERNS[key] for key in expressions)


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
