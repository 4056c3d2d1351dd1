"""Reading of files: bytes, decompressed and of limited size, lines, and patterns of names.

One limit holds for every file of every benchmark (`MWZEVAL_MAX_SIZE`). Names are those of files,
`-` for standard input, or URLs (`s3://bucket/run-*.jsonl.zst`, `memory://…`), which need the extra
`distributed` and the packages that fsspec names for their kind.
"""

from __future__ import annotations

import copy
import glob
import os
import re
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from mwzeval.errors import InputError, MwzevalError, Problem, UsageError, shorten
from mwzeval.libraries import required

if TYPE_CHECKING:
    from zipfile import ZipFile

STANDARD_INPUT = "-"

SIZE_VARIABLE = "MWZEVAL_MAX_SIZE"
DEFAULT_SIZE = 500_000_000
"""Bytes; the largest public file has half as many."""
UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
PARTS = 8
"""A line or an item of a file that is read in pieces has at most this share of the limit."""
MODELS = 16
"""A trained model may have so many times the limit: it is a file that takes its space on disk."""

COMPRESSED = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\0", ".zst": b"\x28\xb5\x2f\xfd"}
"""The first bytes of compressed files, whatever they are called; no JSON text begins with them."""
ZIP_MAGIC = b"PK\x03\x04"
ZSTD_METHOD = 93
"""The number of zstd in zip archives, which Python before 3.14 cannot read."""
COMPRESSED_PIECE = 2**10
"""Bytes that are decompressed at a time: even so few bytes of zstd may become 32 MB."""
PIECE = 2**16

SENSIBLE_LINE = 2**22
"""Bytes; the first line of a file that has one dialogue a line is shorter."""


def size_limit() -> int:
    """Return how many bytes a file may have once it is decompressed.

    Raises `UsageError` when `MWZEVAL_MAX_SIZE` is no size.
    """
    value = os.environ.get(SIZE_VARIABLE, "").strip().upper()
    if not value:
        return DEFAULT_SIZE
    size = re.fullmatch(r"([0-9]{1,12}) *([KMG]B|)", value, re.ASCII)
    if size is None or int(size[1]) == 0:
        raise UsageError(f'{SIZE_VARIABLE} is "{shorten(value)}", not a size such as 2GB or 800MB')
    return int(size[1]) * UNITS[size[2]]


def part_limit() -> int:
    """Return how many bytes a line or item may have in a file that is read piece by piece."""
    return size_limit() // PARTS


def too_large(name: str, what: str = "the file", limit: int | None = None) -> InputError:
    """Return the error for what is larger than `limit` bytes (None: those of a file)."""
    most = (size_limit() if limit is None else limit) / 10**6
    message = (
        f"{what} has more than {most:,.0f} MB (decompressed): is it another file? "
        f"If it is meant, raise the limit: {SIZE_VARIABLE}=2GB"
    )
    return InputError([Problem("too-large", message, file=shorten(name, 300))])


def unreadable(name: str, reason: str) -> InputError:
    """Return the error for a file that cannot be read."""
    return InputError([Problem("unreadable", f"cannot be read: {reason}", file=shorten(name, 300))])


def is_url(path: str) -> bool:
    """Tell whether a path names its kind of place, as `s3://…` does."""
    return "://" in path


