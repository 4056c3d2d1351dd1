"""The tables of words are read as they stand, and a broken row is named."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mwzeval.errors import DataError
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.schema import DAYS
from mwzeval.multiwoz.words.vocabulary import (
    NUMBER_WORDS,
    SPELLINGS,
    WORD_SPELLINGS,
    phrase_list,
    word_set,
)


@pytest.mark.parametrize("row", ["area\tnorth", "area\t\tnorth", "area\tnorth\tnorth\t", "area"])
def test_a_broken_row_is_named(tmp_path: Path, row: str) -> None:
    table = tmp_path / "spellings.tsv"
    table.write_text(f"# slot, value, spellings\n\narea\teast\teast, eastern\n{row}\n")
    with pytest.raises(DataError, match=r"spellings\.tsv, line 4: not 3 columns"):
        list(table_rows(table, 3))


def test_lists_and_spellings() -> None:
    assert {"gray", "grey"} < word_set("car colours")
    assert phrase_list("parts of town")[0] == ("of", "the", "city")
    assert tuple(SPELLINGS["day"]) == DAYS
    assert "thurs" in SPELLINGS["day"]["thursday"]
    assert SPELLINGS["food"]["pan asian"] == ["pan asian"]
    assert WORD_SPELLINGS["theater"] == "theatre"
    assert [NUMBER_WORDS[word] for word in ("zero", "twelve", "ninety")] == ["0", "12", "90"]


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
