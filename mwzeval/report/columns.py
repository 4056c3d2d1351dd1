"""How many columns of a terminal a text takes, and texts that are made to take so many.

Wide characters, as Chinese ones are, take two columns, accents that stand on another character
take none.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import TextWrapper
from unicodedata import combining, east_asian_width

from mwzeval.errors import printable

OPENING = "([{“‘（《【「"
"""Behind these no line ends."""
CLOSING = ")]},.;:!?%”’）》】」，。、；：！？…"
"""Before these no line ends."""


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if _is_wide(each) else 0 if combining(each) else 1 for each in text)


def _is_wide(character: str) -> bool:
    return east_asian_width(character) in "WF"


def padded(text: str, width: int) -> str:
    """Return a text with blanks behind it, so that it takes `width` columns, if not more."""
    return text + " " * (width - width_of(text))


def cut(text: str, width: int) -> str:
    """Return a text as it can be printed, with "…" in place of what is over `width` columns."""
    shown = printable(text)
    if width_of(shown) <= width:
        return shown
    while shown and width_of(shown) >= width:
        shown = shown[:-1]
    return f"{shown}…"


def broken(
    text: str, width: int, indent: str = "", then: str | None = None, *, long_words: bool = True
) -> list[str]:
    """Return a text in lines of at most `width` columns, broken between words; none of no words.

    Wide characters are words of their own. The first line begins with `indent`, those after it with
    `then`, or else the same. Words that are too long for a line are broken if `long_words` is true.
    """
    return _Wrapper(
        width,
        initial_indent=indent,
        subsequent_indent=indent if then is None else then,
        break_on_hyphens=False,
        break_long_words=long_words,
    ).wrap(text)


class _Piece(str):
    """A part of a text that is as long as it is wide."""

    __slots__ = ()

    def __len__(self) -> int:
        return width_of(str(self))


class _Wrapper(TextWrapper):
    def _split(self, text: str) -> list[str]:
        """Return the parts of a text that lines are made of."""
        return [_Piece(piece) for word in super()._split(text) for piece in _pieces(word)]


def _pieces(word: str) -> Iterator[str]:
    """Yield the parts of a word between which a line may end."""
    if word.isascii():
        yield word
        return
    piece = word[0]
    for character in word[1:]:
        last = piece[-1]
        may_end = _is_wide(character) or _is_wide(last)
        if may_end and last not in OPENING and character not in CLOSING:
            yield piece
            piece = character
        else:
            piece += character
    yield piece
