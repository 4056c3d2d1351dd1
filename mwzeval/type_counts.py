"""How often each type (a word, an n-gram) occurs in each unit: a wide, sparse, additive table.

Distinct words and entropies are functions of its column sums, but resampling units would bias them
(see `mwzeval.statistics.jackknife`), so their intervals come from leaving one unit out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mwzeval.statistics import Jackknife

Type: TypeAlias = tuple[str, ...]
"""An n-gram; a single word is one of length 1."""

Counts: TypeAlias = NDArray[np.int64]
TypeFunction: TypeAlias = Callable[[Counts, Sequence[Type]], NDArray[np.float64]]
"""A score of type counts, shape (samples, types), and the types themselves: shape (samples,)."""

DENSE_CELLS = 2**22
"""Counts held at a time (some 32 MB)."""


@dataclass(frozen=True, slots=True, eq=False)
class TypeCounts:
    """Units × types in compressed rows: unit i has `counts[k]` of `types[indices[k]]`, for k from
    `starts[i]` up to `starts[i + 1]`."""

    units: tuple[str, ...]
    types: tuple[Type, ...]
    starts: NDArray[np.int64]
    indices: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, Iterable[Type]]]) -> TypeCounts:
        """Count the types of each unit."""
        position: dict[Type, int] = {}
        units, starts = [], [0]
        indices: list[int] = []
        counts: list[int] = []
        for unit, types in rows:
            counted = Counter(types)
            indices += [position.setdefault(kind, len(position)) for kind in counted]
            counts += counted.values()
            units.append(unit)
            starts.append(len(indices))
        return cls(
            tuple(units),
            tuple(position),
            np.array(starts, dtype=np.int64),
            np.array(indices, dtype=np.int64),
            np.array(counts, dtype=np.int64),
        )

    @classmethod
    def none(cls) -> TypeCounts:
        """Return the counts of no unit."""
        return cls.of([])

    def totals(self) -> Counts:
        """Return how often each type occurs in all units, shape (types,)."""
        weights = np.bincount(self.indices, weights=self.counts, minlength=len(self.types))
        return weights.astype(np.int64)

    def value(self, score: TypeFunction) -> float:
        """Return a score of all units."""
        return float(score(self.totals()[np.newaxis, :], self.types)[0])

    def jackknife(self, score: TypeFunction) -> Jackknife:
        """Return a score of all units and with each left out. Needs at least two units."""
        totals = self.totals()
        left_out = [score(totals - rows, self.types) for rows in self._dense_blocks()]
        return Jackknife(self.value(score), np.concatenate(left_out))

    def _dense_blocks(self) -> Iterator[Counts]:
        size = max(1, DENSE_CELLS // max(1, len(self.types)))
        for first in range(0, len(self.units), size):
            last = min(first + size, len(self.units))
            entries = slice(self.starts[first], self.starts[last])
            lengths = np.diff(self.starts[first : last + 1])
            rows = np.zeros((last - first, len(self.types)), dtype=np.int64)
            rows[np.repeat(np.arange(last - first), lengths), self.indices[entries]] = self.counts[
                entries
            ]
            yield rows
