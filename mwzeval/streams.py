"""Files read piece by piece, wherever they lie: here, or at any URL that fsspec understands.

`s3://bucket/run-*.jsonl.zst`, `memory://…`, `gs://…` need the extra `distributed`, and the packages
that fsspec names for each kind of place. Plain paths need nothing.
"""

from __future__ import annotations

import glob
import os
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mwzeval.errors import DependencyError, InputError, Problem, UsageError, shorten
from mwzeval.files import GZIP_MAGIC, ZSTD_MAGIC, unreadable

PIECE = 2**14
"""Bytes read at a time; few, because they may be many more when decompressed."""

MOST_OF_ZSTD = 2**10
"""Bytes of zstd decompressed at a time: even so few may be 32 MB."""

SENSIBLE_LINE = 2**22
LONGEST_LINE = 2**26
"""Bytes of a line, some thousand times as long as a dialogue."""


def is_url(path: str) -> bool:
    """Tell whether a path names its kind of place, as `s3://…` does."""
    return "://" in path


def is_pattern(path: str) -> bool:
    """Tell whether a path has wildcards, and is not the name of a file all the same."""
    return glob.has_magic(path) and (is_url(path) or not Path(path).exists())


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that patterns stand for: those of a pattern sorted by name, in their order.

    Raises `InputError` for a pattern without any file, `UsageError` for a file that comes twice,
    `DependencyError` for a URL that cannot be read here.
    """
    files: list[str] = []
    problems = []
    for pattern in patterns:
        found = _matching(pattern) if is_pattern(pattern) else [pattern]
        if not found:
            problems.append(Problem("no-files", "matches no file", file=shorten(pattern, 300)))
        files += found
    if problems:
        raise InputError(problems)
    twice = sorted(file for file, times in Counter(files).items() if times > 1)
    if twice:
        raise UsageError(f"given more than once: {', '.join(twice)}")
    return files


def _matching(pattern: str) -> list[str]:
    if not is_url(pattern):
        return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))  # noqa: PTH113, PTH207
    with _remote(pattern):
        system, path = _fsspec().core.url_to_fs(pattern)
        return sorted(system.unstrip_protocol(found) for found in system.glob(path))


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise DependencyError(
            "reading from URLs needs fsspec, which is not installed: pip install "
            "'mwzeval[distributed]'"
        ) from None
    return fsspec


@contextmanager
def _remote(name: str) -> Iterator[None]:
    """Turn what goes wrong far away, in ways of each kind of place, into an `InputError`."""
    try:
        yield
    except (InputError, DependencyError):
        raise
    except ImportError as error:
        raise DependencyError(f"{shorten(name, 300)} cannot be read here: {error}") from None
    except OSError as error:
        raise unreadable(name, error.strerror or str(error)) from None
    except Exception as error:
        raise unreadable(name, f"{type(error).__name__}: {error}") from None


def content(path: str) -> bytes:
    """Return all of a file, decompressed. Raises `InputError`, `DependencyError`."""
    return b"".join(pieces(path))


def first_line(path: str) -> bytes:
    """Return the first line of a file, without its end if it is no line of sensible length."""
    begin = b""
    for piece in pieces(path):
        begin = (begin + piece).lstrip()
        if b"\n" in begin or len(begin) > SENSIBLE_LINE:
            break
    return begin.partition(b"\n")[0]


def lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) of each line that is not blank; memory is that of one line.

    Raises `InputError` when the file cannot be read to its end, is empty, or is not UTF-8.
    """
    number = 0
    some = False
    for number, line in enumerate(_split(pieces(path), path), start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            message = f"line {number}: byte {error.start} is not UTF-8 — save it as UTF-8"
            raise InputError(
                [Problem("not-json", f"not valid JSON: {message}", file=path)]
            ) from None
        if text.strip():
            some = True
            yield number, text
    if not some:
        raise InputError([Problem("empty-file", "the file is empty", file=path)])


def _split(read: Iterator[bytes], name: str) -> Iterator[bytes]:
    begun: list[bytes] = []
    length = 0
    for piece in read:
        first, *others = piece.split(b"\n")
        begun.append(first)
        length += len(first)
        for following in others:
            yield b"".join(begun)
            begun, length = [following], len(following)
        if length > LONGEST_LINE:
            raise unreadable(name, f"a line is longer than {LONGEST_LINE // 2**20} MB")
    if length:
        yield b"".join(begun)


def pieces(path: str) -> Iterator[bytes]:
    """Yield the content of a file, decompressed, piece by piece."""
    if is_url(path):
        with _remote(path), _fsspec().open(path, "rb") as stream:
            yield from decompressed(stream, path)
        return
    try:
        with Path(path).open("rb") as stream:
            yield from decompressed(stream, path)
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from None
    except ValueError as error:  # a NUL in the name
        raise unreadable(path, str(error)) from None


def decompressed(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield what is in a stream, as its name or first bytes say, piece by piece.

    Raises `InputError` when it is damaged or ends too early.
    """
    first = stream.read(PIECE)
    if name.endswith(".gz") or first.startswith(GZIP_MAGIC):
        yield from _members(stream, first, name, "gzip")
    elif name.endswith(".zst") or first.startswith(ZSTD_MAGIC):
        yield from _members(stream, first, name, "zstd")
    else:
        while first:
            yield first
            first = stream.read(PIECE)


def _members(stream: IO[bytes], read: bytes, name: str, kind: str) -> Iterator[bytes]:
    """Decompress gzip members or zstd frames one after the other; each must be whole."""
    import zstandard

    def new() -> Any:
        if kind == "zstd":
            return zstandard.ZstdDecompressor().decompressobj()
        return zlib.decompressobj(wbits=31)

    at_once = MOST_OF_ZSTD if kind == "zstd" else PIECE
    member = new()
    begun = True  # an empty file is no whole member
    try:
        while read:
            piece, read = read[:at_once], read[at_once:]
            yield member.decompress(piece)
            begun = not member.eof
            if member.eof:
                # What is behind the end of one is the beginning of the next.
                read = member.unused_data + read
            read = read or stream.read(PIECE)
            if member.eof and read:
                member = new()
    except (zlib.error, zstandard.ZstdError) as error:
        raise unreadable(name, f"not a complete {kind} file ({error})") from None
    if begun:
        raise unreadable(name, f"not a complete {kind} file (it ends too early)")
