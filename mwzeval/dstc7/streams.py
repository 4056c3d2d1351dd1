"""Opening files of any size: decompressed on the way, and never more in memory than is meant."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from mwzeval.errors import InputError, Problem, shorten
from mwzeval.files import GZIP_MAGIC, STANDARD_INPUT, ZSTD_MAGIC

MEGABYTE = 1_000_000
CHUNK = 1 << 16


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes (`-` is standard input), `.gz` and `.zst` decompressed.

    Raises `InputError` when it cannot be read, or its compression turns out to be damaged.
    """
    name = str(path)
    try:
        with _raw(name) as raw:
            yield decompressed(raw)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError([_unreadable(name, reason)]) from None
    except ValueError as error:  # a NUL in the name
        if "null" not in str(error):
            raise
        raise InputError([_unreadable(name, str(error))]) from None


@contextmanager
def _raw(name: str) -> Iterator[io.BufferedReader]:
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError("standard input is closed")
        yield cast(io.BufferedReader, sys.stdin.buffer)
        return
    with Path(name).open("rb") as stream:
        yield stream


def decompressed(raw: io.BufferedReader) -> BinaryIO:
    """Return a stream of what is inside, as the first bytes tell."""
    magic = raw.peek(4)[:4]
    if magic.startswith(GZIP_MAGIC):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if magic.startswith(ZSTD_MAGIC):
        return cast(BinaryIO, io.BufferedReader(_ZstdStream(raw), CHUNK))
    return cast(BinaryIO, raw)


class _ZstdStream(io.RawIOBase):
    """What is in zstd frames. Raises `OSError` when they are damaged or end too early."""

    PIECE = 1024
    """So few compressed bytes at a time that what is in them fits into memory, however many."""

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and self._advance():
            pass
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _advance(self) -> bool:
        import zstandard

        piece = self._raw.read(self.PIECE)
        if not piece:
            if self._frame is not None:
                raise OSError("not a complete zstd file (it ends too early)")
            return False
        content = []
        try:
            while piece:
                # One frame after the other, because only this tells whether the last is whole.
                if self._frame is None:
                    self._frame = zstandard.ZstdDecompressor().decompressobj()
                content.append(self._frame.decompress(piece))
                piece = b""
                if self._frame.eof:
                    piece, self._frame = self._frame.unused_data, None
        except zstandard.ZstdError as error:
            raise OSError(f"not a complete zstd file ({error})") from None
        self._ready = memoryview(b"".join(content))
        return True


def read_text(path: str | Path, *, at_most: int, meant: str) -> str:
    """Return the text of a file of at most so many bytes (decompressed).

    `meant` says what it should be, for the message about one that is too large. Raises
    `InputError` when it is, cannot be read, is empty or is not UTF-8.
    """
    name = str(path)
    with opened(path) as stream:
        raw = _bounded(stream, at_most)
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


def _bounded(stream: BinaryIO, at_most: int) -> bytes | None:
    """Return everything, None as soon as it is too much (at once for a plain file)."""
    chunks, size = [], 0
    is_plain = isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO)
    if is_plain and os.fstat(stream.fileno()).st_size > at_most:
        return None
    while chunk := stream.read(1 << 20):
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


def _unreadable(name: str, reason: str) -> Problem:
    return Problem("unreadable", f"cannot be read: {reason}", file=shorten(name, 300))
