"""How everything that is read comes in: bytes, decompressed, and never more than the limit.

One limit holds for every file of every benchmark (`MWZEVAL_MAX_SIZE`). Plain paths and `-` need
nothing; URLs need the extra `distributed`, and the packages that fsspec names for their kind.
"""

from __future__ import annotations

import io
import os
import re
import stat
import struct
import sys
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from mwzeval.errors import DependencyError, InputError, Problem, UsageError, shorten
from mwzeval.libraries import required

if TYPE_CHECKING:
    from zipfile import ZipFile

STANDARD_INPUT = "-"

SIZE_VARIABLE = "MWZEVAL_MAX_SIZE"
DEFAULT_SIZE = 500_000_000
"""Bytes; the largest public file has half as many."""

PARTS = 8
"""A line or an item of a file that is read piece by piece has at most such a share of the limit."""

BYTES_PER_VALUE = 80
"""A JSON text may have one value for so many bytes of the limit: about what a small one takes in
memory, however short it is written."""

MODELS = 16
"""A trained model may have so many times the limit. It is a file that takes its room on disk."""

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
"""With these compressed files begin, whatever they are called; no JSON text does."""
ZIP_MAGIC = b"PK\x03\x04"

ZSTD_METHOD = 93
LOCAL_HEADER = struct.Struct("<26xHH")
"""What stands before a member of a zip: its last numbers are the lengths of name and extras."""

PIECE = 2**14
"""Bytes read at a time; few, because they may be many more when decompressed."""
PLAIN_PIECE = 2**16

MOST_OF_ZSTD = 2**10
"""Bytes of zstd decompressed at a time: even so few may be 32 MB."""

SMALL_FRAME = 2**25
"""Bytes that a zstd frame may say that it holds, to be decompressed by `PIECE`."""

UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def size_limit() -> int:
    """Return how many bytes a file may have once it is decompressed.

    Raises `UsageError` when `MWZEVAL_MAX_SIZE` is no size.
    """
    said = os.environ.get(SIZE_VARIABLE, "").strip().upper()
    if not said:
        return DEFAULT_SIZE
    size = re.fullmatch(r"([0-9]{1,12}) *([KMG]B|)", said, re.ASCII)
    if size is None or int(size[1]) == 0:
        raise UsageError(f'{SIZE_VARIABLE} is "{shorten(said)}", not a size such as 2GB or 800MB')
    return int(size[1]) * UNITS[size[2]]


def part_limit() -> int:
    """Return how many bytes a line or item may have in a file that is read piece by piece."""
    return size_limit() // PARTS


