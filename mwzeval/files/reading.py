"""Reading of files: decompressed bytes of limited size, lines, JSON, and file name patterns.

One limit applies to every file of every benchmark (`MWZEVAL_MAX_SIZE`). A file name is a path, `-`
for standard input, or a URL (`s3://bucket/run-*.jsonl.zst`, `memory://…`). URLs need the extra
`distributed` and the packages that fsspec requires for the kind of URL.
"""

from __future__ import annotations

import copy
import glob
import json
import math
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

from mwzeval.errors import DataError, InputError, MwzevalError, Problem, UsageError, shorten
from mwzeval.libraries import required

if TYPE_CHECKING:
    from zipfile import ZipFile

STANDARD_INPUT = "-"

SIZE_VARIABLE = "MWZEVAL_MAX_SIZE"
DEFAULT_SIZE = 500_000_000
"""The default size limit in bytes; the largest public file is half as large."""
UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
PARTS = 8
"""If a file is read in pieces, the size limit of a line or item is the size limit of the file
divided by this number."""
MODELS = 16
"""The size limit of a trained model is the size limit of other files times this number."""

COMPRESSED = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\0", ".zst": b"\x28\xb5\x2f\xfd"}
"""The first bytes of compressed files, whatever their names; no JSON text begins with them."""
ZIP_MAGIC = b"PK\x03\x04"
ZSTD_METHOD = 93
"""The code of zstd compression in zip archives, which Python before 3.14 cannot read."""
COMPRESSED_PIECE = 2**10
"""The number of bytes that are decompressed at a time; zstd may expand even this number of bytes to
32 MB."""
PIECE = 2**16

SENSIBLE_LINE = 2**22
"""The usual maximum size in bytes of the first line in a file with one dialogue per line."""


def size_limit() -> int:
    """Return the maximum number of bytes of a decompressed file.

    Raises `UsageError` if `MWZEVAL_MAX_SIZE` is not a valid size.
    """
    value = os.environ.get(SIZE_VARIABLE, "").strip().upper()
    if not value:
        return DEFAULT_SIZE
    size = re.fullmatch(r"([0-9]{1,12}) *([KMG]B|)", value, re.ASCII)
    if size is None or int(size[1]) == 0:
        raise UsageError(f'{SIZE_VARIABLE} is "{shorten(value)}", not a size such as 2GB or 800MB')
    return int(size[1]) * UNITS[size[2]]


def part_limit() -> int:
    """Return the maximum number of bytes of a line or item, for files that are read in pieces."""
    return size_limit() // PARTS


def too_large(name: str, what: str = "the file", limit: int | None = None) -> InputError:
    """Return the error for data larger than `limit` bytes (None: the maximum size of a file)."""
    most = (size_limit() if limit is None else limit) / 10**6
    message = (
        f"{what} has more than {most:,.0f} MB (decompressed): if it is the right file, set "
        f"{SIZE_VARIABLE}=2GB"
    )
    return InputError([Problem("too-large", message, file=shorten(name, 300))])


def unreadable(name: str, reason: str) -> InputError:
    """Return the error for a file that cannot be read."""
    return InputError([Problem("unreadable", f"cannot be read: {reason}", file=shorten(name, 300))])


def is_url(path: str) -> bool:
    """Return whether a path is a URL such as `s3://…`."""
    return "://" in path


