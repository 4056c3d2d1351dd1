"""Small tables for the tests of statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import Sums


def table_of(**columns: NDArray[np.float64]) -> Table:
    values = np.column_stack(list(columns.values()))
    units = tuple(f"unit{index:06d}" for index in range(len(values)))
    return Table(units, tuple(columns), values)


def ratio(sums: Sums) -> NDArray[np.float64]:
    return sums["right"] / sums["all"]