def plain_name(name: str) -> str:
    """Return a name without the ending of a compressed file."""
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return name


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file, a URL or `-` (standard input), decompressed.

    Raises `InputError` when it cannot be read, is larger than the limit or damaged, and
    `DependencyError` for a URL where fsspec is missing.
    """
    check_size(path)
    return b"".join(_bounded(pieces(path), size_limit(), str(path)))


def read_model(path: str | Path) -> bytes:
    """Return the content of a file as it is. Raises `InputError`, also for what is no file."""
    name = str(path)
    with _opened(name) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise unreadable(name, "it is not a file")
        check_size(path, MODELS * size_limit())
        return stream.read()


def check_size(path: str | Path, limit: int | None = None) -> None:
    """Raise `InputError` when a file is larger than the limit, as far as is known unread."""
    name = str(path)
    try:
        status = None if name == STANDARD_INPUT or is_url(name) else Path(name).stat()
    except (OSError, ValueError):
        return  # reading it reports what is wrong
    if status and stat.S_ISREG(status.st_mode) and status.st_size > (limit or size_limit()):
        raise too_large(name, limit=limit)


def _bounded(read: Iterable[bytes], limit: int, name: str) -> Iterator[bytes]:
    size = 0
    for piece in read:
        size += len(piece)
        if size > limit:
            raise too_large(name)
        yield piece


def pieces(path: str | Path) -> Iterator[bytes]:
    """Yield the content of a file, a URL or `-`, decompressed, in pieces and without a limit.

    Callers compare what they join with `part_limit()`. Raises as `read_bytes`.
    """
    with _opened(str(path)) as stream:
        yield from decompressed(stream, str(path))


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    with _readable(name):
        if name == STANDARD_INPUT:
            if sys.stdin is None:
                raise unreadable(name, "standard input is closed")
            yield sys.stdin.buffer
        else:
            with _fsspec().open(name, "rb") if is_url(name) else Path(name).open("rb") as stream:
                yield stream


@contextmanager
def _readable(name: str, damage: str = "") -> Iterator[None]:
    """Turn whatever a library raises for a file into an `InputError`; `damage` says what it is."""
    try:
        yield
    except (MwzevalError, MemoryError):
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or damage or str(error) or type(error).__name__
        raise unreadable(name, reason) from None


def _fsspec() -> Any:
    return required("fsspec", "distributed", "reading from URLs needs fsspec")


def decompressed(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the content of a stream in pieces, decompressed as its name or first bytes say.

    There may be several members or frames. Raises `InputError` when one is damaged or incomplete.
    """
    piece = stream.read(COMPRESSED_PIECE)
    endings = [
        ending
        for ending, magic in COMPRESSED.items()
        if name.endswith(ending) or piece.startswith(magic)
    ]
    if not endings:
        while piece:
            yield piece
            piece = stream.read(PIECE)
        return
    import lzma

    import zstandard

    ending = endings[0]
    new: dict[str, Callable[[], Any]] = {
        ".gz": lambda: zlib.decompressobj(wbits=31),
        ".xz": lzma.LZMADecompressor,
        ".zst": lambda: zstandard.ZstdDecompressor().decompressobj(),
    }
    member = new[ending]()  # an empty file is no complete member
    with _readable(name, f"not a complete {ending} file (its content is damaged)"):
        while piece:
            member = member or new[ending]()
            yield member.decompress(piece)
            piece = member.unused_data or stream.read(COMPRESSED_PIECE)
            if member.eof:
                member = None
    if member:
        raise unreadable(name, f"not a complete {ending} file (it ends too early)")


def is_zip(path: str | Path) -> bool:
    """Tell whether a file begins like a zip; standard input is never looked into."""
    with suppress(OSError, ValueError):
        if str(path) != STANDARD_INPUT:
            with Path(path).open("rb") as stream:
                return stream.read(len(ZIP_MAGIC)) == ZIP_MAGIC
    return False


def zip_names(path: str | Path) -> list[str]:
    """Return the names in a zip. Raises `InputError` when it is damaged."""
    with _archive(path) as archive:
        return archive.namelist()


def read_zip(path: str | Path, wanted: Collection[str]) -> dict[str, bytes]:
    """Return the content of members of a zip, decompressed also if they are compressed files.

    `wanted` are names, or the last parts of names if no member has the whole name; of names that
    fit equally the first counts, and missing ones are left out. Raises `InputError` when the zip is
    damaged, or all of them together are larger than the limit.
    """
    from zipfile import ZIP_STORED

    with _archive(path) as archive:
        names = archive.namelist()
        found = {PurePosixPath(name).name: name for name in reversed(names)}
        found |= {name: name for name in names}
        limit = size_limit()
        contents = {}
        for name in wanted:
            if name not in found:
                continue
            member = archive.getinfo(found[name])
            stored = copy.copy(member)
            if is_zstd := member.compress_type == ZSTD_METHOD:
                # inspect_ai writes its logs in this way: read as they are, they are a zstd file.
                stored.compress_type, stored.file_size = ZIP_STORED, member.compress_size
                stored.CRC = None  # type: ignore[assignment]
            place = f"{path}/{name}"
            with archive.open(stored) as stream:
                content = b"".join(_bounded(decompressed(stream, place), limit, place))
            if is_zstd and zlib.crc32(content) != member.CRC:
                raise unreadable(str(path), f"{shorten(name)} does not fit its checksum")
            limit -= len(content)
            contents[name] = content
        return contents


