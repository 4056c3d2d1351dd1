"""What every format of scores is read as: rows with named values, and which names say what."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mwzeval.errors import InputError, Problem


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns say what; what is None or empty is told by the names of the columns.

    `metric` is the column that names the score of a row, where each row has one of several.
    """

    item: str | None = None
    scores: tuple[str, ...] = ()
    cluster: str | None = None
    trial: str | None = None
    metric: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Stands for a value that a file has in part only: `why`, and where it is whole."""

    why: str

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it stands in the file, for messages, and its values by column."""

    place: str
    values: Mapping[str, Any]

    def get(self, column: str) -> Any:
        """Return a value, of `a.b` also what stands as b in an object called a; None without."""
        if column in self.values:
            return self.values[column]
        outer, point, inner = column.partition(".")
        value: Any = self.values.get(outer)
        while point and isinstance(value, Mapping):
            if inner in value:
                return value[inner]
            outer, point, inner = inner.partition(".")
            value = value.get(outer)
        return None


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a file. `format` is what it was recognised as, `warnings` what was noticed.

    `scores` of `columns` are those that the format itself says are scores; `header` are the columns
    that are named before any row.
    """

    file: str
    format: str
    rows: Sequence[Row]
    columns: Columns = field(default_factory=Columns)
    warnings: tuple[Problem, ...] = ()
    header: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of all columns in the order in which they come, those in objects as `a.b`."""
        names: dict[str, None] = dict.fromkeys(self.header)
        for row in self.rows:
            for name, value in row.values.items():
                if isinstance(value, Mapping):
                    names |= dict.fromkeys(f"{name}.{inner}" for inner in value)
                else:
                    names[name] = None
        return list(names)

    def values(self, column: str) -> list[Any]:
        """Return the values of a column, one a row."""
        return [row.get(column) for row in self.rows]


NO_NUMBER = frozenset({"", "nan", "na", "n/a", "null", "none"})
"""How tables say that there is no number."""


def number_of(value: Any) -> float | None:
    """Return the number that a value is; None where there is none, as NaN says.

    True and false are 1 and 0, also as words.

    Raises:
        ValueError: For a text that is not a number.
        TypeError: For any other value.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | int | float):
        number = float(value)
    elif isinstance(value, str):
        text = value.strip().lower()
        if text in NO_NUMBER:
            return None
        words = {"true": 1.0, "false": 0.0}
        number = words[text] if text in words else float(text)
    else:
        raise TypeError("neither a number nor a text")
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number


def is_number(value: Any) -> bool:
    """Tell whether a value is a number, or none at all."""
    try:
        number_of(value)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def not_of_shape(file: str, what: str) -> InputError:
    """Return the error for a file whose shape is not what it should be."""
    return InputError([Problem("other-shape", what, file=file)])


def objects(values: Iterable[tuple[str, Any]], file: str) -> list[Row]:
    """Return (place, object) pairs as rows. Raises `InputError` where one is no object."""
    rows = []
    for place, value in values:
        if not isinstance(value, Mapping):
            raise not_of_shape(file, f"{place} is not an object with an item and its score")
        rows.append(Row(place, value))
    return rows
