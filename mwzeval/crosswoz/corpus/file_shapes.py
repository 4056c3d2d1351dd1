"""Checks the encoding and shape of CrossWOZ's files when they are read.

After this check, other modules need not check whether a value is a text or a number. A field
without a value is allowed and means that the value is unknown.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.acts import parse_act
from mwzeval.crosswoz.corpus.names import (
    ADDRESS,
    DISHES,
    DURATION,
    HOTEL_TYPE,
    NAME,
    NEARBY,
    NUMBER_SLOTS,
    OPEN_HOURS,
    PHONE,
    SERVICES,
    STATION,
)
from mwzeval.errors import DataError, InputError, Problem, shorten
from mwzeval.files.reading import decoded, parse_data
from mwzeval.scores.findings import found

CHINESE = re.compile("[\u4e00-\u9fff]")
ESCAPED_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""The JSON escape of a surrogate, alone or in a pair."""


def is_gbk(raw: bytes) -> bool:
    """Return whether bytes that are not UTF-8 are Chinese text in GBK (or all of GB 18030)."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return False
    try:
        return CHINESE.search(raw.decode("gb18030")) is not None
    except UnicodeDecodeError:
        return False


def gbk_message(name: str) -> str:
    """Return the error message about a file that is encoded in GBK."""
    return (
        "the file is in GBK (GB 18030), but must be UTF-8: convert it, for example with `iconv "
        f"-f GB18030 -t UTF-8 {name} > utf8-{Path(name).name}`"
    )


def chinese_text(raw: bytes, name: str) -> str:
    """Return the text of a file. Raises `InputError` if the file is empty or not UTF-8."""
    if is_gbk(raw):
        raise InputError([Problem("not-utf8", gbk_message(name), file=name)])
    return decoded(raw, name)


def chinese_data(raw: bytes, path: Path) -> Any:
    """Return the content of a JSON file of the corpus; all texts in the content are valid Unicode.

    Raises `DataError` if the file is not JSON in UTF-8 or contains a lone surrogate.
    """
    if is_gbk(raw):
        raise DataError(f"{path}: {gbk_message(path.name)}")
    plain = parse_data(raw, path)
    if ESCAPED_HALF.search(raw):
        check_texts(plain, str(path))
    return plain


def check_texts(plain: Any, place: str) -> None:
    """Raise `DataError` with the location if a text has a lone surrogate."""
    if isinstance(plain, str):
        try:
            plain.encode()
        except UnicodeEncodeError:
            message = f'found "{shorten(plain)}", which contains an unpaired surrogate'
            raise DataError(f"{place}: expected text, {message}") from None
    elif isinstance(plain, dict):
        for key, value in plain.items():
            check_texts(key, place)
            check_texts(value, f"{place}, {shorten(key)}")
    elif isinstance(plain, list):
        for number, value in enumerate(plain):
            check_texts(value, f"{place}, {number}")


TEXTS = (NAME, ADDRESS, PHONE, STATION, DURATION, OPEN_HOURS, HOTEL_TYPE)
LISTS = (DISHES, SERVICES, *NEARBY.values())
LARGEST = 10**9
"""The upper limit of prices (in yuan) and ratings."""
Table = list[list[Any]]
"""The venues of a domain as in the files: a list of [name, record]."""


class ShapeError(ValueError):
    """The content of a file is invalid; the message begins with the location."""


def checked_rows(rows: Any) -> Table:
    """Return the rows of a database table as pairs of a name and a record.

    Raises `ShapeError` with the venue, the field and the invalid value.
    """
    if not isinstance(rows, list) or not rows:
        raise ShapeError(f"expected a list of [name, record], {found(rows)}")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 2:
            raise ShapeError(f"venue {number}: expected [name, record], {found(row)}")
        name, record = row
        if not isinstance(name, str) or not name:
            raise ShapeError(f"venue {number}: expected a name, {found(name)}")
        if not isinstance(record, dict):
            raise ShapeError(f'venue "{shorten(name)}": expected an object, {found(record)}')
        for slot, value in record.items():
            if (expected := _unmet(slot, value)) is not None:
                what = f"expected {expected} or null, {found(value)}"
                raise ShapeError(f'venue "{shorten(name)}", {slot}: {what}')
    return rows


def _unmet(slot: str, value: Any) -> str | None:
    """Return the requirement that a slot's value violates, None if there is none."""
    if value is None:
        return None
    if slot in TEXTS:
        return None if isinstance(value, str) else "text"
    if slot in LISTS:
        return None if is_texts(value) else "a list of texts"
    if slot in NUMBER_SLOTS:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number and 0 <= value <= LARGEST else f"a number up to {LARGEST:,}"
    return None


def is_texts(value: Any) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def checked_acts(plain: Any) -> tuple[str, ...]:
    """Return the acts of a vocabulary, each in its canonical spelling.

    Raises `ShapeError` with the location of the act if an act is invalid or repeated.
    """
    if not isinstance(plain, list):
        raise ShapeError(f"expected a list of acts such as Inform+景点+名称+1, {found(plain)}")
    for number, act in enumerate(plain):
        if not isinstance(act, str):
            raise ShapeError(
                f"act {number}: expected a string such as Inform+景点+名称+1, {found(act)}"
            )
        try:
            parse_act(act)
            act.encode()
        except ValueError as error:
            raise ShapeError(f'act {number}, "{shorten(act)}": {error}') from None
    if len(set(plain)) < len(plain):
        raise ShapeError("an act occurs more than once")
    return tuple(plain)
