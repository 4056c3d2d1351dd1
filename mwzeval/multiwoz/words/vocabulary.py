"""How people write the values of the database, and the words by which values are told apart.

`data/words/spellings.tsv` has the spellings of values, `data/words/lists.tsv` named lists of words.
"""

from __future__ import annotations

from collections.abc import Mapping

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.schema import VENUE_DOMAINS

Words = tuple[str, ...]


def _read_lists() -> dict[str, str]:
    lists: dict[str, str] = {}
    for key, text in table_rows(embedded("words", "lists.tsv"), 2):
        # Phrases have commas between them, words have none.
        separator = ", " if "," in lists.get(key, text) else " "
        lists[key] = f"{lists[key]}{separator}{text}" if key in lists else text
    return lists


def _read_spellings() -> dict[str, dict[str, list[str]]]:
    slots: dict[str, dict[str, list[str]]] = {}
    for slot, value, text in table_rows(embedded("words", "spellings.tsv"), 3):
        for spelling in text.split(", "):
            meant = spelling if value == "=" else value
            slots.setdefault(slot, {}).setdefault(meant, []).append(spelling)
    return slots


_LISTS = _read_lists()
SPELLINGS: Mapping[str, Mapping[str, list[str]]] = _read_spellings()
"""Slot → value as the database spells it → its spellings."""


def word_set(key: str) -> frozenset[str]:
    """Return a list of words."""
    return frozenset(_LISTS[key].split())


def phrase_list(key: str) -> list[Words]:
    """Return the words of each phrase of a list, in its order."""
    return [tuple(phrase.split()) for phrase in _LISTS[key].split(", ")]


def words_by_domain(key: str) -> dict[str, list[str]]:
    """Return the words of lists such as `kinds of hotels` by domain, in their order."""
    return {domain: _LISTS[f"{key} of {domain}s"].split() for domain in VENUE_DOMAINS}


NUMBER_WORDS = {word: str(number) for number, word in enumerate(_LISTS["numbers"].split())} | {
    word: str(10 * tens) for tens, word in enumerate(_LISTS["tens"].split(), start=3)
}
WORD_SPELLINGS = {
    spelling: word for word, spellings in SPELLINGS["word"].items() for spelling in spellings
}
"""Word → the word that it is read as wherever it stands."""

ORDINARY_WORDS, GENERIC_WORDS = word_set("ordinary words"), word_set("generic words")
LINKING_WORDS, LABEL_WORDS = word_set("linking words"), word_set("labels")
STREETS = word_set("streets")
CAPITAL_STREETS = STREETS | word_set("capital streets")
HOTEL_TYPES = frozenset({"hotel", "guesthouse"})
KIND_WORDS = words_by_domain("kinds")
TAILS = {word: domain for domain, tails in words_by_domain("last words").items() for word in tails}
"""Last words of names that are in no database, and the domain that they tell."""
