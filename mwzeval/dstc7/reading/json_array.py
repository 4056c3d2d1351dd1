"""The items of a JSON array, one after the other, from a file of any size."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem
from mwzeval.files.reading import STANDARD_INPUT, part_limit, pieces, too_large

BYTE_ORDER_MARK = codecs.BOM_UTF8
BLANKS = b" \t\r\n"

DEEPEST = 1000
"""So many levels are far more than any file has; each costs memory for the whole path to it."""

MANY_KINDS = 2000
"""A chunk that opens more than that is parsed in pieces, so that its levels are seen in time."""
PIECE = 1 << 11
CHUNK = 1 << 16
"""Bytes that are parsed at once; decompressed they come in more."""


def items_of(path: str | Path) -> Iterator[Any]:
    """Yield each item of the array that a JSON file holds, keeping no more than one in memory.

    Raises `InputError` with line and column when it is not JSON (only once what stands before has
    been yielded), not an array, empty, not UTF-8 or cannot be read; also for an item that is too
    large or nested too deeply for memory.
    """
    import ijson

    name = str(path)
    done: Any = ijson.sendable_list()
    builder = ijson.items_coro(done, "item", use_float=True)
    position, begun = 0, False
    item = _Item(name)
    # Nothing at the end says that this is the end.
    for chunk in chain(_chunks(path), (b"",)):
        if not begun:
            chunk, begun = _check_beginning(chunk, name)
        for piece in _shallow(chunk):
            item.grow(piece)
            try:
                builder.send(piece)
            except (ijson.JSONError, UnicodeDecodeError) as error:
                yield from done
                raise InputError([_broken(path, position, str(error))]) from None
            except StopIteration:
                pass
            position += len(piece)
            item.end(len(done))
            yield from done
            del done[:]


def _chunks(path: str | Path) -> Iterator[bytes]:
    for piece in pieces(path):
        for start in range(0, len(piece), CHUNK):
            yield piece[start : start + CHUNK]


def _shallow(chunk: bytes) -> list[bytes]:
    """Return the chunk whole, as long as it cannot be nested deeply."""
    if chunk.count(b"[") + chunk.count(b"{") <= MANY_KINDS:
        return [chunk]
    return [chunk[start : start + PIECE] for start in range(0, len(chunk), PIECE)]


class _Item:
    """Watches how much of memory the item that is being read may take."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._number, self._most = 1, part_limit()
        self._size = self._depth = 0

    def grow(self, piece: bytes) -> None:
        """Add bytes. Raises `InputError` when it becomes too much.

        Brackets in texts count as well: an item would need a thousand that are never closed.
        """
        self._size += len(piece)
        opened_more = piece.count(b"[") + piece.count(b"{") - piece.count(b"]") - piece.count(b"}")
        self._depth = max(0, self._depth + opened_more)
        where = f"item {self._number} of the array"
        if self._depth > DEEPEST:
            message = f"{where} is nested too deeply, in more than {DEEPEST:,} levels"
            raise InputError([Problem("not-json", message, file=self._name)])
        if self._size > self._most:
            raise too_large(self._name, where, self._most)

    def end(self, count: int) -> None:
        """Say how many items have ended: what comes belongs to the next one."""
        if count:
            self._number += count
            self._size = self._depth = 0


def _check_beginning(chunk: bytes, name: str) -> tuple[bytes, bool]:
    """Return the chunk without a byte order mark, and whether the array has begun in it."""
    text = chunk.removeprefix(BYTE_ORDER_MARK)
    content = text.lstrip(BLANKS)
    if content.startswith(b"["):
        return text, True
    if content:
        kind = {b"{": "an object", b'"': "text"}.get(content[:1], "something else")
        message = f"expected a JSON array, found {kind}"
        raise InputError([Problem("not-an-array", message, file=name)])
    if not chunk:
        raise InputError([Problem("empty-file", "the file is empty", file=name)])
    return text, False


def _broken(path: str | Path, position: int, reason: str) -> Problem:
    """Return what is wrong with a file in which parsing failed somewhere behind `position`."""
    name = str(path)
    detail = reason.partition("\n")[0].strip().removeprefix("parse error: ")
    if name == STANDARD_INPUT:
        return Problem("not-json", f"not valid JSON: {detail}", file=name)
    return _Locator(name, position, detail).problem()


class _Locator:
    """Parses a broken file again, byte by byte from where it must fail soon."""

    def __init__(self, name: str, position: int, detail: str) -> None:
        self._name = name
        self._suspect = position
        self._detail = detail
        self._line, self._column = 1, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def problem(self) -> Problem:
        import ijson

        events = ijson.sendable_list()
        parser = ijson.basic_parse_coro(events)
        fed = 0
        first = True
        for chunk in _chunks(self._name):
            if first:
                chunk, first = chunk.removeprefix(BYTE_ORDER_MARK), False
            parts = (
                [chunk]
                if fed + len(chunk) <= self._suspect
                else [chunk[index : index + 1] for index in range(len(chunk))]
            )
            for part in parts:
                if not self._decodes(part):
                    return self._not_utf8()
                try:
                    parser.send(part)
                except ijson.JSONError:
                    return self._not_json()
                except StopIteration:
                    pass
                del events[:]
            fed += len(chunk)
        return self._not_json(" (the file ends too early)")

    def _decodes(self, piece: bytes) -> bool:
        try:
            text = self._decoder.decode(piece)
        except UnicodeDecodeError:
            return False
        lines = text.count("\n")
        self._line += lines
        self._column = len(text) - text.rfind("\n") - 1 if lines else self._column + len(text)
        return True

    def _not_utf8(self) -> Problem:
        message = f"line {self._line}: what follows column {self._column} is not UTF-8"
        return Problem("not-utf8", f"{message} — save the file as UTF-8", file=self._name)

    def _not_json(self, remark: str = "") -> Problem:
        place = f"line {self._line}, column {max(self._column, 1)}"
        return Problem(
            "not-json", f"not valid JSON: {place}: {self._detail}{remark}", file=self._name
        )
