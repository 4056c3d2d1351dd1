"""Text for terminals and files: its width in columns, its lines, and JSON.

On a terminal, wide characters such as Chinese ones take two columns, and combining accents none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from textwrap import TextWrapper
from typing import Any
from unicodedata import combining, east_asian_width

from mwzeval.errors import escaped, printable

OPENING = "([{“‘（《【「"
"""No line ends behind these characters."""
CLOSING = ")]},.;:!?%”’）》】」，。、；：！？…"
"""No line ends before these characters."""


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        2 if east_asian_width(char) in "WF" else 0 if combining(char) else 1 for char in text
    )


def padded(text: str, width: int) -> str:
    """Return a text with blanks behind it, so that it takes `width` columns or more."""
    return text + " " * (width - width_of(text))


def cut(text: str, width: int) -> str:
    """Return a printable text of at most `width` columns; "…" stands for what is cut off."""
    shown = printable(text)
    if width_of(shown) <= width:
        return shown
    while shown and width_of(shown) >= width:
        shown = shown[:-1]
    return f"{shown}…"


def broken(
    text: str, width: int, indent: str = "", then: str | None = None, *, long_words: bool = True
) -> list[str]:
    """Return a text in lines of at most `width` columns, broken between words; [] without words.

    Wide characters are words of their own. The first line begins with `indent`, the others with
    `then` (by default the same). Words that are longer than a line are broken if `long_words`.
    """
    return _Wrapper(
        width,
        initial_indent=indent,
        subsequent_indent=indent if then is None else then,
        break_on_hyphens=False,
        break_long_words=long_words,
    ).wrap(text)


class _Piece(str):
    """A part of a text whose length is its width."""

    __slots__ = ()

    def __len__(self) -> int:
        return width_of(str(self))


class _Wrapper(TextWrapper):
    def _split(self, text: str) -> list[str]:
        """Return the parts of a text between which a line may end."""
        return [_Piece(piece) for word in super()._split(text) for piece in _pieces(word)]


def _pieces(word: str) -> Iterator[str]:
    if word.isascii():
        yield word
        return
    piece = word[0]
    for character in word[1:]:
        last = piece[-1]
        may_end = {east_asian_width(character), east_asian_width(last)} & {"W", "F"}
        if may_end and last not in OPENING and character not in CLOSING:
            yield piece
            piece = character
        else:
            piece += character
    yield piece


def to_json(value: object) -> str:
    """Return indented JSON text, the same for the same value, without control characters."""
    return escaped(json.dumps(value, indent=2, ensure_ascii=False), _escape, keep="\n") + "\n"


def json_line(value: object) -> str:
    """Return JSON text on one line, without its end."""
    return escaped(json.dumps(value, ensure_ascii=False), _escape)


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}"


def plain(value: object) -> Any:
    """Return a value as JSON has it: dataclasses and named tuples are objects of their fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