def plain_name(name: str) -> str:
    """Return a name without the suffix of a compressed file."""
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return name


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file, a URL or `-` (standard input), decompressed.

    Raises `InputError` if the file cannot be read, is damaged or exceeds the size limit. Raises
    `DependencyError` if a URL is given but fsspec is not installed.
    """
    check_size(path)
    return b"".join(_bounded(pieces(path), size_limit(), str(path)))


def read_model(path: str | Path) -> bytes:
    """Return the unchanged content of a file.

    Raises `InputError` if the file cannot be read, or is a folder or device.
    """
    name = str(path)
    with _opened(name) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise unreadable(name, "it is not a file")
        check_size(path, MODELS * size_limit())
        return stream.read()


def check_size(path: str | Path, limit: int | None = None) -> None:
    """Raise `InputError` if a file exceeds the limit; this function does not read the file."""
    name = str(path)
    try:
        status = None if name == STANDARD_INPUT or is_url(name) else Path(name).stat()
    except (OSError, ValueError):
        return  # reading it reports the error
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
    """Yield the decompressed content of a file, a URL or `-` in pieces, without a size limit.

    A caller that joins pieces must compare the size of the result with `part_limit()`. Raises the
    errors of `read_bytes`.
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
    """Convert all errors of libraries about a file to `InputError`; `damage` is the reason."""
    try:
        yield
    except (MwzevalError, MemoryError):
        raise
    except IsADirectoryError:
        raise unreadable(name, "it is a folder; name the files in it") from None
    except Exception as error:
        reason = getattr(error, "strerror", None) or damage or str(error) or type(error).__name__
        raise unreadable(name, reason) from None


def _fsspec() -> Any:
    return required("fsspec", "distributed", "reading from URLs needs fsspec")


def decompressed(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the content of a stream in pieces, decompressed according to its name or first bytes.

    A compressed stream may have several members or frames. Raises `InputError` if a member or frame
    is damaged or incomplete.
    """
    piece = stream.read(COMPRESSED_PIECE)
    known = COMPRESSED.items()
    endings = [end for end, magic in known if name.endswith(end) or piece.startswith(magic)]
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
    member = new[ending]()  # an empty file is not a complete member
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
    """Return whether a file begins like a zip archive; False for standard input."""
    with suppress(OSError, ValueError):
        if str(path) != STANDARD_INPUT:
            with Path(path).open("rb") as stream:
                return stream.read(len(ZIP_MAGIC)) == ZIP_MAGIC
    return False


def zip_names(path: str | Path) -> list[str]:
    """Return the names in a zip. Raises `InputError` if the archive is damaged."""
    with _archive(path) as archive:
        return archive.namelist()


def read_zip(path: str | Path, wanted: Collection[str]) -> dict[str, bytes]:
    """Return the content of members of a zip archive; compressed members are also decompressed.

    `wanted` has the names of archive members, or the last parts of these names; missing members are
    ignored. Raises `InputError` if the archive is damaged, or if the total size of the members
    exceeds the limit.
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
                # inspect_ai compresses its logs in this way; the stored bytes are a zstd file.
                stored.compress_type, stored.file_size = ZIP_STORED, member.compress_size
                stored.CRC = None  # type: ignore[assignment]
            place = f"{path}/{name}"
            with archive.open(stored) as stream:
                content = b"".join(_bounded(decompressed(stream, place), limit, place))
            if is_zstd and zlib.crc32(content) != member.CRC:
                raise unreadable(str(path), f"{shorten(name)} does not match its checksum")
            limit -= len(content)
            contents[name] = content
        return contents


@contextmanager
def _archive(path: str | Path) -> Iterator[ZipFile]:
    import zipfile  # imported here to keep `--help` fast

    check_size(path)
    damage = "not a complete zip archive, or of an unsupported kind"
    with _readable(str(path), damage), zipfile.ZipFile(path) as archive:
        yield archive


def not_utf8(path: str | Path, line: int, byte: int) -> Problem:
    """Return the message about a byte that is not UTF-8; the position in the line counts from 1."""
    message = f"line {line}, byte {byte}: not UTF-8 — save the file as UTF-8"
    return Problem("not-utf8", message, file=str(path))


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that match the patterns, sorted by name within each pattern.

    Raises `InputError` if a pattern matches no file, and `UsageError` if a file occurs twice.
    """
    found = {pattern: _matching(pattern) for pattern in patterns}
    if empty := [shorten(pattern, 300) for pattern, files in found.items() if not files]:
        raise InputError(Problem("no-files", "matches no file", file=pattern) for pattern in empty)
    files = [file for pattern in patterns for file in found[pattern]]
    twice = sorted(file for file, times in Counter(files).items() if times > 1)
    if twice:
        raise UsageError(f"given more than once: {', '.join(twice)}")
    return files


def _matching(pattern: str) -> list[str]:
    # A file may have the name "[1].json".
    if not glob.has_magic(pattern) or (not is_url(pattern) and Path(pattern).exists()):
        return [pattern]
    if not is_url(pattern):
        return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))  # noqa: PTH113, PTH207
    with _readable(pattern):
        system, path = _fsspec().core.url_to_fs(pattern)
        return sorted(system.unstrip_protocol(found) for found in system.glob(path))


def shortest_ends(paths: Sequence[str]) -> list[str]:
    """Return each file's name, with only the folders that are needed to distinguish the files.

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
    """Return at most `size` bytes from the beginning of a file, and stop reading after `end`."""
    begin = bytearray()
    for piece in pieces(path):
        begin += piece
        if len(begin) >= size or (end and end in begin.lstrip()):
            break
    return bytes(begin[:size])


def first_line(path: str) -> bytes:
    """Return the first line of a file, or its beginning if the line exceeds `SENSIBLE_LINE`."""
    return beginning(path, SENSIBLE_LINE, b"\n").lstrip().partition(b"\n")[0]


def lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) of each line that is not blank; one line is in memory at a time.

    Raises `InputError` if the file cannot be read to its end, is empty, or is not UTF-8.
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


