"""Tests of scores of types by swapping units between systems, many systems at once.

All pairs see the same swaps. What a system keeps and what it gives away is therefore worked out
once a system, over its own types, and a pair needs only what both have in common: a type that one
of the two has alone occurs as often as that one keeps it, or gives it.

Whether a type occurs at all is a bit a sample: what occurs in a unit is there wherever the unit is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.types.counts import (
    DENSE_CELLS,
    ORDERS,
    Ngrams,
    Numbers,
    TypeCounts,
    TypeFunction,
    TypeSums,
    evaluated,
    log_table,
    sums_of,
)
from mwzeval.progress import counting, is_told
from mwzeval.statistics import SAMPLES, SEED, Differences, PairedRandomization, coin_flips

Name = TypeVar("Name", bound=Hashable)
Bits: TypeAlias = NDArray[np.uint64]

EXACT_IN_SINGLE = 2**24
"""Whole numbers up to this are exact in single precision, which multiplies twice as fast."""


def swap_tests(
    systems: Mapping[Name, TypeCounts],
    pairs: Sequence[tuple[Name, Name]],
    scores: Sequence[TypeFunction],
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> dict[tuple[Name, Name], tuple[PairedRandomization, ...]]:
    """Test the differences of scores between pairs of systems by approximate randomisation.

    Swaps whole units between the two, as `statistics.randomization_test` does; all scores see the
    same swaps. Exact at any number of types: swapping keeps how many units there are, so no score
    is biased as by resampling. All need the same units in the same order.

    Raises:
        ValueError: When they have not, or when an observed difference has no value.
    """
    first = next(iter(systems.values()))
    if any(counts.units != first.units for counts in systems.values()):
        raise ValueError("a paired comparison needs the same units in the same order")
    known = dict(zip(systems, _all_known(list(systems.values())), strict=True))
    logs = _Logs(max(of.largest for of in known.values()))
    shared = {(a, b): _Shared.of(known[a], known[b]) for a, b in pairs}
    drawn: dict[tuple[Name, Name], list[tuple[TypeSums, TypeSums]]] = {pair: [] for pair in pairs}
    widest = sum(len(ngrams.words) for of in known.values() for ngrams in of.counts.ngrams[:2])
    most = max(1, DENSE_CELLS // max(1, widest, len(first.units)))
    with counting(samples, "samples", shown=is_told()) as told:
        for flips in coin_flips(len(first.units), samples, seed, most):
            moved = {name: of.moved(flips, logs) for name, of in known.items()}
            for (a, b), both in shared.items():
                mine = both.together(moved[a].kept, moved[b].given, logs)
                theirs = both.reversed.together(moved[b].kept, moved[a].given, logs)
                drawn[a, b].append((mine, theirs))
            told.done += len(flips)
    results = {}
    for pair, both in shared.items():
        swapped, other_swapped = zip(*drawn[pair], strict=True)
        observed, of_other = both.observed()
        results[pair] = tuple(
            Differences.between(
                np.concatenate([evaluated(score, sums) for sums in swapped]),
                np.concatenate([evaluated(score, sums) for sums in other_swapped]),
                evaluated(score, observed).item(),
                evaluated(score, of_other).item(),
            ).randomization()
            for score in scores
        )
    return results


class _Logs:
    """Tables of log2 n and n log2 n of all counts that two systems can have together."""

    def __init__(self, largest: int) -> None:
        self.of = log_table(2 * largest)
        self.times = np.arange(len(self.of)) * self.of


class _Side(NamedTuple):
    """What a system keeps of its types, or gives away, in some samples.

    Counts of words, of words that begin a bigram, and of bigrams, shape (types, samples), and which
    types are there at all, by order, as bits. Then what scores need: the number of words, of
    distinct types by order, and by system the other sums over the types that this one lacks.
    """

    words: Numbers
    heads: Numbers
    bigrams: Numbers
    present: tuple[Bits, ...]
    n_words: Numbers
    distinct: tuple[Numbers, ...]
    n_log_n: NDArray[np.float64]
    surprise: NDArray[np.float64]


class _Moved(NamedTuple):
    kept: _Side
    given: _Side


@dataclass(frozen=True, eq=False)
class _Known:
    """A system's types, by order, under numbers that are the same in all systems."""

    place: int
    counts: TypeCounts
    numbers: tuple[Numbers, ...]
    alone: tuple[NDArray[np.float64], ...]
    """By order, 1 for the types that another system lacks: shape (systems, types)."""

    @property
    def heads(self) -> Numbers:
        """Where the first word of each bigram stands among the words."""
        return self.counts.ngrams[1].words[:, 0]

    @cached_property
    def totals(self) -> tuple[Numbers, ...]:
        """How often each type occurs in all units, by order."""
        return tuple(ngrams.totals() for ngrams in self.counts.ngrams)

    @property
    def largest(self) -> int:
        """The count of the most frequent word."""
        return int(self.totals[0].max(initial=0))

    @cached_property
    def _matrices(self) -> tuple[Any, ...]:
        """Words, words that begin a bigram, and bigrams × units, as sparse matrices."""
        from scipy.sparse import csr_array

        precision = np.float32 if self.largest < EXACT_IN_SINGLE else np.float64
        words, bigrams = self.counts.ngrams[:2]

        def matrix(rows: Numbers, of: Ngrams, n_rows: int) -> Any:
            shape = (n_rows, len(self.counts.units))
            return csr_array((of.counts.astype(precision), (rows, of.units)), shape=shape)

        return (
            matrix(words.types, words, len(words.words)),
            matrix(self.heads[bigrams.types], bigrams, len(words.words)),
            matrix(bigrams.types, bigrams, len(bigrams.words)),
        )

    @cached_property
    def _by_type(self) -> tuple[tuple[Numbers, Numbers, Numbers], ...]:
        """By order: the types that occur, where the units of each begin, and the units."""
        found = []
        for ngrams in self.counts.ngrams:
            order = np.argsort(ngrams.types, kind="stable")
            types, starts = np.unique(ngrams.types[order], return_index=True)
            found.append((types, starts, ngrams.units[order]))
        return tuple(found)

    def sums(self, words: Numbers, bigrams: Numbers, heads: Numbers) -> TypeSums:
        """Return what scores of all units are functions of, over types with these numbers.

        `heads` says where the first word of each bigram stands among the words.
        """
        counts = []
        for forms, numbers, of_order in zip(
            (words, bigrams), self.numbers, self.totals, strict=False
        ):
            row = np.zeros((1, len(forms)), dtype=np.int64)
            row[0, _places(numbers, forms)] = of_order
            counts.append(row)
        present = tuple(np.atleast_1d(np.count_nonzero(of_order)) for of_order in self.totals)
        return sums_of(counts[0], counts[1], heads, present)

    def moved(self, flips: NDArray[np.float64], logs: _Logs) -> _Moved:
        """Return what stays and what goes in samples, given which units each swaps.

        These are 1 in `flips`, of shape (samples, units), the others 0.
        """
        swapped = flips.T
        given = [
            (matrix @ swapped.astype(matrix.dtype, order="C")).astype(np.int64)
            for matrix in self._matrices
        ]
        kept = [
            matrix.sum(axis=1).astype(np.int64)[:, np.newaxis] - away
            for matrix, away in zip(self._matrices, given, strict=True)
        ]
        bits = _packed(flips)
        samples = len(flips)
        return _Moved(
            self._side(kept, ~bits, samples, logs), self._side(given, bits, samples, logs)
        )

    def _side(self, counts: Sequence[Numbers], bits: Bits, samples: int, logs: _Logs) -> _Side:
        words, heads, bigrams = counts
        present = [
            np.zeros((len(ngrams.words), bits.shape[1]), dtype=bits.dtype)
            for ngrams in self.counts.ngrams
        ]
        for of_order, (types, starts, units) in zip(present, self._by_type, strict=True):
            if len(types):
                of_order[types] = np.bitwise_or.reduceat(bits[units], starts, axis=0)
        alone_words, alone_bigrams = self.alone[:2]
        return _Side(
            words,
            heads,
            bigrams,
            tuple(present),
            words.sum(axis=0),
            tuple(_in_samples(of_order, samples) for of_order in present),
            alone_words @ logs.times[words],
            alone_words @ (heads * logs.of[words]) - alone_bigrams @ logs.times[bigrams],
        )


