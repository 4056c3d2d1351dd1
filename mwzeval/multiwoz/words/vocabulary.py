"""The usual spellings of the database's values, and the words with which values are recognized.

`data/words/` has the spellings of values, named lists of words, and regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.schema import VENUE_DOMAINS

Words = tuple[str, ...]


def _read_lists() -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for key, text in table_rows(embedded("words", "lists.tsv"), 2):
        # Phrases contain commas as separators, words do not.
        lists.setdefault(key, []).extend(text.split(", ") if ", " in text else text.split())
    return lists


def _read_spellings() -> dict[str, dict[str, list[str]]]:
    slots: dict[str, dict[str, list[str]]] = {}
    for slot, value, text in table_rows(embedded("words", "spellings.tsv"), 3):
        for spelling in text.split(", "):
            meant = spelling if value == "=" else value
            slots.setdefault(slot, {}).setdefault(meant, []).append(spelling)
    return slots


class _Patterns(dict[str, re.Pattern[str]]):
    """Regular expressions by name, compiled on demand.

    Several rows with the same name are alternatives. `%name%` refers to another expression or to
    the entries of a list.
    """

    def __init__(self) -> None:
        super().__init__()
        self._alternatives: dict[str, list[str]] = {}
        for key, expression in table_rows(embedded("words", "patterns.tsv"), 2):
            self._alternatives.setdefault(key, []).append(expression)

    def __missing__(self, key: str) -> re.Pattern[str]:
        self[key] = pattern = re.compile("|".join(map(self._whole, self._alternatives[key])))
        return pattern

    def _whole(self, expression: str) -> str:
        return re.sub("%([a-z -]+)%", lambda part: self._part(part[1]), expression)

    def _part(self, key: str) -> str:
        alternatives = self._alternatives.get(key) or LISTS[key]
        return f"(?:{'|'.join(map(self._whole, alternatives))})"


LISTS: Mapping[str, list[str]] = _read_lists()
"""Name of a list → its words or phrases, in order."""
WORDS: Mapping[str, frozenset[str]] = {key: frozenset(words) for key, words in LISTS.items()}
SPELLINGS: Mapping[str, Mapping[str, list[str]]] = _read_spellings()
"""Slot → value in the database's spelling → its other spellings."""
PATTERNS: Mapping[str, re.Pattern[str]] = _Patterns()
"""Name → regular expression. Without `(?i)`, it applies to text in lower case or to capitals."""


def has_any(key: str, words: Iterable[str]) -> bool:
    """Return whether any of the words is in a list."""
    return not WORDS[key].isdisjoint(words)


@lru_cache(maxsize=256)
def phrases(key: str) -> tuple[Words, ...]:
    """Return the words of each phrase of a list, in order."""
    return tuple(tuple(phrase.split()) for phrase in LISTS[key])


def _domains_of_words(key: str) -> dict[str, str]:
    return {word: domain for domain in VENUE_DOMAINS for word in LISTS[f"{key} of {domain}s"]}


NUMBER_WORDS = {word: str(number) for number, word in enumerate(LISTS["numbers"])} | {
    word: str(10 * tens) for tens, word in enumerate(LISTS["tens"], start=3)
}
WORD_SPELLINGS = {
    spelling: word for word, spellings in SPELLINGS["word"].items() for spelling in spellings
}
"""Word → the word that replaces it in all contexts."""
KINDS = _domains_of_words("kinds")
"""Word for a kind of venue → its domain."""
TAILS = _domains_of_words("last words")
"""Last words of names that are not in the database → their domain."""