BYTES_PER_VALUE = 80
"""The maximum number of values in a JSON text is the size limit divided by this number, which is
about the memory in bytes that a small value needs."""
FEW_CHARACTERS = 1_000_000
"""In JSON texts shorter than this, values are not counted."""
VALUE_BYTES = 2**16
"""The number of bytes read to recognize a file, which are enough for its header or its first
dialogue."""


class RepeatedKeys(dict[str, Any]):
    """A JSON object in which keys occur more than once; the last value of such a key is used."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        times = Counter(key for key, _ in pairs)
        self.repeated = sorted(key for key in times if times[key] > 1)


def read_json(path: str | Path) -> Any:
    """Return the value of a JSON file. Raises `InputError` (see `parse_json`)."""
    return parse_json(read_text(path), str(path))


def json_files(path: str, but: Collection[str] = ()) -> list[str]:
    """Return the JSON files in a folder, sorted, or `path` itself if it is not a folder.

    Files may be compressed. Hidden files, and files with a name in `but`, are ignored.
    """
    if path == STANDARD_INPUT or is_url(path) or not Path(path).is_dir():
        return [path]
    names = {file: plain_name(file.name) for file in Path(path).glob("[!.]*.json*")}
    return sorted(
        str(file)
        for file, name in names.items()
        if name.endswith(".json") and name not in but and file.is_file()
    )


@contextmanager
def expecting(expected: str, place: str) -> Iterator[None]:
    """Convert an error about a value of the wrong type to a `DataError` that names the location."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(f"{place}: expected {expected}") from error


def data_bytes(path: Path) -> bytes:
    """Return the content of a file of a corpus; for `x.json.zip`, the content of `x.json` in it."""
    try:
        if path.suffix != ".zip":
            return read_bytes(path)
        name = path.name.removesuffix(".zip")
        members = read_zip(path, [name])
    except InputError as error:
        raise DataError(str(error)) from None
    if name not in members:
        raise DataError(f"{path} contains no {name}")
    return members[name]


def read_data(path: Path) -> Any:
    """Return the value of a JSON file of a corpus, which may be zipped. Raises `DataError`."""
    return parse_data(data_bytes(path), path)


def parse_data(raw: bytes, path: Path) -> Any:
    """Return the value of a JSON text from a file of a corpus. Raises `DataError`."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        pass
    try:  # parse again (this is slower) to find the position of the error
        return parse_json(decoded(raw, path), str(path))
    except InputError as error:
        raise DataError(str(error)) from None


def parse_json_lines(text: str, name: str, *, constants: bool = False) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, value) for each line that is not blank; see `parse_json`."""
    # `splitlines` would also break at U+2028 and similar characters, which may be in JSON strings.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, parse_json(line, name, first_line=number, constants=constants)


