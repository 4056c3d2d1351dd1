"""Spellings of the database's values, and the words and expressions that readers of texts use.

`data/words/` has the spellings of values, named lists of words, and two tables of regular
expressions: `patterns.tsv` for values and claims, `cues.tsv` for the messages of live dialogues. In
`cues.tsv`, names with the prefix `agent` are for the utterances of agents, and names with the
prefix `user` are for the utterances of users.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.schema import VENUE_DOMAINS

Words = tuple[str, ...]


@lru_cache(maxsize=16)
def keyed_rows(*table: str) -> Mapping[str, tuple[str, ...]]:
    """Return the texts in a table, by the key in the first column.

    Raises `DataError` if the table is damaged.
    """
    rows: dict[str, list[str]] = {}
    for key, text in table_rows(embedded(*table), 2):
        rows.setdefault(key, []).append(text)
    return {key: tuple(texts) for key, texts in rows.items()}


def _split(text: str) -> list[str]:
    """Return the entries of a list. Phrases are separated by commas, single words by spaces."""
    return text.split(", ") if ", " in text else text.split()


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
        self.rows = {**keyed_rows("words", "patterns.tsv"), **keyed_rows("words", "cues.tsv")}

    def __missing__(self, name: str) -> re.Pattern[str]:
        self[name] = pattern = re.compile("|".join(map(self._whole, self.rows[name])))
        return pattern

    def _whole(self, expression: str) -> str:
        return re.sub("%([a-z -]+)%", lambda part: self._part(part[1]), expression)

    def _part(self, name: str) -> str:
        return f"(?:{'|'.join(map(self._whole, self.rows.get(name) or LISTS[name]))})"


LISTS: Mapping[str, list[str]] = {
    key: [entry for text in texts for entry in _split(text)]
    for key, texts in keyed_rows("words", "lists.tsv").items()
}
"""The words or phrases of each list, in order."""
WORDS: Mapping[str, frozenset[str]] = {key: frozenset(words) for key, words in LISTS.items()}
SPELLINGS: Mapping[str, Mapping[str, list[str]]] = _read_spellings()
"""The other spellings of values, by slot and value in the database's spelling."""
PATTERNS = _Patterns()
"""Regular expressions by name. Expressions without `(?i)` are applied to text in lower case, or
match capitals."""


def has(name: str, text: str) -> bool:
    """Return whether a text contains a match of the named regular expression."""
    return PATTERNS[name].search(text) is not None


@lru_cache(maxsize=256)
def patterns_of(kind: str) -> Mapping[str, re.Pattern[str]]:
    """Return the regular expressions whose names begin with `kind`, by the rest of their names."""
    names = [name for name in PATTERNS.rows if name.startswith(f"{kind} ")]
    return {name.removeprefix(f"{kind} "): PATTERNS[name] for name in names}


@lru_cache(maxsize=16)
def domain_words(kind: str, around: str = "") -> re.Pattern[str]:
    """Return one regular expression for the words of all domains, with the pattern `around` before
    and after the words.

    The name of the group that matches is the domain.
    """
    groups = (f"(?P<{domain}>{words.pattern})" for domain, words in patterns_of(kind).items())
    return re.compile(f"{around}(?:{'|'.join(groups)}){around}")


def has_any(key: str, words: Iterable[str]) -> bool:
    """Return whether any of the given words is in a word list of the vocabulary."""
    return not WORDS[key].isdisjoint(words)


@lru_cache(maxsize=256)
def phrases(key: str) -> tuple[Words, ...]:
    """Return the words of each phrase in a list of the vocabulary, in order."""
    return tuple(tuple(phrase.split()) for phrase in LISTS[key])


def _domains_of_words(key: str) -> dict[str, str]:
    return {word: domain for domain in VENUE_DOMAINS for word in LISTS[f"{key} of {domain}s"]}


NUMBER_WORDS = {word: str(number) for number, word in enumerate(LISTS["numbers"])} | {
    word: str(10 * tens) for tens, word in enumerate(LISTS["tens"], start=3)
}
WORD_SPELLINGS = {
    spelling: word for word, spellings in SPELLINGS["word"].items() for spelling in spellings
}
"""The word that replaces a word in all contexts."""
KINDS = _domains_of_words("kinds")
"""The domain of each word for a kind of venue."""
TAILS = _domains_of_words("last words")
"""The domain of each last word of names that are not in the database."""
