"""Text for terminals and files: its width in columns, its lines, and JSON.

On a terminal, wide characters (for example Chinese) take two columns, and combining accents take
none.
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
"""Characters that no line may end with."""
CLOSING = ")]},.;:!?%”’）》】」，。、；：！？…"
"""Characters that no line may begin with."""


def width_of(text: str) -> int:
    """Return the number of terminal columns of a text."""
    if text.isascii():
        return len(text)
    return sum(
        2 if east_asian_width(char) in "WF" else 0 if combining(char) else 1 for char in text
    )


def padded(text: str, width: int) -> str:
    """Return a text, followed by spaces so that it takes at least `width` columns."""
    return text + " " * (width - width_of(text))


def cut(text: str, width: int) -> str:
    """Return a printable text of at most `width` columns; a longer text ends in "…"."""
    shown = printable(text)
    if width_of(shown) <= width:
        return shown
    while shown and width_of(shown) >= width:
        shown = shown[:-1]
    return f"{shown}…"


def broken(
    text: str, width: int, indent: str = "", then: str | None = None, *, long_words: bool = True
) -> list[str]:
    """Return a text as lines of at most `width` columns, broken between words; [] without words.

    Each wide character counts as a word. The first line begins with `indent`, the other lines begin
    with `then` (default: `indent`). If `long_words` is true, words that are longer than a line are
    broken.
    """
    return _Wrapper(
        width,
        initial_indent=indent,
        subsequent_indent=indent if then is None else then,
        break_on_hyphens=False,
        break_long_words=long_words,
    ).wrap(text)


class _Piece(str):
    """A part of a text; its `len` is its width in columns."""

    __slots__ = ()

    def __len__(self) -> int:
        return width_of(str(self))


class _Wrapper(TextWrapper):
    def _split(self, text: str) -> list[str]:
        """Return the parts of a text between which a line may be broken."""
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


def json_value(text: str | bytes) -> Any:
    """Return the value of a JSON text; None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def to_json(value: object) -> str:
    """Return indented JSON text without control characters; equal values give equal text."""
    return escaped(json.dumps(value, indent=2, ensure_ascii=False), _escape, keep="\n") + "\n"


def json_line(value: object) -> str:
    """Return JSON text on one line, without the line break at its end."""
    return escaped(json.dumps(value, ensure_ascii=False), _escape)


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}"


def plain(value: object) -> Any:
    """Return a value for JSON: dataclasses and named tuples become objects with their fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
