"""Reads the items of a JSON array one by one, from a file of any size."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem
from mwzeval.files.reading import part_limit, pieces, too_large

REFILL = 2**20
"""The minimum number of characters that are read at a time."""
LONGEST_TOKEN = 16
"""The maximum length of a token. An error within this distance of the end of the data may be due to
an incomplete token."""

_BLANKS = re.compile("[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


def items_of(path: str | Path) -> Iterator[Any]:
    """Yield the items of the array in a JSON file; about one item is in memory at a time.

    Raises `InputError` with line and column if the file is not a JSON array, empty, not UTF-8 or
    not readable, or if an item is too large or nested too deeply for memory. The items before
    invalid JSON are yielded first.
    """
    text = _Text(path)
    first = text.next_character()
    if first != "[":
        kind = {"{": "an object", '"': "text"}.get(first, "something else")
        code, message = "not-an-array", f"expected a JSON array, found {kind}"
        if not first:
            code, message = "empty-file", "the file is empty"
        raise InputError([Problem(code, message, file=str(path))])
    text.at += 1
    number, mark = 0, "]" if text.next_character() == "]" else ","
    while mark == ",":
        number += 1
        yield text.item(f"item {number} of the array")
        mark = text.next_character()
        text.at += mark == ","
    if mark != "]":
        detail = "expected a comma or the end of the array" if mark else "the file ends too early"
        raise text.not_json(text.at, detail)
    text.at += 1
    if text.next_character():
        raise text.not_json(text.at, "there is text after the array")


class _Text:
    """The part of a file that has been read but not parsed; it begins at `at`."""

    def __init__(self, path: str | Path) -> None:
        self._name = str(path)
        self._pieces = pieces(path)
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._line, self._column = 1, 1
        self.at = 0

    def next_character(self) -> str:
        """Return the next character that is not blank, without consuming it; "" at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self.at)
            self.at = blanks.end() if blanks else self.at
            if self.at < len(self._text) or not self._refill():
                return self._text[self.at : self.at + 1]

    def item(self, what: str) -> Any:
        """Return the next value."""
        most = part_limit()
        self.next_character()
        while True:
            try:
                value, end = _decode(self._text, self.at)
            except json.JSONDecodeError as error:
                behind = error.pos - self.at
                is_near_end = len(self._text) - error.pos < LONGEST_TOKEN
                is_cut = is_near_end or error.msg.startswith("Unterminated")
                if not is_cut or not self._refill():
                    raise self.not_json(self.at + behind, error.msg) from None
            except RecursionError:
                raise self._problem(f"{what} is nested too deeply") from None
            except ValueError:  # an integer of more digits than Python converts
                raise self.not_json(self.at, f"{what} has a number of too many digits") from None
            else:
                # A number at the end of the text may be incomplete, also within its fraction.
                rest = self._text[end : end + LONGEST_TOKEN]
                is_cut = not rest or (rest[0] in ".eE" and len(rest) < LONGEST_TOKEN)
                length = end - self.at
                if not is_cut or not self._refill():
                    self.at += length
                    return value
            if len(self._text) > most + REFILL:
                raise too_large(self._name, what, most)

    def _refill(self) -> bool:
        """Drop the parsed text, and read more; return False at the end of the file."""
        self._line, self._column = self._place(self.at)
        parts = [self._text[self.at :]]
        self.at = 0
        wanted = max(REFILL, len(parts[0]))
        try:
            while wanted > 0:
                raw = next(self._pieces, None)
                parts.append(self._decoder.decode(raw or b"", final=raw is None))
                if raw is None:
                    break
                wanted -= len(parts[-1])
        except UnicodeDecodeError as error:
            self._text = "".join(parts) + error.object[: error.start].decode()
            line, column = self._place(len(self._text))
            message = f"line {line}: the text after column {column - 1} is not UTF-8"
            hint = " — save the file as UTF-8"
            raise InputError([Problem("not-utf8", message + hint, file=self._name)]) from None
        self._text = "".join(parts)
        return any(parts[1:])

    def _place(self, at: int) -> tuple[int, int]:
        newline = self._text.rfind("\n", 0, at)
        if newline < 0:
            return self._line, self._column + at
        return self._line + self._text.count("\n", 0, at), at - newline

    def not_json(self, at: int, detail: str) -> InputError:
        """Return the error for a position in the text."""
        return self._problem("line {}, column {}: {}".format(*self._place(at), detail))

    def _problem(self, message: str) -> InputError:
        return InputError([Problem("not-json", f"not valid JSON: {message}", file=self._name)])
