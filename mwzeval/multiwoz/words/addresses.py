"""Addresses: the streets of one, its house numbers and its part of the town.

People say as much of an address as they like, so that each of these is compared by itself: the
streets and the numbers that are said must be the venue's, and its part of the town may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mwzeval.multiwoz.words.surface_tables import (
    CAPITAL_STREETS,
    HOUSE_WORDS,
    LANDMARKS,
    LINKING_WORDS,
    STREET_BEGINNINGS,
    STREET_LANDMARKS,
    STREET_WORDS,
    STREETS,
    TOWN,
)
from mwzeval.multiwoz.words.text import NUMERIC, SIGN, WORD, Tokens, fold

Words = tuple[str, ...]

AND, OFF = "and", "off"
"""Stands between a street and the one that it leaves."""
_HOUSE_NUMBER = re.compile(r"[0-9]{1,5}[a-z]?|[a-z][0-9]{1,4}")
RANGES = frozenset("-/")
"""Signs between house numbers."""
BEFORE_NUMBERS = HOUSE_WORDS | frozenset({"at", "address", "is", ":", "located"})
"""What stands before a house number with a comma behind it."""
NO_STREET = LINKING_WORDS | frozenset(
    {"on", "is", "to", "from", "this", "that", "same", "your", "my"}
)
"""Words with which the name of no street begins."""
LONG_STREET = 4
"""Words of a street from which on it is a building and a street: `hotel felix whitehouse lane`."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address of the database in folded words.

    `streets` are its streets and buildings, each without its number; `tail` is the part of the
    town, empty where it has none.
    """

    streets: tuple[Words, ...]
    numbers: frozenset[str]
    tail: Words

    @classmethod
    def parse(cls, text: str) -> Address:
        """Return an address as the database spells it, read."""
        parts = [words for words in map(fold, text.split(",")) if words]
        streets: list[Words] = []
        tail: Words = ()
        has_street = False
        for number, part in enumerate(parts, start=1):
            for stretch, numbered in _stretches(part):
                is_street = stretch[-1] in STREET_WORDS
                if number == len(parts) and has_street and not (is_street or numbered):
                    tail = _once(stretch)
                else:
                    streets += _ways_to_say(stretch)
                has_street = has_street or is_street
        numbers = frozenset(word for part in parts for word in part if _has_digit(word))
        return cls(tuple(dict.fromkeys(streets)), numbers, tail)

    def allows(self, numbers: Iterable[str], tails: Iterable[str]) -> bool:
        """Tell whether house numbers and parts of the town that are said may be of this address."""
        return self.numbers.issuperset(numbers) and (
            not self.tail or all(fold(tail) in (self.tail, *TOWN) for tail in tails)
        )


def _stretches(words: Words) -> list[tuple[Words, bool]]:
    """Return words cut at numbers and after each street; the flag tells a number before it."""
    if AND in words:
        # Between Victoria Road and the river
        return [(words, False)]
    stretches: list[tuple[Words, bool]] = []
    begun: list[str] = []
    numbered = False
    for index, word in enumerate(words):
        if _has_digit(word) or word in HOUSE_WORDS or word == OFF:
            if begun:
                stretches.append((tuple(begun), numbered))
                begun = []
            numbered = word != OFF
            continue
        begun.append(word)
        following = words[index + 1 : index + 2]
        if word in STREET_WORDS and len(begun) > 1 and not STREET_WORDS.intersection(following):
            stretches.append((tuple(begun), numbered))
            begun, numbered = [], False
    if begun:
        stretches.append((tuple(begun), numbered))
    return stretches


def _ways_to_say(stretch: Words) -> list[Words]:
    ways = [stretch]
    if "s" in stretch[1:]:
        # 10 King s Parade
        apart = stretch.index("s", 1)
        ways.append((*stretch[: apart - 1], f"{stretch[apart - 1]}s", *stretch[apart + 1 :]))
    elif len(stretch) >= LONG_STREET and stretch[-1] in STREET_WORDS:
        ways += [stretch[:-2], stretch[-2:]]
    return ways


def _once(words: Words) -> Words:
    """Return words without their repetition: `169 High Street Chesterton Chesterton`."""
    half = len(words) // 2
    return words[:half] if words[:half] == words[half:] else words


def _has_digit(word: str) -> bool:
    return any(char.isdigit() for char in word)


def is_house_number(words: Sequence[str], index: int) -> bool:
    """Tell whether a folded word can be the number of a house: `12`, `517a`, `g4`, unit `su43`."""
    after_unit = index > 0 and words[index - 1] in HOUSE_WORDS and _has_digit(words[index])
    return after_unit or _HOUSE_NUMBER.fullmatch(words[index]) is not None


def numbers_before(tokens: Tokens, index: int) -> tuple[int, tuple[str, ...]]:
    """Return the first token of the house numbers that end before a token, and the numbers."""
    words, kinds = tokens.words, tokens.kinds
    first = index
    if (
        index > 1
        and words[index - 1] == ","
        and (index == 2 or kinds[index - 3] == SIGN or words[index - 3] in BEFORE_NUMBERS)
    ):
        # Unit 8, Viking Way
        first -= 1
    numbers: list[str] = []
    while first and kinds[first - 1] == NUMERIC and is_house_number(words, first - 1):
        first -= 1
        numbers.append(words[first])
        if first < 2 or words[first - 1] not in RANGES or kinds[first - 2] != NUMERIC:
            break
        first -= 1
    if not numbers and index > 1 and words[index - 2].isdigit() and _is_letter(words[index - 1]):
        # 2 G Otter Road
        first = index - 2
        numbers.append(words[first] + words[index - 1])
    if not numbers:
        return index, ()
    for before in (first - 1, first - 2):
        # No. 5
        if before >= 0 and words[before] in HOUSE_WORDS:
            first = before
            break
        if before < 0 or words[before] != ".":
            break
    return first, tuple(numbers)


def other_street(text: str, tokens: Tokens, index: int) -> int | None:
    """Return the first token of the longer street that one of the database ends: `Old Mill Road`.

    It has the number of a house, or begins with a word such as `Old`. None if there is none.
    """
    before = index - 1
    if (
        before < 0
        or tokens.kinds[before] < WORD
        or tokens.words[before] in NO_STREET
        or not text[tokens.start(before)].isupper()
    ):
        return None
    first, numbers = numbers_before(tokens, before)
    return first if numbers or tokens.words[before] in STREET_BEGINNINGS else None


def numbers_from(tokens: Tokens, index: int) -> tuple[int, tuple[str, ...]]:
    """Return the token after the house numbers that may begin at a token, and the numbers."""
    words, kinds = tokens.words, tokens.kinds
    last = len(words)
    after = index
    if after < last and words[after] in HOUSE_WORDS:
        after += 2 if words[after + 1 : after + 2] == ["."] else 1
    numbers: list[str] = []
    while after < last and kinds[after] == NUMERIC and is_house_number(words, after):
        numbers.append(words[after])
        after += 1
        if after + 1 < last and words[after] in RANGES and kinds[after + 1] == NUMERIC:
            after += 1
    return after, tuple(numbers)


def next_part(tokens: Tokens, index: int) -> int:
    """Return the token with which an address goes on that has been said up to a token."""
    words = tokens.words
    if words[index : index + 2] == [".", ","]:
        # 23 High St., Fen Ditton
        index += 2
    elif words[index : index + 1] == [","]:
        index += 1
    return index + 1 if words[index : index + 1] == [OFF] else index


def _is_letter(word: str) -> bool:
    return len(word) == 1 and word.isalpha()


SAINT = "saint"
"""`St`, which may be a street."""
LONGEST_STREET = 3
"""Words before the last one that are looked at."""


def unknown_street(text: str, tokens: Tokens, index: int, begin: int) -> int | None:
    """Return the first token of a street that ends with a token; None if there is none.

    It has the number of a house before it, or capitals; it begins at or after the token `begin`.
    """
    words, kinds = tokens.words, tokens.kinds
    capital = text[tokens.start(index)].isupper()
    after = index + 1
    # Mill Road Cemetery
    named = (
        after < len(words)
        and kinds[after] >= WORD
        and text[tokens.end(index) : tokens.start(after)] == " "
        and text[tokens.start(after)].isupper()
    )
    is_street = words[index] in STREETS
    if words[index] == SAINT:
        is_street = tokens.end(index) - tokens.start(index) == len("St") and not named
    if not (is_street or (capital and words[index] in CAPITAL_STREETS)):
        return None
    first = index
    for before in range(index - 1, max(begin, index - LONGEST_STREET) - 1, -1):
        if kinds[before] < WORD or words[before] in NO_STREET:
            break
        if capital and not text[tokens.start(before)].isupper():
            break
        first = before
    if first == index:
        return None
    numbered = bool(numbers_before(tokens, first)[1])
    return first if numbered or (capital and is_street and not named) else None


def follows_landmark_words(tokens: Tokens, index: int, *, street: bool) -> bool:
    """Tell whether a place that begins at a token is said only for where another one is."""
    words = tokens.words
    last = index - 1
    if last > 0 and words[last] == "the":
        last -= 1
    if last < 0:
        return False
    if street and words[last] in STREET_LANDMARKS:
        return True
    return any(
        tuple(words[max(0, last + 1 - len(phrase)) : last + 1]) == phrase
        for phrase in LANDMARKS.get(words[last], ())
    )