@dataclass(frozen=True, eq=False)
class _Shared:
    """Two systems, and where the types that both have stand in each, by order."""

    first: _Known
    other: _Known
    places: tuple[Numbers, ...]
    other_places: tuple[Numbers, ...]

    @classmethod
    def of(cls, first: _Known, other: _Known) -> _Shared:
        """Find what two systems have in common."""
        found = [
            np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)[1:]
            for mine, theirs in zip(first.numbers, other.numbers, strict=True)
        ]
        places, others = zip(*found, strict=True)
        return cls(first, other, places, others)

    @property
    def reversed(self) -> _Shared:
        """The same for the other system."""
        return _Shared(self.other, self.first, self.other_places, self.places)

    def together(self, kept: _Side, given: _Side, logs: _Logs) -> TypeSums:
        """Return the sums of what the first system keeps and the other one gives to it."""
        (mine, my_bigrams, _), (theirs, their_bigrams, _) = self.places, self.other_places
        words = kept.words[mine] + given.words[theirs]
        heads = kept.heads[mine] + given.heads[theirs]
        bigrams = kept.bigrams[my_bigrams] + given.bigrams[their_bigrams]
        in_both = (
            of_first[here] & of_other[there]
            for of_first, of_other, here, there in zip(
                kept.present, given.present, self.places, self.other_places, strict=True
            )
        )
        samples = len(kept.n_words)
        return TypeSums(
            kept.n_words + given.n_words,
            tuple(
                first + other - _in_samples(bits, samples)
                for first, other, bits in zip(kept.distinct, given.distinct, in_both, strict=True)
            ),
            kept.n_log_n[self.other.place]
            + given.n_log_n[self.first.place]
            + logs.times[words].sum(axis=0),
            kept.surprise[self.other.place]
            + given.surprise[self.first.place]
            + (heads * logs.of[words]).sum(axis=0)
            - logs.times[bigrams].sum(axis=0),
        )

    def observed(self) -> tuple[TypeSums, TypeSums]:
        """Return the sums of both systems as they are.

        Over the types of both, those of the first one before others, so that sums are rounded the
        same way however many systems there are.
        """
        first, other = self.first, self.other
        unknown = ~np.isin(other.numbers[1], first.numbers[1])
        words, bigrams = (
            np.concatenate([mine, theirs[~np.isin(theirs, mine)]])
            for mine, theirs in zip(first.numbers[:2], other.numbers[:2], strict=True)
        )
        heads = np.concatenate(
            [first.numbers[0][first.heads], other.numbers[0][other.heads[unknown]]]
        )
        at = _places(heads, words)
        return first.sums(words, bigrams, at), other.sums(words, bigrams, at)


