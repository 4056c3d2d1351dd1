"""DSTC7's files: read piece by piece, and never more in memory than is meant."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from mwzeval import streams
from mwzeval.errors import InputError, Problem
from mwzeval.files import STANDARD_INPUT, unreadable

MEGABYTE = 1_000_000
CHUNK = 1 << 16


def pieces(path: str | Path) -> Iterator[bytes]:
    """Yield what is in a file (`-` is standard input), unpacked, at most `CHUNK` bytes at once.

    Raises `InputError` when it cannot be read, or its compression turns out to be damaged.
    """
    for piece in _read(str(path)):
        for start in range(0, len(piece), CHUNK):
            yield piece[start : start + CHUNK]


def _read(name: str) -> Iterator[bytes]:
    if name != STANDARD_INPUT:
        return streams.pieces(name)
    if sys.stdin is None:
        raise unreadable(name, "standard input is closed")
    return streams.decompressed(sys.stdin.buffer, name)


def read_text(path: str | Path, *, at_most: int, meant: str) -> str:
    """Return the text of a file of at most so many bytes (decompressed).

    `meant` says what it should be, for the message about one that is too large. Raises
    `InputError` when it is, cannot be read, is empty or is not UTF-8.
    """
    name = str(path)
    # Of a plain file it is known beforehand; a packed one does not become smaller.
    too_large = name != STANDARD_INPUT and _size(name) > at_most
    raw = None if too_large else bounded(pieces(path), at_most)
    if raw is None:
        limit = f"{at_most / MEGABYTE:.0f} MB"
        message = f"larger than {limit}, the most that {meant} may have: is it another file?"
        raise InputError([Problem("too-large", message, file=name)])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError([not_utf8(name, raw, error.start)]) from None
    if not text.strip():
        raise InputError([Problem("empty-file", "the file is empty", file=name)])
    return text


def _size(name: str) -> int:
    try:
        return Path(name).stat().st_size
    except (OSError, ValueError):
        return 0  # reading it says what is wrong


def bounded(read: Iterable[bytes], at_most: int) -> bytes | None:
    """Return everything, None as soon as it is too much."""
    chunks, size = [], 0
    for chunk in read:
        size += len(chunk)
        if size > at_most:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def not_utf8(name: str, raw: bytes, position: int) -> Problem:
    """Return the problem of a byte that no UTF-8 text has."""
    line = raw.count(b"\n", 0, position) + 1
    column = position - (raw.rfind(b"\n", 0, position) + 1) + 1
    return Problem(
        "not-utf8",
        f"line {line}, byte {column} of it is not UTF-8 — save the file as UTF-8",
        file=name,
    )
