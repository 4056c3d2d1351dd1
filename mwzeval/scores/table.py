"""The table that every benchmark computes: scored units × additive columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.libraries import required
from mwzeval.scores.sheets import (
    TEXT,
    Document,
    plain_number,
    plural,
    sheet,
    to_html,
    to_text,
)

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")
U = TypeVar("U")

UNIT = "unit"
RESOLUTION = 10_018_008_000
"""Tables of means sum values as whole multiples of 1/RESOLUTION, in any order with the same result.

For each such column X, the column X:n has the number of values. RESOLUTION is divisible by 100 and
by all numbers up to 16, so whole percentages, and means of up to 16 of them, are exact.
"""
SHOWN = 5
"""The maximum numbers of rows and columns that the text of a table shows at each end."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Table:
    """Rows of additive numbers, one row per scored unit (a dialogue, an example, an episode).

    `values` has shape (units, columns). A score is a function of column sums over a selection of
    rows, so resampling, pairing, selecting and adding tables are independent of the metric. Raises
    `ValueError` if `values` has another shape.

    >>> rows = [("a", {"right": 1, "all": 2}), ("b", {"all": 3})]
    >>> table = Table.from_rows(("right", "all"), rows)
    >>> table.sums()
    {'right': 1.0, 'all': 5.0}
    >>> table.select(["b"]).values.tolist()
    [[0.0, 3.0]]
    """

    units: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[np.float64]
    folded: int = 0
    """The number of units that were merged into other rows (see `folded_into`)."""

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.units), len(self.columns)):
            raise ValueError(
                f"{len(self.units)} rows × {len(self.columns)} columns do not fit values of "
                f"shape {self.values.shape}"
            )

    def __repr__(self) -> str:
        return f"<Table of {len(self.units)} rows × {len(self.columns)} columns>"

    @classmethod
    def from_rows(
        cls, columns: Sequence[str], rows: Iterable[tuple[str, Mapping[str, float]]]
    ) -> Table:
        """Build a table from (unit, {column: number}) pairs; a column that a row lacks is 0.

        Raises `KeyError` if a row has a column that is not in `columns`.
        """
        position = {column: index for index, column in enumerate(columns)}
        kept = list(rows)
        values = np.zeros((len(kept), len(position)))
        for index, (_, row) in enumerate(kept):
            for column, number in row.items():
                values[index, position[column]] = number
        return cls(tuple(unit for unit, _ in kept), tuple(columns), values)

    def sums(self) -> dict[str, float]:
        """Return the sum of each column over all units (exact: the columns hold counts)."""
        return dict(zip(self.columns, self.values.sum(axis=0).tolist(), strict=True))

    @property
    def count(self) -> int:
        """The number of units, including units that were merged into other rows."""
        return len(self.units) + self.folded

    def folded_into(self, unit: str) -> Table:
        """Return a table with one row, the sums of all rows; the order of addition has no effect.

        Raises:
            ValueError: If a column contains a number that is not an integer.
        """
        odd = (self.values != np.rint(self.values)).any(axis=0)
        if names := [name for name, is_odd in zip(self.columns, odd, strict=True) if is_odd]:
            raise ValueError(f"columns that are folded must hold whole numbers: {', '.join(names)}")
        sums = self.values.sum(axis=0)[np.newaxis, :]
        return Table((unit,), self.columns, sums, self.count - 1)

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one column, shape (units,). Raises `KeyError` for an unknown name."""
        if name not in self.columns:
            raise KeyError(name)
        return self.values[:, self.columns.index(name)]

    def select(self, units: Sequence[str]) -> Table:
        """Return the rows of `units`, in that order. Raises `KeyError` for an unknown unit."""
        position = {unit: index for index, unit in enumerate(self.units)}
        rows = [position[unit] for unit in units]
        return Table(tuple(units), self.columns, self.values[rows])

    def beside(self, other: Table) -> Table:
        """Return a table with the columns of two tables, which have equal units in equal order.

        Raises:
            ValueError: If the units differ.
        """
        if self.units != other.units:
            raise ValueError("tables side by side must have the same rows in the same order")
        return Table(
            self.units, self.columns + other.columns, np.hstack([self.values, other.values])
        )

    def __add__(self, other: Table) -> Table:
        """Return the rows of both tables. Raises `ValueError` if the columns differ."""
        if self.columns != other.columns:
            raise ValueError("tables below each other must have the same columns")
        values = np.vstack([self.values, other.values])
        return Table(self.units + other.units, self.columns, values, self.folded + other.folded)

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row per unit: the unit's name, and the columns."""
        pandas = required("pandas", "frames", "a data frame needs pandas")
        frame = pandas.DataFrame(self.values, columns=list(self.columns))
        frame.insert(0, UNIT, pandas.array(list(self.units), dtype=TEXT))
        return frame

    def __str__(self) -> str:
        return to_text(self._document()).rstrip("\n")

    def _repr_html_(self) -> str:
        return to_html(self._document())

    def _document(self) -> Document:
        header = [UNIT, *_ends(self.columns, "…")]
        rows = []
        for row in _ends(range(len(self.units)), None):
            numbers = [] if row is None else self.values[row].tolist()
            shown = _ends([str(plain_number(number)) for number in numbers], "…")
            rows.append(["…"] * len(header) if row is None else [self.units[row], *shown])
        size = f"{plural(len(self.units), 'row')} × {plural(len(self.columns), 'column')}"
        folded = (f"with {plural(self.folded, 'further row')} folded in",) if self.folded else ()
        return Document((size, *folded), (sheet("", header, rows),), (), (), {})


def _ends(items: Sequence[T], between: U) -> list[T | U]:
    """Return the first and last items, with `between` in place of the omitted items."""
    if len(items) <= 2 * SHOWN + 1:
        return list(items)
    return [*items[:SHOWN], between, *items[-SHOWN:]]
