"""Tokens, by the words that are written, whatever is between them."""

from __future__ import annotations

import pytest

from mwzeval.multiwoz.words.text import (
    NUMERIC,
    PLACEHOLDER,
    POSSESSIVE,
    SIGN,
    WORD,
    Tokens,
    lowered,
)

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


@pytest.mark.parametrize("blank", [" ", "  ", " _ ", "\n", "\u3000"])
def test_words_kinds_and_places_are_those_written(blank: str) -> None:
    text = blank.join(written for written, _, _ in WRITTEN)
    tokens = Tokens(text, lowered(text))
    assert tokens.words == [word for _, word, _ in WRITTEN]
    assert tokens.kinds == [kind for _, _, kind in WRITTEN]
    places = [(tokens.start(index), tokens.end(index)) for index in range(len(WRITTEN))]
    assert [text[start:end] for start, end in places] == [written for written, _, _ in WRITTEN]
    assert places == sorted(places)
