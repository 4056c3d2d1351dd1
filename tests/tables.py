"""Small tables and named scores for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.score import WHOLE, Score, by_place
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import Sums

Value = TypeVar("Value")


def present(value: Value | None) -> Value:
    """Return a value that must not be None."""
    assert value is not None
    return value


def table_of(**columns: NDArray[np.float64]) -> Table:
    values = np.column_stack(list(columns.values()))
    units = tuple(f"unit{index:06d}" for index in range(len(values)))
    return Table(units, tuple(columns), values)


def ratio(sums: Sums) -> NDArray[np.float64]:
    return sums["right"] / sums["all"]


def named(scores: Iterable[Score], name: str, scope: str = WHOLE) -> Score:
    """Return one score by its name."""
    return by_place(scores)[name, scope]