def most_values() -> int:
    """Return how many values a JSON text may have."""
    return size_limit() // BYTES_PER_VALUE


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


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file, a URL or `-` (standard input), `.gz` and `.zst` decompressed.

    Raises `InputError` when it cannot be read, is larger than the limit or damaged, and
    `DependencyError` for a URL that cannot be read here.
    """
    name = str(path)
    return b"".join(_bounded(pieces(name, check_size(name)), size_limit(), name))


def read_model(path: str | Path) -> bytes:
    """Return the content of a file as it is. Raises `InputError`, also for what is no file."""
    name = str(path)
    limit = MODELS * size_limit()
    with _opened(name) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise unreadable(name, "it is not a file")
        if status.st_size > limit:
            raise too_large(name, limit=limit)
        try:
            # Not `limit`, for which room would be made whatever the file has.
            return stream.read(status.st_size)
        except MemoryError:
            raise unreadable(name, f"its {status.st_size:,} bytes do not fit into memory") from None


def check_size(path: str | Path) -> int | None:
    """Return how many bytes a file has; None where that is not known unread.

    Raises `InputError` when it is larger than the limit.
    """
    name = str(path)
    try:
        status = None if name == STANDARD_INPUT or is_url(name) else Path(name).stat()
    except (OSError, ValueError):
        return None  # reading it says what is wrong
    if status is None or not stat.S_ISREG(status.st_mode):
        return None
    if status.st_size > size_limit():
        raise too_large(name)
    return status.st_size


def _bounded(read: Iterable[bytes], limit: int, name: str) -> Iterator[bytes]:
    size = 0
    for piece in read:
        size += len(piece)
        if size > limit:
            raise too_large(name)
        yield piece


def pieces(path: str | Path, size: int | None = None) -> Iterator[bytes]:
    """Yield the content of a file, a URL or `-`, decompressed, piece by piece and without end.

    What is put together of them is to be held against `part_limit()`. The `size` of a file that is
    wanted as a whole, in bytes, makes one piece of it when it is not compressed. Raises as
    `read_bytes`.
    """
    name = str(path)
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise unreadable(name, "standard input is closed")
        yield from decompressed(sys.stdin.buffer, name)
    elif is_url(name):
        with remote(name), required_fsspec().open(name, "rb") as stream:
            yield from decompressed(stream, name)
    else:
        with _opened(name) as stream:
            yield from decompressed(stream, name, size)


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    try:
        with Path(name).open("rb") as stream:
            yield stream
    except OSError as error:
        raise unreadable(name, error.strerror or str(error)) from None
    except ValueError as error:  # a NUL in the name
        raise unreadable(name, str(error)) from None


def decompressed(stream: IO[bytes], name: str, size: int | None = None) -> Iterator[bytes]:
    """Yield what is in a stream, as its name or first bytes say, piece by piece.

    `size` is that of a file which may come as one piece. Raises `InputError` when it is damaged or
    ends too early.
    """
    first = stream.read(PIECE)
    if name.endswith(".gz") or first.startswith(GZIP_MAGIC):
        yield from _members(stream, first, name, "gzip")
    elif name.endswith(".zst") or first.startswith(ZSTD_MAGIC):
        yield from _members(stream, first, name, "zstd")
    else:
        if size is not None and size > len(first):
            # In one piece nothing has to be put together, which takes as long as reading does.
            stream.seek(0)
            first = stream.read(size)
        while first:
            yield first
            first = stream.read(PLAIN_PIECE)


def _members(stream: IO[bytes], read: bytes, name: str, kind: str) -> Iterator[bytes]:
    """Decompress gzip members or zstd frames one after the other; each must be whole."""
    import zstandard

    def new(begin: bytes) -> tuple[Any, int]:
        """Return what decompresses a member, and how many bytes of it at a time."""
        if kind == "gzip":
            return zlib.decompressobj(wbits=31), PIECE
        size = _small_size(begin)
        if size is None:
            return zstandard.ZstdDecompressor().decompressobj(), MOST_OF_ZSTD
        return zstandard.ZstdDecompressor().decompressobj(write_size=size), PIECE

    member, at_once = new(read)
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
                member, at_once = new(read)
    except (zlib.error, zstandard.ZstdError):
        raise unreadable(name, f"not a complete {kind} file (its content is damaged)") from None
    if begun:
        raise unreadable(name, f"not a complete {kind} file (it ends too early)")


def _small_size(frame: bytes) -> int | None:
    """Return what a zstd frame says that it holds, in bytes, if that may come at once anyway."""
    import zstandard

    try:
        size: int = zstandard.frame_content_size(frame)
    except zstandard.ZstdError:  # it has not begun in full, or is none
        return None
    return size if 0 < size <= SMALL_FRAME else None


def is_zip(path: str | Path) -> bool:
    """Tell whether a file begins like a zip; standard input is never looked into."""
    if str(path) == STANDARD_INPUT:
        return False
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(ZIP_MAGIC)) == ZIP_MAGIC
    except (OSError, ValueError):
        return False


def zip_names(path: str | Path) -> list[str]:
    """Return the names in a zip. Raises `InputError` when it is damaged."""
    check_size(path)
    with _archive(path) as archive:
        return archive.namelist()


def read_zip(path: str | Path, wanted: Collection[str]) -> dict[str, bytes]:
    """Return the content of members of a zip, decompressed also if they are `.gz` or `.zst`.

    `wanted` are names; what is not there is left out, and so are the folders before a name that is
    not there in full. Of names that fit equally the first counts. Raises `InputError` when it is
    damaged, or all of them together are larger than the limit.
    """
    check_size(path)
    with _archive(path) as archive:
        names = archive.namelist()
        found = {PurePosixPath(name).name: name for name in reversed(names)}
        found |= {name: name for name in names}
        limit = size_limit()
        contents = {}
        for name in wanted:
            if name in found:
                place = f"{path}/{name}"
                with _member(archive, found[name]) as stream:
                    content = b"".join(_bounded(decompressed(stream, place), limit, place))
                _check_sum(archive, found[name], content)
                limit -= len(content)
                contents[name] = content
        return contents


@contextmanager
def _member(archive: ZipFile, name: str) -> Iterator[IO[bytes]]:
    """Open a member of a zip; one that zstd has made smaller comes as a zstd file.

    Python before 3.14 cannot read those, which is how inspect_ai writes its logs.
    """
    member = archive.getinfo(name)
    if member.compress_type != ZSTD_METHOD:
        with archive.open(member) as stream:
            yield stream
        return
    assert archive.fp is not None
    archive.fp.seek(member.header_offset)
    header = archive.fp.read(LOCAL_HEADER.size)
    if len(header) < LOCAL_HEADER.size:
        raise unreadable(str(archive.filename), f"{shorten(name)} begins behind its end")
    lengths = LOCAL_HEADER.unpack(header)
    archive.fp.seek(sum(lengths), os.SEEK_CUR)
    yield io.BytesIO(archive.fp.read(member.compress_size))


def _check_sum(archive: ZipFile, name: str, content: bytes) -> None:
    """Raise `InputError` where what zstd had made smaller is not what was written."""
    member = archive.getinfo(name)
    if member.compress_type == ZSTD_METHOD and zlib.crc32(content) != member.CRC:
        reason = f"not a complete zip archive ({shorten(name)} does not fit its checksum)"
        raise unreadable(str(archive.filename), reason)


@contextmanager
def _archive(path: str | Path) -> Iterator[ZipFile]:
    # Not before they are needed: `--help` answers at once.
    import lzma
    import zipfile

    damaged = (
        *(EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
        # A version or method that Python lacks, a password, names or lengths that make no sense.
        *(NotImplementedError, RuntimeError, ValueError, LookupError),
    )
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except OSError as error:
        raise unreadable(str(path), error.strerror or "not a complete zip archive") from None
    except damaged:
        raise unreadable(str(path), "not a complete zip archive, or of an unknown kind") from None


def required_fsspec() -> Any:
    """Return fsspec. Raises `DependencyError` when it is not installed."""
    return required("fsspec", "distributed", "reading from URLs needs fsspec")


@contextmanager
def remote(name: str) -> Iterator[None]:
    """Turn what goes wrong far away, in ways of each kind of place, into an `InputError`.

    Raises `DependencyError` when a library for that kind of place is missing.
    """
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
