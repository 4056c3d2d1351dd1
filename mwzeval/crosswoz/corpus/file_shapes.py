"""What stands where in CrossWOZ's data files: checked once, when they are read.

Nothing behind has to ask whether a rating is a number. What is missing is unknown, and allowed.
"""

from __future__ import annotations

from typing import Any

from mwzeval.crosswoz.constraints import PRICE_SLOTS
from mwzeval.crosswoz.corpus.acts import parse_act
from mwzeval.crosswoz.corpus.names import (
    ADDRESS,
    DISHES,
    DURATION,
    HOTEL_TYPE,
    NAME,
    NEARBY,
    OPEN_HOURS,
    PHONE,
    RATING,
    SERVICES,
    STATION,
)
from mwzeval.crosswoz.findings import found
from mwzeval.errors import shorten

TEXTS = (NAME, ADDRESS, PHONE, STATION, DURATION, OPEN_HOURS, HOTEL_TYPE)
NUMBERS = (RATING, *sorted(PRICE_SLOTS))
LISTS = (DISHES, SERVICES, *NEARBY.values())
LARGEST = 10**9
"""Of prices in yuan and ratings."""
Table = list[list[Any]]
"""The venues of a domain as files have them: [name, record] each."""


class ShapeError(ValueError):
    """What stands in a file is not what should; the message begins with the place."""


def checked_rows(rows: Any) -> Table:
    """Return the rows of a database table, name and record.

    Raises `ShapeError` with venue, field and what was found.
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
    """Return what a slot must have when it has something else."""
    if value is None:
        return None
    if slot in TEXTS:
        return None if isinstance(value, str) else "text"
    if slot in LISTS:
        return None if is_texts(value) else "a list of texts"
    if slot in NUMBERS:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number and 0 <= value <= LARGEST else f"a number up to {LARGEST:,}"
    return None


def is_texts(value: Any) -> bool:
    """Tell whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def checked_acts(plain: Any) -> tuple[str, ...]:
    """Return the acts of a vocabulary, each in its canonical spelling.

    Raises `ShapeError` with the place of what is none, or comes twice.
    """
    if not isinstance(plain, list):
        raise ShapeError(f"expected a list of acts such as Inform+景点+名称+1, {found(plain)}")
    for number, act in enumerate(plain):
        if not isinstance(act, str):
            raise ShapeError(f"act {number}: expected a text like Inform+景点+名称+1, {found(act)}")
        try:
            parse_act(act)
            act.encode()
        except ValueError as error:
            raise ShapeError(f'act {number}, "{shorten(act)}": {error}') from None
    if len(set(plain)) < len(plain):
        raise ShapeError("an act comes more than once")
    return tuple(plain)
