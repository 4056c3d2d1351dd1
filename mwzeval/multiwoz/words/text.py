"""Tokens of a response, folded to one spelling, and what is found in it: mentions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from mwzeval.multiwoz.placeholders import KNOWN_PLACEHOLDER
from mwzeval.multiwoz.words.vocabulary import NUMBER_WORDS, WORD_SPELLINGS, Words

LANDMARK = "landmark"
"""Slot of a place that is named only to say where another one is; it stays in words."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of a response that names a venue or gives a value.

    `start` and `end` count characters of the response. `slot` is the placeholder's plain name
    (`name`, `phone`, `postcode`, …); `domain` the domain it was read as, None where no domain
    could be told. `value` is the database's own spelling of what is said, None when the database
    does not have it. `venues` are the ids of all rows of the domain that have this value, in table
    order; empty when there are none. `sure` is False where another reading was as good. `written`
    is False for claims that no placeholder stands for.
    """

    start: int
    end: int
    text: str
    slot: str
    domain: str | None
    value: str | None = None
    venues: tuple[str, ...] = ()
    sure: bool = True
    written: bool = True


@dataclass(frozen=True, slots=True)
class Delexicalized:
    """A response with placeholders for what it mentions, in the order of the text."""

    response: str
    mentions: tuple[Mention, ...]


_FIGURES = r"[^\W\d_]*[0-9][^\W_]*(?:[.:][0-9][^\W_]*|,[0-9]{3}(?![0-9]))*"
_OWNER = r"\s?['’`´]\s?s\b"
# A known placeholder (all else in brackets is words); something with a digit (13:15, 5pm, cb2.1ab,
# tr1234); a word with a possessive s, also as tokenisers set it apart (king 's); any other sign.
# Nearly all are the first alternative: letters with a blank or the end of a clause behind them.
_TOKEN = re.compile(
    r"[a-z]+(?=[.,!?]|\s(?!['’`´])|$)"
    rf"|{KNOWN_PLACEHOLDER}|{_FIGURES}|[^\W_]+(?:{_OWNER})?|[^\w\s]"
)
_KIND = re.compile(rf"({KNOWN_PLACEHOLDER})|({_FIGURES})|([^\W_]+)({_OWNER})?")
SIGN, PLACEHOLDER, NUMERIC, WORD, POSSESSIVE = range(5)
"""Kinds of tokens: the last group of `_KIND` that matches."""


def _plain_signs() -> dict[int, str]:
    """Return what letters with accents, dashes and full-width signs are on a plain keyboard.

    Chat models write `Café` and `01223‑302330`; the database has neither accents nor dashes. One
    character stands for one, so that places in a text stay what they are.
    """
    plain = dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00), *range(0xFF01, 0xFF5F)):
        letters = unicodedata.normalize("NFKD", chr(code)).lower()
        sign, marks = letters[0], letters[1:]
        # Brackets of another kind make no placeholder.
        if sign.isascii() and sign not in "[]" and all(map(unicodedata.combining, marks)):
            plain[code] = sign
    return plain


_PLAIN = _plain_signs()
_Value = TypeVar("_Value")


class Cache(dict[str, _Value]):
    """The results of a function of words; a dictionary is faster than `lru_cache`."""

    def __init__(self, function: Callable[[str], _Value]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, token: str) -> _Value:
        value = self._function(token)
        if len(token) <= 32:  # words of people, not of attackers
            if len(self) >= 2**14:
                self.clear()
            self[token] = value
        return value


_SPELLED = {**NUMBER_WORDS, **WORD_SPELLINGS, "&": "and"}


def _kind(token: str) -> int:
    if token == "&":
        return WORD
    match = _KIND.match(token)
    return (match and match.lastindex) or SIGN


def _folded(token: str) -> str:
    match = _KIND.match(token)
    word = f"{match[WORD]}s" if match and match.lastindex == POSSESSIVE else token
    return _SPELLED.get(word, word)


_kinds, _words = Cache(_kind), Cache(_folded)


class Tokens:
    """The tokens of a text, which is `low` in lower case: item i of each list is about the i-th.

    `words` are folded (lower case, no apostrophes, numbers as digits, one spelling); `kinds` are
    those above. Takes time linear in the text's length.
    """

    def __init__(self, text: str, low: str) -> None:
        self._text = text
        self._low = low
        self._tokens: list[str] = _TOKEN.findall(low)
        self.words = list(map(_words.__getitem__, self._tokens))
        self.kinds = list(map(_kinds.__getitem__, self._tokens))
        self._starts: list[int] = []

    def _places(self) -> list[int]:
        """Return where tokens begin; found when first needed, as most texts have no values."""
        starts = self._starts = []
        position, find = 0, self._low.find
        for token in self._tokens:
            # Nothing but blanks and `_` is between tokens, and neither begins one.
            position = find(token, position)
            starts.append(position)
            position += len(token)
        return starts

    @cached_property
    def without_capitals(self) -> bool:
        """Whether the text has no capitals, so that they tell nothing."""
        return self._text.islower()

    @cached_property
    def only_capitals(self) -> bool:
        """Whether the text has nothing but capitals, so that they tell nothing."""
        return self._text.isupper()

    def word(self, index: int) -> str:
        """Return a word; "" before the first and behind the last."""
        try:
            return self.words[index] if index >= 0 else ""
        except IndexError:
            return ""

    def start(self, index: int) -> int:
        """Return the place in the text where a token begins."""
        return (self._starts or self._places())[index]

    def end(self, index: int) -> int:
        """Return the place in the text where a token ends."""
        return (self._starts or self._places())[index] + len(self._tokens[index])

    def after(self, place: int, index: int) -> int:
        """Return the first token, from `index` on, that begins at or behind a place of the text."""
        starts = self._starts or self._places()
        while index < len(starts) and starts[index] < place:
            index += 1
        return index


def lowered(text: str) -> str:
    """Return the text in lower case and without accents, as long as it was."""
    low = text.lower()
    if len(low) != len(text):
        # A few letters become two: İ → i̇.
        low = "".join(char if len(char.lower()) != 1 else char.lower() for char in text)
    return low if low.isascii() else low.translate(_PLAIN)


def fold(text: str) -> Words:
    """Return the folded words of a text without its signs: the form that values are matched in."""
    tokens = Tokens(text, lowered(text))
    return tuple(word for word, kind in zip(tokens.words, tokens.kinds, strict=True) if kind)
