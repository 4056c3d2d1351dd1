"""Markup is removed, words keep their positions, and the word tables are valid."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.errors import DataError
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.words.text import (
    NUMERIC,
    PLACEHOLDER,
    POSSESSIVE,
    SIGN,
    WORD,
    Tokens,
    shown,
)
from mwzeval.multiwoz.words.vocabulary import PATTERNS
from tests.cases import tabled
from tests.work import calls


@tabled
def test_markup_is_removed_from_the_shown_text(response: str, text: str) -> None:
    assert shown(response).text == text


@pytest.mark.parametrize(
    ("response", "emphasized"),
    [
        ("**A B**, _c_ and [d e](f) but not g", ["A B", "c", "d e"]),
        ("[**A**](b)", ["A"]),
        ("- **Phone:** 1", ["Phone:"]),
    ],
)
def test_emphasized_spans_are_detected(response: str, emphasized: list[str]) -> None:
    text = shown(response)
    assert [text.text[start:end] for start, end in text.emphasized] == emphasized


def test_text_blocks_have_the_expected_parent_blocks() -> None:
    text = shown(
        "# Best\nTwo places:\n1. **A**\n   - x\n   more\n2. B\n- y\n\nBye"
        "\n| n | m |\n|--|--|\n| o | p |"
    )
    lines = [text.text[block.start : block.end].strip("¶ ") for block in text.blocks]
    above = [None if block.parent is None else lines[block.parent] for block in text.blocks]
    assert list(zip(lines, above, strict=True)) == [
        ("Best", None),
        ("Two places:", "Best"),
        ("A", "Two places:"),
        ("x", "A"),
        ("more", "A"),
        ("B", "Two places:"),
        ("y", "B"),
        ("Bye", "Best"),
        ("| n | m |", "Best"),
        ("| o | p |", "Best"),
    ]
    row = text.blocks[-1]
    assert [text.text[start:end] for start, end in row.cells] == [" o ", " p "]


MARKUP = st.text(alphabet="ab *_`#-|[]()<>&;\\\n1.\u00a0\u200b’🚆⭐:/w", max_size=60)


@given(MARKUP)
def test_shown_characters_map_to_positions_in_the_response(response: str) -> None:
    text = shown(response)
    for at, sign in enumerate(text.text):
        start, end = text.place(at, at + 1)
        assert 0 <= start < end <= len(response)
        assert text.shown_at(start, end)[0] <= at
        if sign.isalnum() and sign.isascii():
            assert response[start] in (sign, "&")
    assert sum(block.end - block.start for block in text.blocks) == len(text.text)
    assert all(0 <= start < end <= len(text.text) for start, end in text.emphasized)


@given(st.text(alphabet="ab *_[]-|1.\u00a0\u200b⭐\n", max_size=60))
def test_letters_are_kept_outside_link_targets_tags_and_entities(response: str) -> None:
    kept = Counter(shown(response).text)
    assert all(kept[letter] == response.count(letter) for letter in "ab")


@given(st.text(alphabet="abc XYZ0123.,!?'£-", max_size=60))
def test_text_without_markup_is_unchanged(response: str) -> None:
    text = shown(response)
    assert text.text == response
    assert text.place(0, 1) == (0, 1)


def test_long_runs_of_blanks_are_scanned_once() -> None:
    # A quadratic search would take minutes.
    for response in (f"a\n{' ' * 90_000}b", f"a\n|{' ' * 90_000}b", f"a{' ' * 90_000}*b*"):
        assert shown(response).text.replace(" ", "") in ("a¶b", "a¶|b", "ab")


@tabled
def test_cost_is_linear_in_the_length_of_the_response(piece: str) -> None:
    short, long = (calls(partial(shown, piece * size)) for size in (500, 5000))
    assert long < 25 * short


WRITTEN = [
    ("The", "the", WORD),
    ("King 's", "kings", POSSESSIVE),
    ("King’s", "kings", POSSESSIVE),
    ("'", "'", SIGN),
    ("Café", "cafe", WORD),
    ("İX", "ix", WORD),
    ("13:15", "13:15", NUMERIC),
    ("cb2.1ab", "cb2.1ab", NUMERIC),
    ("1,050", "1,050", NUMERIC),
    (",", ",", SIGN),
    ("two", "2", WORD),
    ("[hotel_name]", "[hotel_name]", PLACEHOLDER),
    ("&", "and", WORD),
    ("a" * 40, "a" * 40, WORD),
    ("a", "a", WORD),
    ("?", "?", SIGN),
]


@tabled
def test_tokens_have_the_expected_words_kinds_and_positions(blank: str) -> None:
    text = blank.join(written for written, _, _ in WRITTEN)
    tokens = Tokens(text)
    found = [
        (text[tokens.start(index) : tokens.end(index)], word, kind)
        for index, (word, kind) in enumerate(zip(tokens.words, tokens.kinds, strict=True))
    ]
    assert found == WRITTEN


def test_all_patterns_in_the_tables_are_valid() -> None:
    assert all(PATTERNS[name] for name in PATTERNS.rows)


@pytest.mark.parametrize("row", ["area\tnorth", "area\t\tnorth", "area\tnorth\tnorth\t", "area"])
def test_errors_name_the_line_of_an_invalid_table_row(tmp_path: Path, row: str) -> None:
    table = tmp_path / "spellings.tsv"
    table.write_text(f"# slot, value, spellings\n\narea\teast\teast, eastern\n{row}\n")
    with pytest.raises(DataError, match=r"spellings\.tsv, line 4: .*3 columns"):
        list(table_rows(table, 3))


def test_word_tables_have_unique_entries() -> None:
    entries = Counter(
        (*names, entry)
        for file, columns in (("lists", 2), ("spellings", 3))
        for *names, text in table_rows(embedded("words", f"{file}.tsv"), columns)
        for entry in (text.split(", ") if columns == 3 or ", " in text else text.split())
    )
    assert [entry for entry, times in entries.items() if times > 1] == []
