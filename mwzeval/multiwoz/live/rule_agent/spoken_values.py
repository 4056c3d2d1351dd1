"""Values in what a user says: names, areas, times, numbers, … in the database's spelling.

They are found by the trie of the gazetteer, as in responses of systems; which of them constrain
what, is told in `understanding`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mwzeval.multiwoz.words.gazetteer import Gazetteer
from mwzeval.multiwoz.words.numbers import clock, number_at, train_at
from mwzeval.multiwoz.words.recognition import NearMisses
from mwzeval.multiwoz.words.text import WORD, Tokens, fold, lowered
from mwzeval.multiwoz.words.vocabulary import ORDINARY_WORDS, SPELLINGS

TRAVELLERS = frozenset({"people", "person", "persons", "guests", "tickets", "ticket", "seats"})
_TAKEN = frozenset(
    {"name", "area", "food", "pricerange", "type", "place", "day", "internet", "parking"}
)
_NUMBERS = frozenset({"people", "stay", "stars"})
_CALLED = frozenset({"called", "named", "name", "at", "is"})
_NAMED = frozenset({"called", "named", "want"})
_ALONE = frozenset({"myself", "alone"})
_PARTY_BEFORE = (["party", "of"], ["group", "of"], ["table", "of"])
_PARTY_BEHIND = (["of", "us"], ["in", "my"], ["in", "our"], ["in", "the"])
_FEWEST_LETTERS = 5
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}")
NUMBER = "number"
"""The slot of a number that nothing beside it explains."""


class Spoken(NamedTuple):
    """A value: its slot, what it may mean in the database's spelling, its place in the tokens."""

    slot: str
    values: tuple[str, ...]
    first: int
    after: int


class Vocabulary:
    """What there is to speak of in a town; what it remembers only saves time.

    `tables` are the rows of the database by domain.
    """

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self.gazetteer = Gazetteer(tables)
        self._near_misses = NearMisses(self.gazetteer)
        departments = [str(row["department"]) for row in tables.get("hospital", ())]
        self._departments = {fold(department): department for department in departments}

    def values(self, text: str, tokens: Tokens, known_names: Collection[str] = ()) -> list[Spoken]:
        """Return the values of a text, in its order.

        `known_names` are venues that were named before, so that a short name of one will do.
        """
        return list(self._values(text, lowered(text), tokens, known_names))

    def department(self, words: Sequence[str]) -> str | None:
        """Return the department of the hospital that words name; the longest of several."""
        said = " ".join(word for word in words if word.isalnum())
        named = [name for name in self._departments if f" {' '.join(name)} " in f" {said} "]
        return self._departments[max(named, key=len)] if named else None

    def domains(self, name: str) -> tuple[str, ...]:
        """Return the domains that have a venue of a name."""
        return tuple(self.gazetteer.venues("name", name))

    def _values(
        self, text: str, low: str, tokens: Tokens, known_names: Collection[str]
    ) -> Iterator[Spoken]:
        done = 0
        begins = self.gazetteer.begins
        for index, word in enumerate(tokens.words):
            if index < done:
                continue
            spoken = self._at(tokens, index, known_names) if word in begins else None
            if spoken is None and (word[0].isdigit() or word in _ALONE or word == "noon"):
                spoken = _number(text, low, tokens, index)
            if spoken is None and len(word) >= _FEWEST_LETTERS and word.isalpha():
                spoken = self._misspelt(tokens, index, done)
            if spoken is not None:
                done = spoken.after
                yield spoken

    def _at(self, tokens: Tokens, index: int, known_names: Collection[str]) -> Spoken | None:
        longest = self.gazetteer.longest(tokens, index)
        if longest is None:
            return None
        slots = dict.fromkeys(slot for slot, _ in longest.meanings)
        for slot in slots:
            values = tuple(value for of_slot, value in longest.meanings if of_slot == slot)
            if slot == "short":
                named = tuple(value for value in values if value in known_names)
                before = tokens.words[max(0, index - 2) : index]
                is_long = longest.after - index > 1
                is_called = not (_CALLED if is_long else _NAMED).isdisjoint(before)
                values = named or (values[:1] if is_called else ())
                slot = "name"
            if slot == "nostars":
                slot = "stars"
            if slot in _TAKEN and values:
                return Spoken(slot, values, index, longest.after)
            if slot == "stars":
                return Spoken(slot, ("0",), index, longest.after)
        return None

    def _misspelt(self, tokens: Tokens, index: int, done: int) -> Spoken | None:
        near = self._near_misses.name_at(tokens, index)
        if near is None or near[0] < done:
            return None
        first, (after, meanings, _) = near
        words = [word for word in tokens.words[first:after] if word != "the"]
        if len(words) < 2 and (words[0] in ORDINARY_WORDS or words[0] in SPELLINGS["food"]):
            return None
        return Spoken(
            "name", tuple(value for slot, value in meanings if slot == "name"), first, after
        )


def _number(text: str, low: str, tokens: Tokens, index: int) -> Spoken | None:
    words = tokens.words
    word = words[index]
    train = train_at(tokens, index)
    if train is not None:
        digits = "".join(char for char in text[slice(*train)] if char.isdigit())
        return Spoken("trainid", (f"TR{digits}",), index, index + 1)
    if word in _ALONE:
        return Spoken("people", ("1",), index, index + 1)
    if word == "noon":
        return Spoken("time", ("12:00",), index, index + 1)
    number = number_at(low, tokens, index)
    if number is not None and number.slot == "time":
        said = low[tokens.start(index) : number.end]
        time = said.zfill(5) if _TIME.fullmatch(said) else clock(said)
        return Spoken("time", (time,), index, number.token_end)
    if not (word.isascii() and word.isdigit()):
        return None
    after = number.token_end if number is not None else index + 1
    value = (str(int(word)) if len(word) < 4 else word,)
    if number is not None and number.slot in _NUMBERS:
        return Spoken(number.slot, value, index, after)
    following = words[index + 1 : index + 4]
    if not TRAVELLERS.isdisjoint(following[:2]) or following[:2] in _PARTY_BEHIND:
        return Spoken("people", value, index, index + 1)
    if words[max(0, index - 2) : index] in _PARTY_BEFORE:
        return Spoken("people", value, index, index + 1)
    return Spoken(NUMBER, value, index, index + 1)


def sentences(tokens: Tokens) -> list[tuple[int, int]]:
    """Return the first token of each sentence, and the one after it."""
    ends = [
        index + 1
        for index, word in enumerate(tokens.words)
        if word in (".", "?", "!", ";") and tokens.kinds[index] < WORD
    ]
    starts = [0, *ends]
    return [
        (start, end)
        for start, end in zip(starts, [*ends, len(tokens.words)], strict=True)
        if start < end
    ]


def within(spoken: Iterable[Spoken], first: int, after: int) -> list[Spoken]:
    """Return the values that begin between two tokens."""
    return [one for one in spoken if first <= one.first < after]
