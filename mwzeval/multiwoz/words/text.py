"""The words of a response, in one spelling, with their places in the text.

What a response says in words: venues it names and values it gives, found in its text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

from mwzeval.multiwoz.normalization.placeholders import KNOWN_PLACEHOLDER
from mwzeval.multiwoz.words.surface_tables import NUMBER_WORDS, WORD_SPELLINGS

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


_fold = {**NUMBER_WORDS, **WORD_SPELLINGS, "&": "and"}.get

# A known placeholder (all else in brackets is words); something with a digit (13:15, 5pm, cb2.1ab,
# tr1234); a word with a possessive s, also as tokenisers set it apart (king 's); any other sign.
_TOKEN = re.compile(
    rf"({KNOWN_PLACEHOLDER})"
    r"|([^\W\d_]*[0-9][^\W_]*(?:[.:][0-9][^\W_]*|,[0-9]{3}(?![0-9]))*)"
    r"|([^\W_]+)(\s?['’`´]\s?s\b)?"
    r"|[^\w\s]"
)
_DASHES = (*range(0x2010, 0x2016), 0x2212)
_ACCENTED = (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))
_FULL_WIDTH = range(0xFF01, 0xFF5F)


def _plain_signs() -> dict[int, str]:
    """Return what letters with accents, dashes and full-width signs are on a plain keyboard.

    One character stands for one, so that places in a text stay what they are.
    """
    plain = dict.fromkeys(_DASHES, "-")
    for code in (*_ACCENTED, *_FULL_WIDTH):
        letters = unicodedata.normalize("NFKD", chr(code)).lower()
        sign, marks = letters[0], letters[1:]
        # Brackets of another kind make no placeholder.
        if sign.isascii() and sign not in "[]" and all(map(unicodedata.combining, marks)):
            plain[code] = sign
    return plain


_PLAIN = _plain_signs()
"""Chat models write `Café` and `01223‑302330`; the database has neither accents nor dashes."""

SIGN, PLACEHOLDER, NUMERIC, WORD, POSSESSIVE = range(5)
"""Kinds of tokens."""


class Tokens:
    """The tokens of a text: item i of each list is about the i-th.

    `words` are folded (lower case, no apostrophes, numbers as digits, one spelling); `kinds` are
    those above.
    """

    def __init__(
        self, text: str, words: list[str], kinds: list[int], matches: list[re.Match[str]]
    ) -> None:
        self._text = text
        self.words = words
        self.kinds = kinds
        self._matches = matches

    @cached_property
    def without_capitals(self) -> bool:
        """Whether the text has no capitals, so that they tell nothing."""
        return self._text.islower()

    @cached_property
    def only_capitals(self) -> bool:
        """Whether the text has nothing but capitals, so that they tell nothing."""
        return self._text.isupper()

    def start(self, index: int) -> int:
        """Return the place in the text where a token begins."""
        return self._matches[index].start()

    def end(self, index: int) -> int:
        """Return the place in the text where a token ends."""
        return self._matches[index].end()


def lowered(text: str) -> str:
    """Return the text in lower case and without accents, as long as it was."""
    low = text.lower()
    if len(low) != len(text):
        # A few letters become two: İ → i̇.
        low = "".join(char if len(char.lower()) != 1 else char.lower() for char in text)
    return low if low.isascii() else low.translate(_PLAIN)


def tokenize(text: str, low: str) -> Tokens:
    """Return the tokens of a text, `low` in lower case, in time linear in its length."""
    matches = list(_TOKEN.finditer(low))
    words = [match[0] for match in matches]
    kinds = [match.lastindex or SIGN for match in matches]
    if POSSESSIVE in kinds:
        for index, kind in enumerate(kinds):
            if kind == POSSESSIVE:
                words[index] = f"{matches[index][WORD]}s"
    if "&" in low:
        kinds = [WORD if word == "&" else kind for word, kind in zip(words, kinds, strict=True)]
    return Tokens(text, [_fold(word, word) for word in words], kinds, matches)


def fold(text: str) -> tuple[str, ...]:
    """Return the folded words of a text without its signs: the form that values are matched in."""
    tokens = tokenize(text, lowered(text))
    return tuple(word for word, kind in zip(tokens.words, tokens.kinds, strict=True) if kind)
