"""How many items and trials it takes to see a difference between two systems.

Model of a trial's score: system + item + what the system makes of the item + trial. Both systems
have the same items, so what an item is worth to both drops out of their difference. Its variance
over G items with T trials of each by both systems is (`between` + `within` / T) / G: `between`, how
unlike the two are in which items they find hard, and `within`, how unlike their trials of an item.
The test is that of the mean difference, two-sided, in the normal approximation; the variances are
those of the pilot, also where the difference is large.

Where items of a cluster are not independent, there is a cluster in the model, too, and the variance
is (`shared` + `between` + `within` / T) / G: what clusters vary counts as often as a cluster has
items, in the mean over items. More items are taken to come in clusters as large as the pilot's.

Source: Searle, Casella and McCulloch, Variance Components, 1992, chapter 3 (unequal numbers);
Kish, Survey Sampling, 1965, chapter 5 (design effect); Miller, "Adding Error Bars to Evals", 2024
(paired power with repeated samples).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from mwzeval.statistics.intervals import checked_confidence, normal_quantile

NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Spread:
    """Variances of a trial's score (or difference), in its squared unit.

    `between` items, and `within` an item, between its trials. Where no item has a second trial the
    two cannot be told apart: `within` is None, and `between` is the variance of one trial. `shared`
    is the variance between clusters times the items of a cluster, `between` then that of items of
    one.
    """

    between: float
    within: float | None
    shared: float = 0.0

    def __add__(self, other: Spread) -> Spread:
        """Return the spread of the difference of two independent scores.

        Raises:
            ValueError: When one is known by trials and the other not.
        """
        if self.within is None and other.within is None:
            return Spread(self.between + other.between, None, self.shared + other.shared)
        if self.within is None or other.within is None:
            raise ValueError("both systems need items with several trials, or neither")
        within = self.within + other.within
        return Spread(self.between + other.between, within, self.shared + other.shared)

    def of_item(self, trials: float) -> float:
        """Return the variance of the mean over `trials` of an item; infinity is allowed.

        Raises:
            ValueError: For less than one trial, and for more where nothing is known of them.
        """
        if not trials >= 1:
            raise ValueError(f"an item has at least one trial, not {trials}")
        if self.within is None:
            if trials > 1:
                raise ValueError("no item of the pilot has a second trial")
            return self.shared + self.between
        return self.shared + self.between + self.within / trials

    def standard_error(self, items: int, trials: float) -> float:
        """Return that of the mean over this many items. Raises `ValueError` as `of_item`."""
        if items < 1:
            raise ValueError(f"a mean needs at least one item, not {items}")
        return math.sqrt(self.of_item(trials) / items)


def spread_of(
    scores: Sequence[NDArray[np.float64]], clusters: Sequence[Hashable] | None = None
) -> Spread:
    """Return the spread of the trials of items, one array of scores an item.

    Estimates from the mean squares of a one-way random-effects analysis of variance, also for items
    with different numbers of trials; unbiased, except that an estimate below 0 is reported as 0.
    `clusters` has the cluster of each item, where these are not independent.

    Raises:
        ValueError: For less than two items or clusters, and for an item without a trial.
    """
    counts = np.array([of_item.size for of_item in scores], dtype=np.float64)
    if counts.size < 2 or not counts.all():
        raise ValueError("a spread needs at least two items, each with at least one trial")
    means = np.array([of_item.mean() for of_item in scores])
    items, trials = counts.size, counts.sum()
    if trials == items:
        if clusters is not None:
            return _in_clusters(means, np.zeros(items), None, clusters)
        return Spread(float(means.var(ddof=1)), None)
    within = sum(float(((of_item - of_item.mean()) ** 2).sum()) for of_item in scores)
    within /= trials - items
    if clusters is not None:
        return _in_clusters(means, within / counts, within, clusters)
    whole = float(counts @ means) / trials
    between = float(counts @ (means - whole) ** 2) / (items - 1)
    usual = (trials - float(counts @ counts) / trials) / (items - 1)
    return Spread(max(0.0, (between - within) / usual), within)


def spread_of_difference(
    system: Sequence[NDArray[np.float64]],
    baseline: Sequence[NDArray[np.float64]],
    clusters: Sequence[Hashable] | None = None,
) -> Spread:
    """Return the spread of the difference of two systems on the same items, in the same order.

    Raises:
        ValueError: For different items, as `spread_of`, and when only one has trials.
    """
    if len(system) != len(baseline):
        raise ValueError("the spread of a difference needs the same items of both systems")
    spreads = [(of_items, spread_of(of_items)) for of_items in (system, baseline)]
    within = (spreads[0][1] + spreads[1][1]).within
    differences = np.array(
        [mine.mean() - theirs.mean() for mine, theirs in zip(system, baseline, strict=True)]
    )
    noise = np.zeros(len(differences))
    for of_items, spread in spreads:
        if spread.within is not None:
            noise += spread.within / np.array([of_item.size for of_item in of_items])
    if clusters is not None:
        return _in_clusters(differences, noise, within, clusters)
    return Spread(max(0.0, float(differences.var(ddof=1) - noise.mean())), within)


def _in_clusters(
    values: NDArray[np.float64],
    noise: NDArray[np.float64],
    within: float | None,
    clusters: Sequence[Hashable],
) -> Spread:
    """Return the spread of items in clusters, whose values vary by `noise` from trial to trial.

    The sums of squares in and between clusters are set to what is expected of them.

    Raises:
        ValueError: For less than two clusters.
    """
    of = _numbered(clusters)
    sizes = np.bincount(of)
    items, number = values.size, sizes.size
    if number < 2:
        raise ValueError("all items are of one cluster, which tells nothing of others")
    alone = number == items
    means = np.bincount(of, weights=values) / sizes
    share = 1 / sizes[of]
    of_items = float(((values - means[of]) ** 2 - noise * (1 - share)).sum())
    between = 0.0 if alone else max(0.0, of_items / (items - number))
    of_clusters = float(sizes @ (means - values.mean()) ** 2)
    of_clusters -= float(noise @ (share - 1 / items)) + between * (number - 1)
    squares = float(sizes @ sizes)
    clustered = max(0.0, of_clusters / (items - squares / items))
    if alone:  # what clusters vary is what items vary
        return Spread(clustered, within)
    return Spread(between, within, clustered * squares / items)


def _numbered(names: Sequence[Hashable]) -> NDArray[np.int64]:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class TwoSided:
    """A two-sided test: its level of significance, and the power that is wanted."""

    alpha: float = 0.05
    power: float = 0.8

    def __post_init__(self) -> None:
        checked_confidence(self.alpha)
        if not 0.5 <= self.power < 1:
            raise ValueError(f"a power is from 0.5 to below 1, such as 0.8, not {self.power}")

    @property
    def errors(self) -> float:
        """How many standard errors the smallest difference is that is seen with this power."""
        return normal_quantile(1 - self.alpha) + NORMAL.inv_cdf(self.power)

    def power_of(self, difference: float, standard_error: float) -> float:
        """Return the chance that a true difference is found significant."""
        if not standard_error:
            return 1.0 if difference else self.alpha
        away, needed = abs(difference) / standard_error, normal_quantile(1 - self.alpha)
        return NORMAL.cdf(away - needed) + NORMAL.cdf(-away - needed)

    def smallest_difference(self, standard_error: float) -> float:
        """Return the difference that is found with the power that is wanted.

        That chance counts differences found with the right sign only; of those with the wrong one
        there are next to none (0.00004 at a power of 0.5 and a level of 0.05).
        """
        return self.errors * standard_error

    def items_needed(self, difference: float, spread: Spread, trials: float) -> int:
        """Return how many items with so many trials it takes to see a difference.

        Raises:
            ValueError: For a difference of 0, and as `Spread.of_item`.
        """
        if not difference:
            raise ValueError("no number of items shows a difference of 0")
        return max(2, math.ceil(spread.of_item(trials) * (self.errors / difference) ** 2))

    def trials_needed(self, difference: float, spread: Spread, items: int) -> int | None:
        """Return how many trials of each of so many items it takes to see a difference.

        None where no number of trials does. Raises `ValueError` as `items_needed`.
        """
        if self.items_needed(difference, spread, 1) <= items:
            return 1
        if spread.within is None:
            return None
        left = items * (difference / self.errors) ** 2 - spread.between - spread.shared
        return math.ceil(spread.within / left) if left > 0 else None