@contextmanager
def _archive(path: str | Path) -> Iterator[ZipFile]:
    import zipfile  # not before it is needed: `--help` answers at once

    check_size(path)
    with (
        _readable(str(path), "not a complete zip archive, or of an unknown kind"),
        zipfile.ZipFile(path) as archive,
    ):
        yield archive


def not_utf8(path: str | Path, line: int, byte: int) -> Problem:
    """Return the problem of a byte, counted from 1 in its line, that no UTF-8 text has."""
    message = f"line {line}, byte {byte} of it is not UTF-8 — save the file as UTF-8"
    return Problem("not-utf8", message, file=str(path))


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that patterns stand for: those of a pattern sorted by name, in their order.

    Raises `InputError` for a pattern without any file, `UsageError` for a file that comes twice.
    """
    found = {pattern: _matching(pattern) for pattern in patterns}
    problems = [
        Problem("no-files", "matches no file", file=shorten(pattern, 300))
        for pattern, files in found.items()
        if not files
    ]
    if problems:
        raise InputError(problems)
    files = [file for pattern in patterns for file in found[pattern]]
    twice = sorted(file for file, times in Counter(files).items() if times > 1)
    if twice:
        raise UsageError(f"given more than once: {', '.join(twice)}")
    return files


def _matching(pattern: str) -> list[str]:
    # A file may be called "[1].json".
    if not glob.has_magic(pattern) or (not is_url(pattern) and Path(pattern).exists()):
        return [pattern]
    if not is_url(pattern):
        return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))  # noqa: PTH113, PTH207
    with _readable(pattern):
        system, path = _fsspec().core.url_to_fs(pattern)
        return sorted(system.unstrip_protocol(found) for found in system.glob(path))


def shortest_ends(paths: Sequence[str]) -> list[str]:
    """Return each file's name, with as much of its folders as tells it from the others.

    >>> shortest_ends(["runs/1/ours.json", "runs/2/ours.json", "runs/2/theirs.json"])
    ['1/ours.json', '2/ours.json', 'theirs.json']
    """
    parts = [PurePath(path).parts for path in paths]
    ends: dict[tuple[str, ...], str] = {}
    for length in range(1, max(map(len, parts), default=0) + 1):
        alike = Counter(own[-length:] for own in set(parts))
        for own in set(parts).difference(ends):
            if alike[own[-length:]] == 1:
                ends[own] = str(PurePath(*own[-length:]))
    return [ends.get(own, path) for own, path in zip(parts, paths, strict=True)]


def beginning(path: str, size: int, end: bytes | None = None) -> bytes:
    """Return the first bytes of the content of a file; with `end`, no more than are needed for it.

    Raises as `read_bytes`.
    """
    begin = bytearray()
    for piece in pieces(path):
        begin += piece
        if len(begin) >= size or (end and end in begin.lstrip()):
            break
    return bytes(begin[:size])


def first_line(path: str) -> bytes:
    """Return the first line of a file, or its beginning if the line is longer than is sensible."""
    return beginning(path, SENSIBLE_LINE, b"\n").lstrip().partition(b"\n")[0]


def lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) of each line that is not blank; memory is that of one line.

    Raises `InputError` when the file cannot be read to its end, is empty, or is not UTF-8.
    """
    is_empty = True
    for number, line in enumerate(_split(pieces(path), path), start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError([not_utf8(path, number, error.start + 1)]) from None
        if text.strip():
            is_empty = False
            yield number, text
    if is_empty:
        raise InputError([Problem("empty-file", "the file is empty", file=path)])


def _split(content: Iterator[bytes], name: str) -> Iterator[bytes | bytearray]:
    line, number, longest = bytearray(), 1, part_limit()
    for piece in chain(content, (b"\n",)):
        first, *others = piece.split(b"\n")
        line += first
        if len(line) > longest:
            raise too_large(name, f"line {number}", longest)
        if others:
            yield line
            for whole in others[:-1]:
                number += 1
                if len(whole) > longest:
                    raise too_large(name, f"line {number}", longest)
                yield whole
            line, number = bytearray(others[-1]), number + 1
