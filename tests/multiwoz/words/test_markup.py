"""Markup is left out, what is shown stays, and words keep their places."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.words.text import (
    NUMERIC,
    PLACEHOLDER,
    POSSESSIVE,
    SIGN,
    WORD,
    Tokens,
    shown,
)
from tests.cases import tabled
from tests.work import calls


@tabled
def test_what_is_shown(response: str, text: str) -> None:
    assert shown(response).text == text


@pytest.mark.parametrize(
    ("response", "emphasized"),
    [
        ("**A B**, _c_ and [d e](f) but not g", ["A B", "c", "d e"]),
        ("[**A**](b)", ["A"]),
        ("- **Phone:** 1", ["Phone:"]),
    ],
)
def test_what_is_emphasized(response: str, emphasized: list[str]) -> None:
    text = shown(response)
    assert [text.text[start:end] for start, end in text.emphasized] == emphasized


def test_lines_stand_below_what_they_belong_to() -> None:
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
def test_every_character_keeps_its_place(response: str) -> None:
    text = shown(response)
    for at, sign in enumerate(text.text):
        start, end = text.place(at, at + 1)
        assert 0 <= start < end <= len(response)
        assert text.shown_at(start, end)[0] <= at
        if sign.isalnum() and sign.isascii():
            assert response[start] in (sign, "&")
    assert sum(block.end - block.start for block in text.blocks) == len(text.text)
    assert all(0 <= start < end <= len(text.text) for start, end in text.emphasized)


@given(MARKUP)
def test_nothing_that_is_shown_is_lost(response: str) -> None:
    """Letters only go with tags, link targets, addresses, entities and marks of items."""
    if any(sign in response for sign in "<>()&/#w1\\`~"):
        return
    # The rule below the head of a table has colons.
    counted = "ab⭐" if "-" in response else "ab⭐:"
    kept = [sign for sign in shown(response).text if sign in counted]
    letters = [sign for sign in response if sign in counted]
    assert len(letters) - len(kept) <= response.count("\n") + 1


@given(st.text(alphabet="abc XYZ0123.,!?'£-", max_size=60))
def test_text_without_markup_stays_as_it_is(response: str) -> None:
    text = shown(response)
    assert text.text == response
    assert text.place(0, 1) == (0, 1)


def test_blanks_are_passed_over_once() -> None:
    # Searched from each of them anew, they would take minutes.
    for response in (f"a\n{' ' * 90_000}b", f"a\n|{' ' * 90_000}b", f"a{' ' * 90_000}*b*"):
        assert shown(response).text.replace(" ", "") in ("a¶b", "a¶|b", "ab")


@tabled
def test_the_work_grows_with_the_text(piece: str) -> None:
    short, long = (calls(partial(shown, piece * size)) for size in (500, 5000))
    assert long < 25 * short


WRITTEN = [
    ("The", "the", WORD),
    ("King 's", "kings", POSSESSIVE),
    ("King’s", "kings", POSSESSIVE),
    ("'", "'", SIGN),
    ("Café", "cafe", WORD),
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
def test_words_kinds_and_places_are_those_written(blank: str) -> None:
    text = blank.join(written for written, _, _ in WRITTEN)
    tokens = Tokens(text)
    assert tokens.words == [word for _, word, _ in WRITTEN]
    assert tokens.kinds == [kind for _, _, kind in WRITTEN]
    places = [(tokens.start(index), tokens.end(index)) for index in range(len(WRITTEN))]
    assert [text[start:end] for start, end in places] == [written for written, _, _ in WRITTEN]
    assert places == sorted(places)
