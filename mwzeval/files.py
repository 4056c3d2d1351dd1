"""Reading JSON and JSON Lines, plain or compressed; writing files whole or not at all."""

from __future__ import annotations

import gzip
import json
import math
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from mwzeval.errors import InputError, MwzevalError, Problem, shorten

STANDARD_INPUT = "-"


GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
"""With these compressed files begin, whatever they are called; no JSON text does."""


class RepeatedKeys(dict[str, Any]):
    """A JSON object in which some keys were given more than once (the last value is kept)."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.repeated = sorted({key for key, _ in pairs if key in seen or seen.add(key)})  # type: ignore[func-returns-value]


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file (`-` is standard input), `.gz` and `.zst` decompressed.

    Raises `InputError` when the file cannot be read or its compression is damaged.
    """
    name = str(path)
    try:
        raw = _standard_input() if name == STANDARD_INPUT else Path(path).read_bytes()
    except OSError as error:
        raise unreadable(name, error.strerror or str(error)) from None
    except ValueError as error:  # a NUL in the name
        raise unreadable(name, str(error)) from None
    if name.endswith(".gz") or raw.startswith(GZIP_MAGIC):
        try:
            return gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise unreadable(name, f"not a complete gzip file ({error})") from None
    if name.endswith(".zst") or raw.startswith(ZSTD_MAGIC):
        return _decompress_zstd(raw, name)
    return raw


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()


def _decompress_zstd(raw: bytes, name: str) -> bytes:
    import zstandard

    content = []
    try:
        while raw:
            # One frame after the other, because only this tells whether the last one is whole.
            frame = zstandard.ZstdDecompressor().decompressobj()
            content.append(frame.decompress(raw))
            if not frame.eof:
                raise unreadable(name, "not a complete zstd file (it ends too early)")
            raw = frame.unused_data
    except zstandard.ZstdError as error:
        raise unreadable(name, f"not a complete zstd file ({error})") from None
    return b"".join(content)


def read_json(path: str | Path) -> Any:
    """Return the value of a JSON file. Raises `InputError` (see `parse_json`)."""
    return parse_json(read_text(path), str(path))


def parse_json_lines(text: str, name: str) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, value) for each line that is not blank. Raises `InputError`."""
    # Not `splitlines`: it also breaks at U+2028 and the like, which may stand in a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, parse_json(line, name, first_line=number)


def read_text(path: str | Path) -> str:
    """Return the text of a file that is not empty. Raises `InputError` if it is, or not UTF-8."""
    return decoded(read_bytes(path), path)


def decoded(raw: bytes, path: str | Path) -> str:
    """Return the text of a file that is not empty. Raises `InputError` if it is, or not UTF-8."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            [_not_json(path, f"line {line}: byte {error.start} is not UTF-8 — save it as UTF-8")]
        ) from None
    if not text.strip():
        raise InputError([Problem("empty-file", "the file is empty", file=str(path))])
    return text


def parse_json(text: str, name: str, first_line: int = 1) -> Any:
    """Return the value of a JSON text; objects with repeated keys come as `RepeatedKeys`.

    Raises `InputError` with line and column when it is not JSON (NaN and Infinity are not).
    """

    def refuse(constant: str) -> None:
        raise _NotANumberError(constant)

    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=refuse, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        line = error.lineno + first_line - 1
        message = f"line {line}, column {error.colno}: {error.msg}"
    except _NotANumberError as error:
        position = text.find(str(error))
        line = text.count("\n", 0, position) + first_line
        message = f"line {line}: {shorten(str(error))} is not a number that JSON can hold"
    except RecursionError:
        message = "nested too deeply to be a predictions file"
    except ValueError as error:  # an integer of more digits than Python converts
        message = str(error)
    raise InputError([_not_json(name, message)])


class _NotANumberError(Exception):
    pass


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _NotANumberError(digits)
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    return value if len(value) == len(pairs) else RepeatedKeys(pairs)


def _not_json(path: str | Path, detail: str) -> Problem:
    return Problem("not-json", f"not valid JSON: {detail}", file=str(path))


def unreadable(name: str, reason: str) -> InputError:
    """Return the error for a file that cannot be read."""
    return InputError([Problem("unreadable", f"cannot be read: {reason}", file=shorten(name, 300))])


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a whole file or nothing: a temporary file in the same folder, then a rename.

    A symbolic link keeps pointing where it points; a device or pipe is written directly.
    Raises `MwzevalError` when the place cannot be written.
    """
    # A lone surrogate has no UTF-8; as an escape it is what JSON would write.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    try:
        place = Path(path)
        if place.is_dir():
            raise MwzevalError(f"cannot write {shorten(str(path), 300)}: it is a directory")
        if place.exists() and not place.is_file():
            place.write_bytes(data)
            return
        target = Path(os.path.realpath(place))
        temporary = target.with_name(f".mwzeval-{uuid4().hex[:12]}.tmp")
        try:
            with temporary.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MwzevalError(f"cannot write {shorten(str(path), 300)}: {reason}") from None
