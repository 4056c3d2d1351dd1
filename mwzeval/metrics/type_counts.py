"""How often each type (a word, an n-gram) occurs in each unit: a wide, sparse, additive table.

Distinct words and entropies are functions of its column sums, but resampling units would bias them
(see `mwzeval.statistics.intervals`), so their intervals come from leaving one unit out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mwzeval.statistics import (
    SAMPLES,
    SEED,
    Jackknife,
    PairedRandomization,
    ResampledSums,
    SwappedSums,
    randomization_test,
)

Type: TypeAlias = tuple[str, ...]
"""An n-gram; a single word is one of length 1."""


class Types(tuple[Type, ...]):
    """Distinct types in a fixed order; what is worked out about them is kept."""

    @cached_property
    def orders(self) -> NDArray[np.int64]:
        """The length of each type: 1 for words, 2 for bigrams …"""
        return np.array([len(kind) for kind in self], dtype=np.int64)

    @cached_property
    def first_words(self) -> NDArray[np.int64]:
        """Where the first word of each bigram stands, in the order of the bigrams."""
        column = {kind: index for index, kind in enumerate(self)}
        return np.array([column[kind[:1]] for kind in self if len(kind) == 2], dtype=np.int64)

    def of_order(self, order: int) -> NDArray[np.int64]:
        """Return where the types of this length stand."""
        return np.flatnonzero(self.orders == order)


Counts: TypeAlias = NDArray[np.int64]
TypeFunction: TypeAlias = Callable[[Counts, Types], NDArray[np.float64]]
"""A score of type counts, shape (samples, types), and the types themselves: shape (samples,)."""

DENSE_CELLS = 2**22
"""Counts held at a time (some 32 MB)."""

EXACT_IN_SINGLE = 2**24
"""Whole numbers up to this are exact in single precision, which multiplies twice as fast."""


@dataclass(frozen=True, slots=True, eq=False)
class TypeCounts:
    """Units × types in compressed rows: unit i has `counts[k]` of `types[indices[k]]`, for k from
    `starts[i]` up to `starts[i + 1]`."""

    units: tuple[str, ...]
    types: Types
    starts: NDArray[np.int64]
    indices: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, Iterable[Type]]]) -> TypeCounts:
        """Count the types of each unit."""
        position: defaultdict[Type, int] = defaultdict(count().__next__)
        units, starts = [], [0]
        indices: list[int] = []
        counts: list[int] = []
        for unit, types in rows:
            counted = Counter(types)
            indices += map(position.__getitem__, counted)
            counts += counted.values()
            units.append(unit)
            starts.append(len(indices))
        return cls(
            tuple(units),
            Types(position),
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

    def select(self, units: Sequence[str]) -> TypeCounts:
        """Return the counts of `units`, in that order. Raises `KeyError` for a unit not here."""
        position = {unit: index for index, unit in enumerate(self.units)}
        rows = np.array([position[unit] for unit in units], dtype=np.int64)
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return TypeCounts(
            tuple(units), self.types, starts, self.indices[entries], self.counts[entries]
        )

    def jackknife(self, score: TypeFunction) -> Jackknife:
        """Return a score of all units and with each left out. Needs at least two units."""
        return self.jackknives([score])[0]

    def jackknives(self, scores: Sequence[TypeFunction]) -> tuple[Jackknife, ...]:
        """Return the jackknife of each score; together they take little longer than one."""
        totals = self.totals()
        blocks = [
            [score(left, self.types) for score in scores]
            for left in (totals - rows for rows in self._dense_blocks())
        ]
        return tuple(
            Jackknife(self.value(score), np.concatenate(left_out))
            for score, left_out in zip(scores, zip(*blocks, strict=True), strict=True)
        )

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


def randomization_tests(
    system: TypeCounts,
    baseline: TypeCounts,
    scores: Sequence[TypeFunction],
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> tuple[PairedRandomization, ...]:
    """Test the difference of each score between two systems by approximate randomisation.

    Swaps whole units between the systems, as `statistics.randomization_test` does; all scores see
    the same swaps. Exact at any number of types: swapping keeps how many units there are, so no
    score is biased as by resampling. Both need the same units in the same order.

    Raises `ValueError` when they have not, or when an observed difference has no value.
    """
    if system.units != baseline.units:
        raise ValueError("a paired comparison needs the same units in the same order")
    types = Types(dict.fromkeys((*system.types, *baseline.types)))
    swaps = _Swaps.of(system, baseline, types)
    observed_mine, observed_theirs = swaps.observed()
    mine: list[list[NDArray[np.float64]]] = []
    theirs: list[list[NDArray[np.float64]]] = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for counts in swaps.blocks(samples, seed):
            mine.append([score(counts, types) for score in scores])
            # What one system has lost, the other has won.
            np.subtract(observed_mine + observed_theirs, counts, out=counts)
            theirs.append([score(counts, types) for score in scores])
        results = []
        for index, score in enumerate(scores):
            value_mine = score(observed_mine, types), [block[index] for block in mine]
            value_theirs = score(observed_theirs, types), [block[index] for block in theirs]
            sums = SwappedSums(
                *(
                    ResampledSums(
                        system.units,
                        seed,
                        {"score": value},
                        {"score": np.concatenate(drawn)},
                        samples,
                    )
                    for value, drawn in (value_mine, value_theirs)
                )
            )
            results.append(randomization_test(itemgetter("score"), sums))
    return tuple(results)


@dataclass(frozen=True, slots=True, eq=False)
class _Swaps:
    """Counts of two systems over the union of their types, as sparse types × units."""

    mine: Any
    theirs: Any

    @classmethod
    def of(cls, system: TypeCounts, baseline: TypeCounts, types: Sequence[Type]) -> _Swaps:
        from scipy.sparse import csc_array

        position = {kind: index for index, kind in enumerate(types)}

        def matrix(of: TypeCounts) -> Any:
            columns = np.array([position[kind] for kind in of.types], dtype=np.int64)
            shape = (len(types), len(of.units))
            return csc_array((of.counts, columns[of.indices], of.starts), shape=shape)

        return cls(matrix(system), matrix(baseline))

    def observed(self) -> tuple[Counts, Counts]:
        """Return the counts of all units, shape (1, types) each."""
        return self.mine.sum(axis=1)[np.newaxis, :], self.theirs.sum(axis=1)[np.newaxis, :]

    def blocks(self, samples: int, seed: int) -> Iterator[Counts]:
        """Yield the counts of the first system after swapping, shape (some samples, types)."""
        mine, theirs = self.observed()
        n_types, n_units = self.mine.shape
        largest = max(mine.max(initial=0), theirs.max(initial=0))
        precision = np.float32 if largest < EXACT_IN_SINGLE else np.float64
        change = (self.theirs - self.mine).tocsr().astype(precision)
        change.eliminate_zeros()
        generator = np.random.Generator(np.random.PCG64(seed))
        # The flips that `swapped_sums` draws; they do not depend on the size of blocks.
        most = max(1, DENSE_CELLS // max(n_types, n_units))
        for first in range(0, samples, most):
            size = min(most, samples - first)
            flips = generator.integers(0, 2, size=(size, n_units)).T.astype(precision, order="C")
            counts = np.empty((size, n_types), dtype=np.int64)
            counts[...] = (change @ flips).T
            counts += mine
            yield counts


def distinct(order: int, counts: Counts, types: Types) -> NDArray[np.float64]:
    """Return how many distinct n-grams of an order there are."""
    present = np.count_nonzero(counts.take(types.of_order(order), axis=1), axis=1)
    return np.asarray(present, dtype=np.float64)


def entropy(counts: Counts, types: Types) -> NDArray[np.float64]:
    """Return the entropy of words, in bits."""
    words = counts[:, types.of_order(1)]
    total = words.sum(axis=1)
    bits = np.log2(total) - _n_log_n(words).sum(axis=1) / total
    return np.asarray(bits, dtype=np.float64)


def conditional_entropy(counts: Counts, types: Types) -> NDArray[np.float64]:
    """Return the entropy of a word given the one before it, in bits.

    As published, probabilities are per word, not per bigram: −Σ c(h,w)/N · log2 (c(h,w)/c(h)).
    """
    pairs, first_words = counts[:, types.of_order(2)], counts[:, types.first_words]
    total = counts[:, types.of_order(1)].sum(axis=1)
    surprise = pairs * _log_table(counts)[first_words] - _n_log_n(pairs)
    return np.asarray(surprise.sum(axis=1) / total, dtype=np.float64)


def _n_log_n(counts: Counts) -> NDArray[np.float64]:
    numbers = np.arange(counts.max(initial=0) + 1)
    return np.asarray((numbers * _log_table(counts))[counts], dtype=np.float64)


def _log_table(counts: Counts) -> NDArray[np.float64]:
    """Return log2 of every number up to the largest count; 0 for 0, where it never matters."""
    numbers = np.arange(counts.max(initial=0) + 1)
    return np.log2(np.maximum(numbers, 1))