def _all_known(systems: Sequence[TypeCounts]) -> list[_Known]:
    """Return systems with their types under common numbers."""
    position: defaultdict[str, int] = defaultdict(count().__next__)
    words = [
        np.array([position[word] for word in counts.vocabulary], dtype=np.int64)
        for counts in systems
    ]
    numbers = [words]
    for order in ORDERS[1:]:
        forms = [counts.ngrams[order - 1].words for counts in systems]
        ends = np.cumsum([len(of_system) for of_system in forms])[:-1]
        columns = [
            np.concatenate([mine[of[:, column]] for mine, of in zip(words, forms, strict=True)])
            for column in range(order)
        ]
        found = columns[0]
        for following in columns[1:]:
            found = np.unique(found * len(position) + following, return_inverse=True)[1]
        numbers.append(np.split(found, ends))
    return [
        _Known(
            place,
            counts,
            tuple(of_order[place] for of_order in numbers),
            tuple(
                np.array([~np.isin(of_order[place], other) for other in of_order], dtype=np.float64)
                for of_order in numbers[:2]
            ),
        )
        for place, counts in enumerate(systems)
    ]


def _places(wanted: Numbers, among: Numbers) -> Numbers:
    """Return where numbers stand among others, which have all of them once."""
    order = np.argsort(among)
    return np.asarray(order[np.searchsorted(among, wanted, sorter=order)])


def _packed(flips: NDArray[np.float64]) -> Bits:
    """Return samples × units as units × bits, one a sample, in whole machine words."""
    packed = np.packbits(flips.T.astype(bool), axis=1)
    bits = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    bits[:, : packed.shape[1]] = packed
    return bits.view(np.uint64)


def _in_samples(bits: Bits, samples: int) -> Numbers:
    """Return how many rows have the bit of each sample, shape (samples,)."""
    found = np.zeros(samples, dtype=np.int64)
    for first in range(0, len(bits), 255):
        # No more rows at a time than a byte can count, which adds fast.
        each = np.unpackbits(bits[first : first + 255].view(np.uint8), axis=1, count=samples)
        found += each.sum(axis=0, dtype=np.uint8)
    return found
