"""Counts of each type (a word, a bigram, a trigram) in each unit, and scores of types.

The counts form a sparse table of additive columns, with a row per unit and a column per type.
Distinct words and entropies are functions of the column sums. Resampling would bias scores of types
(see `mwzeval.statistics.intervals`), so their intervals come from leaving one unit out. Comparisons
do not test scores of types, because neither higher nor lower values are better.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mwzeval.statistics.bootstrap import ScoreFunction, Sums, evaluate
from mwzeval.statistics.intervals import Jackknife

Numbers: TypeAlias = NDArray[np.int64]

ORDERS = (1, 2, 3)

DENSE_CELLS = 2**22
"""The number of counts in memory at a time (about 32 MB)."""


@dataclass(frozen=True, slots=True, eq=False)
class Ngrams:
    """The n-grams of one order, and their counts in each unit that contains them.

    `words` has the words of each n-gram as positions in the vocabulary, shape (types, n). There is
    one entry per unit and type, sorted by unit and, within a unit, by type.
    """

    words: Numbers
    units: Numbers
    types: Numbers
    counts: Numbers

    def totals(self) -> Numbers:
        """Return the count of each type in all units, shape (types,)."""
        totals = np.bincount(self.types, weights=self.counts, minlength=len(self.words))
        return totals.astype(np.int64)

    def of_units(self, chosen: Numbers) -> Ngrams:
        """Return the counts of the units at the given positions, in that order, for all types."""
        first, last = np.searchsorted(self.units, [chosen, chosen + 1])
        lengths = last - first
        starts = np.cumsum(lengths) - lengths
        entries = np.repeat(first - starts, lengths) + np.arange(lengths.sum())
        units = np.repeat(np.arange(len(chosen)), lengths)
        return Ngrams(self.words, units, self.types[entries], self.counts[entries])

    def distinct_without(self, totals: Numbers, n_units: int) -> Numbers:
        """Return, for each unit, the number of types without this unit, shape (units,)."""
        only = self.units[self.counts == totals[self.types]]
        return np.asarray(np.count_nonzero(totals) - np.bincount(only, minlength=n_units))

    def dense(self, first: int, last: int) -> Numbers:
        """Return the counts of units `first` to `last` - 1 as an array of shape (types, units)."""
        entries = slice(*np.searchsorted(self.units, [first, last]))
        rows = np.zeros((len(self.words), last - first), dtype=np.int64)
        rows[self.types[entries], self.units[entries] - first] = self.counts[entries]
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class TypeCounts:
    """The n-grams of each order in the units; all orders use the same vocabulary of words."""

    units: tuple[str, ...]
    vocabulary: tuple[str, ...]
    ngrams: tuple[Ngrams, ...]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, Iterable[Sequence[str]]]] = ()) -> TypeCounts:
        """Count the types of each unit; n-grams do not cross the boundaries of texts."""
        position: defaultdict[str, int] = defaultdict(count().__next__)
        units: list[str] = []
        words: list[int] = []
        lengths: list[int] = []
        of_units: list[int] = []
        for unit, texts in rows:
            for text in texts:
                words += map(position.__getitem__, text)
                lengths.append(len(text))
                of_units.append(len(units))
            units.append(unit)
        tokens = np.array(words, dtype=np.int64)
        ends = np.repeat(np.cumsum(lengths, dtype=np.int64), lengths)
        left = ends - np.arange(len(tokens))
        unit_of = np.repeat(np.array(of_units, dtype=np.int64), lengths)
        types, forms = tokens, np.arange(len(position))[:, np.newaxis]
        ngrams = []
        for order in ORDERS:
            if order > 1:
                starts = np.flatnonzero(left >= order)
                following = tokens[starts + order - 1]
                types, firsts = _numbered(types[starts] * len(position) + following)
                at = starts[firsts]
                forms = tokens[at[:, np.newaxis] + np.arange(order)]
            ngrams.append(_counted(forms, unit_of[left >= order], types))
            # The next order needs each type at the position where it begins.
            placed = np.zeros(len(tokens), dtype=np.int64)
            placed[left >= order] = types
            types = placed
        return cls(tuple(units), tuple(position), tuple(ngrams))

    def select(self, units: Sequence[str]) -> TypeCounts:
        """Return the counts of `units`, in that order. Raises `KeyError` for an unknown unit."""
        position = {unit: index for index, unit in enumerate(self.units)}
        chosen = np.array([position[unit] for unit in units], dtype=np.int64)
        ngrams = tuple(of_order.of_units(chosen) for of_order in self.ngrams)
        return replace(self, units=tuple(units), ngrams=ngrams)

    def sums(self) -> Sums:
        """Return the sums from which scores of all units are computed, arrays of shape (1,).

        `words` is the number of words, and `distinct_N` is the number of distinct n-grams of order
        N. `n_log_n` is Σ c(w) log2 c(w) over words w, `surprise` is Σ c(h,w) log2 (c(h) / c(h,w))
        over bigrams.
        """
        totals = [ngrams.totals() for ngrams in self.ngrams]
        present = [np.atleast_1d(np.count_nonzero(of_order)) for of_order in totals]
        words, bigrams = totals[0][np.newaxis, :], totals[1][np.newaxis, :]
        return _sums_of(words, bigrams, self.ngrams[1].words[:, 0], present)

    def jackknives(self, scores: Sequence[ScoreFunction]) -> tuple[Jackknife, ...]:
        """Return each score, computed from all units and without each unit.

        Requires at least two units.
        """
        blocks = list(self._left_out())
        everything = self.sums()
        found = []
        for score in scores:
            left_out = np.concatenate([evaluate(score, sums) for sums in blocks])
            found.append(Jackknife(evaluate(score, everything).item(), left_out))
        return tuple(found)

    def _left_out(self) -> Iterator[Sums]:
        """Yield the sums without each unit, in blocks of units."""
        totals = [ngrams.totals() for ngrams in self.ngrams]
        present = [
            ngrams.distinct_without(of_order, len(self.units))
            for ngrams, of_order in zip(self.ngrams, totals, strict=True)
        ]
        heads = self.ngrams[1].words[:, 0]
        size = max(1, DENSE_CELLS // max(1, len(totals[0]), len(totals[1])))
        for first in range(0, len(self.units), size):
            last = min(first + size, len(self.units))
            words, bigrams = (
                (totals[index][:, np.newaxis] - self.ngrams[index].dense(first, last)).T
                for index in range(2)
            )
            block = [of_order[first:last] for of_order in present]
            yield _sums_of(words, bigrams, heads, block)


def _sums_of(words: Numbers, bigrams: Numbers, heads: Numbers, present: Sequence[Numbers]) -> Sums:
    """Return sums of counts, each (samples, types), of bigrams with their `heads`, and of types."""
    # The logarithm of 0 is replaced by 0; it is always multiplied by 0.
    logs = np.log2(np.maximum(np.arange(int(words.max(initial=0)) + 1), 1))
    n_log_n = np.arange(len(logs)) * logs
    surprise = bigrams * logs[words[:, heads]] - n_log_n[bigrams]
    return {
        "words": words.sum(axis=1).astype(np.float64),
        "n_log_n": n_log_n[words].sum(axis=1),
        "surprise": surprise.sum(axis=1),
        **{f"distinct_{n}": p.astype(np.float64) for n, p in zip(ORDERS, present, strict=True)},
    }


def _numbered(keys: Numbers) -> tuple[Numbers, Numbers]:
    """Return the number of each key in order of first occurrence, and the first positions."""
    _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    numbers = np.empty_like(order)
    numbers[order] = np.arange(len(order))
    return numbers[inverse], firsts[order]


def _counted(forms: Numbers, units: Numbers, types: Numbers) -> Ngrams:
    most = max(1, len(forms))
    keys, counts = np.unique(units * most + types, return_counts=True)
    return Ngrams(forms, keys // most, keys % most, counts)
