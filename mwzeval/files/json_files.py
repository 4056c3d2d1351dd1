"""Reading of JSON and JSON Lines: text, values, and where they are wrong."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mwzeval.errors import DataError, InputError, Problem, shorten
from mwzeval.files.reading import (
    SIZE_VARIABLE,
    ZIP_MAGIC,
    beginning,
    not_utf8,
    read_bytes,
    read_zip,
    size_limit,
)

BYTES_PER_VALUE = 80
"""A JSON text may have one value for so many bytes of the limit: about what a small one takes in
memory, however short it is written."""
FEW_CHARACTERS = 1_000_000
"""In a JSON text that is not longer, values are not counted."""
VALUE_BYTES = 2**16
"""How much of a file is read to recognise it: its header, or the first of its dialogues."""


class RepeatedKeys(dict[str, Any]):
    """A JSON object in which some keys were given more than once (the last value is kept)."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        times = Counter(key for key, _ in pairs)
        self.repeated = sorted(key for key in times if times[key] > 1)


def read_json(path: str | Path) -> Any:
    """Return the value of a JSON file. Raises `InputError` (see `parse_json`)."""
    return parse_json(read_text(path), str(path))


@contextmanager
def expecting(expected: str, place: str) -> Iterator[None]:
    """Turn errors that a value of another shape causes into a `DataError` about its place."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(f"{place}: expected {expected}") from error


def data_bytes(path: Path) -> bytes:
    """Return the content of a file of a corpus; of `x.json.zip` that of `x.json` in it.

    Raises `DataError` when it cannot be read.
    """
    try:
        if path.suffix != ".zip":
            return read_bytes(path)
        name = path.name.removesuffix(".zip")
        members = read_zip(path, [name])
    except InputError as error:
        raise DataError(str(error)) from None
    if name not in members:
        raise DataError(f"{path}: there is no {name} inside")
    return members[name]


def read_data(path: Path) -> Any:
    """Return the value of a JSON file of a corpus, perhaps zipped. Raises `DataError`."""
    return parse_data(data_bytes(path), path)


def parse_data(raw: bytes, path: Path) -> Any:
    """Return the value of JSON that was read from a file of a corpus. Raises `DataError`."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        pass
    try:  # again, slower, for the place of the error
        return parse_json(decoded(raw, path), str(path))
    except InputError as error:
        raise DataError(str(error)) from None


def parse_json_lines(text: str, name: str, *, constants: bool = False) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, value) for each line that is not blank; see `parse_json`."""
    # Not `splitlines`: it also breaks at U+2028 and the like, which may stand in a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, parse_json(line, name, first_line=number, constants=constants)


def read_text(path: str | Path) -> str:
    """Return the text of a file that is not empty. Raises `InputError` if it is, or not UTF-8."""
    return decoded(read_bytes(path), path)


def table_rows(path: Path, columns: int) -> Iterator[list[str]]:
    """Yield the rows of a tab-separated table that comes with mwzeval; `#` begins a comment.

    Raises `DataError` for a row of another width, or with an empty cell.
    """
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if line and not line.startswith("#"):
            row = line.split("\t")
            if len(row) != columns or not all(map(str.strip, row)):
                raise DataError(f"{path}, line {number}: not {columns} columns with text")
            yield row


def decoded(raw: bytes, path: str | Path) -> str:
    """Return the text of a file that is not empty. Raises `InputError` if it is, or not UTF-8."""
    if raw.startswith(ZIP_MAGIC):
        message = "is a zip archive: unpack it, and name the file that is in it"
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
    """Return the value of a JSON text; objects with repeated keys come as `RepeatedKeys`.

    With `constants`, NaN and Infinity are numbers, as Python's own writer has them. Raises
    `InputError` with line and column when it is not JSON, and when it has more values than are
    read into memory.
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
        message = f"line {line}: {shorten(str(error))} is not a number that JSON can hold"
    except RecursionError:
        message = "nested too deeply to be read"
    except ValueError:
        message = f"an integer has more than {sys.get_int_max_str_digits()} digits"
    raise InputError([Problem("not-json", f"not valid JSON: {message}", file=name)])


CLOSING = {"{": "}", "[": "]"}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|\Z)|[][{},]', re.DOTALL)
"""What can end a value: a text, perhaps cut off, or a bracket or comma that is in none."""


def parse_beginning(text: str) -> Any:
    """Return the first value of a JSON text that may be cut off anywhere, as far as it is there.

    Brackets that are open at the last comma are closed there. None when it is not JSON.
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
    """Raise `InputError` when a JSON text has too many values; they are told by the commas."""
    most = size_limit() // BYTES_PER_VALUE
    if len(text) > max(FEW_CHARACTERS, most) and text.count(",") > most:
        message = (
            f"has more than {most:,} values: is it another file? "
            f"If it is meant, raise the limit: {SIZE_VARIABLE}=2GB"
        )
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
    """Return the JSON value that a file begins with, or as much of it as its first bytes have.

    Of JSON Lines it is the first line; None when it is no JSON. Raises `InputError` when the file
    cannot be read.
    """
    return parse_beginning(beginning(path, VALUE_BYTES).decode("utf-8-sig", "ignore"))
