"""Repeated trials of the same items: the probability of k successes, and scores per item.

Trials of an item are similar, so items are resampled, and two systems are paired by item.
`Trials.by_item` replaces the trials of an item by one row with their mean, so that each item counts
once. Intervals and comparisons use the table with one row per item.

A trial is an attempt that could be judged. An attempt that an infrastructure failure ended is not a
trial: the attempt has no row in the table, and the item has one trial fewer.

pass^k is the probability that k trials of an item all succeed, averaged over items. pass^k of an
item with n trials and c successes is estimated by C(c, k) / C(n, k), which is unbiased for every n
≥ k. Items with fewer than k trials are excluded.

The name of a trial has its item and number: `sng0073#2` is the second trial of item `sng0073`.

Source: Yao, Shinn, Razavi and Narasimhan, "τ-bench", 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.table import Table


def trial_name(item: str, trial: int | str | None) -> str:
    """Return the name of a trial of an item: `sng0073#2`, or `sng0073` if `trial` is None."""
    return item if trial is None else f"{item}#{trial}"


def item_and_trial(name: str) -> tuple[str, int | None]:
    """Return the item and the trial number in a name; the trial number is None if it is missing."""
    item, _, number = name.rpartition("#")
    if item and number.isdecimal() and number.isascii() and len(number) < 10:
        return item, int(number)
    return name, None


def item_of_trial(name: str) -> str:
    """Return the item in the name of a trial."""
    return item_and_trial(name)[0]


def all_succeed(successes: int, trials: int, k: int) -> float:
    """Return the probability that `k` random trials of an item all succeeded (pass^k)."""
    return comb(successes, k) / comb(trials, k)


def some_differ(successes: int, trials: int, k: int) -> float:
    """Return the probability that `k` random trials of an item have different outcomes.

    For k = 2, the result is the probability that two trials disagree.
    """
    return 1 - (comb(successes, k) + comb(trials - successes, k)) / comb(trials, k)


@dataclass(frozen=True, eq=False)
class Trials:
    """A table with one row per trial, and the item of each row.

    >>> rows = [("a#1", {"won": 1}), ("a#2", {"won": 0}), ("b#1", {"won": 1})]
    >>> trials = Trials.of(Table.from_rows(("won",), rows))
    >>> trials.names, trials.counts.tolist(), trials.by_item().column("won").tolist()
    (('a', 'b'), [2, 1], [0.5, 1.0])
    """

    table: Table
    items: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, item_of: Callable[[str], str] = item_of_trial) -> Trials:
        """Group the rows of a table by item; `item_of` returns the item for the name of a row."""
        return cls(table, tuple(map(item_of, table.units)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The items, in order of first occurrence."""
        return tuple(dict.fromkeys(self.items))

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """The index in `names` of each row's item, shape (trials,)."""
        position = {name: index for index, name in enumerate(self.names)}
        return np.array([position[item] for item in self.items], dtype=np.int64)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of trials of each item, shape (items,)."""
        return np.bincount(self.positions, minlength=len(self.names))

    @property
    def usual(self) -> int:
        """The largest k such that at least half of the items have k trials; 0 without items."""
        return int(np.sort(self.counts)[len(self.names) // 2]) if self.names else 0

    def totals(self) -> Table:
        """Return a table with one row per item: the sum of the item's trials."""
        sums = np.zeros((len(self.names), len(self.table.columns)))
        np.add.at(sums, self.positions, self.table.values)
        return Table(self.names, self.table.columns, sums)

    def by_item(self) -> Table:
        """Return a table with one row per item: the mean of the item's trials."""
        totals = self.totals()
        return replace(totals, values=totals.values / self.counts[:, np.newaxis])