def read_text(path: str | Path) -> str:
    """Return the text of a file. Raises `InputError` if the file is empty or not UTF-8."""
    return decoded(read_bytes(path), path)


def table_rows(path: Path, columns: int) -> Iterator[list[str]]:
    """Yield the rows of a tab-separated table of the package; `#` begins a comment.

    Raises:
        DataError: If a row has the wrong number of cells or contains an empty cell.
    """
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if line and not line.startswith("#"):
            row = line.split("\t")
            if len(row) != columns or not all(map(str.strip, row)):
                raise DataError(f"{path}, line {number}: expected {columns} columns with text")
            yield row


def decoded(raw: bytes, path: str | Path) -> str:
    """Return the text of a file's content.

    Raises `InputError` if the content is empty or not UTF-8.
    """
    if raw.startswith(ZIP_MAGIC):
        message = "is a zip archive: unpack it, and name the file inside"
        raise InputError([Problem("zip", message, file=str(path))])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        byte = error.start - raw.rfind(b"\n", 0, error.start)
        raise InputError([not_utf8(path, line, byte)]) from None
    if not text.strip():
        raise InputError([Problem("empty-file", "the file is empty", file=str(path))])
    return text


def parse_json(text: str, name: str, first_line: int = 1, *, constants: bool = False) -> Any:
    """Return the value of a JSON text; objects with repeated keys become `RepeatedKeys`.

    With `constants`, NaN and Infinity are numbers, as in the output of Python's `json`.

    Raises:
        InputError: If the text is not JSON or has too many values; the message states line and
            column.
    """
    check_values(text, name)
    of_constant = float if constants else _finite
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=of_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        line = error.lineno + first_line - 1
        message = f"line {line}, column {error.colno}: {error.msg.removesuffix(' starting at')}"
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
            message += " — the file may be cut off"
    except _NotANumberError as error:
        line = text.count("\n", 0, text.find(str(error))) + first_line
        message = f"line {line}: {shorten(str(error))} is not a valid JSON number"
    except RecursionError:
        message = "nested too deeply to be read"
    except ValueError:
        digits = sys.get_int_max_str_digits()
        integer = re.search(rf"\d{{{digits + 1}}}", text)
        line = text.count("\n", 0, integer.start() if integer else 0) + first_line
        message = f"line {line}: an integer has more than {digits} digits"
    raise InputError([Problem("not-json", f"not valid JSON: {message}", file=name)])


CLOSING = {"{": "}", "[": "]"}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|\Z)|[][{},]', re.DOTALL)
"""The tokens at which a JSON value can end: a (possibly incomplete) string, a bracket or a
comma."""


def parse_beginning(text: str) -> Any:
    """Return the first value of a JSON text that may be cut off, without its incomplete parts.

    Brackets that are still open at the last comma are closed at this position. Returns None if the
    text does not begin like JSON.
    """
    closing: list[str] = []
    end = 0
    for token in _TOKEN.finditer(text):
        if token[0] in CLOSING:
            closing.append(CLOSING[token[0]])
        elif token[0] in "}]":
            del closing[-1:]
        elif token[0] != ",":
            continue
        end = token.start() if token[0] == "," else token.end()
        if not closing:
            break
    try:
        return json.loads(text[:end] + "".join(reversed(closing)))
    except (ValueError, RecursionError):
        return None


def check_values(text: str, name: str) -> None:
    """Raise `InputError` if a JSON text has too many values, as estimated from its commas."""
    most = size_limit() // BYTES_PER_VALUE
    if len(text) > max(FEW_CHARACTERS, most) and text.count(",") > most:
        message = f"has more than {most:,} values: if it is the right file, set {SIZE_VARIABLE}=2GB"
        raise InputError([Problem("too-many-values", message, file=name)])


class _NotANumberError(Exception):
    pass


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _NotANumberError(digits)
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    return value if len(value) == len(pairs) else RepeatedKeys(pairs)


def beginning_value(path: str) -> Any:
    """Return the (possibly incomplete) first JSON value of a file; None if it is not JSON."""
    return parse_beginning(beginning(path, VALUE_BYTES).decode("utf-8-sig", "ignore"))
