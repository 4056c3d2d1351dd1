"""Pilot runs: what they tell of how two systems would differ by item and by trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.runs import pseudo_values
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.metrics.measure import Measure, ScoredTable, observed
from mwzeval.scores.score import WHOLE
from mwzeval.statistics.power import Spread, spread_of, spread_of_difference

PAIRED, INDEPENDENT, ALIKE = "paired", "independent", "alike"


@dataclass(frozen=True, slots=True, eq=False)
class Pilot:
    """One score of a pilot run: `value` of it all, and that of each trial, item → array.

    The score is shown with `places` decimals. `clusters` has the cluster of each item, where items
    of one are not independent.
    """

    name: str
    label: str
    value: float
    scores: Mapping[str, NDArray[np.float64]]
    places: int
    clusters: Mapping[str, str] | None = None

    @property
    def trials(self) -> int:
        """The most trials of an item."""
        return max((of_item.size for of_item in self.scores.values()), default=0)

    @property
    def rows(self) -> int:
        """How many trials there are of all items."""
        return sum(of_item.size for of_item in self.scores.values())

    @property
    def spread(self) -> Spread:
        """The variances of a trial's score."""
        return spread_of(list(self.scores.values()), self.clusters_of(self.scores))

    def clusters_of(self, items: Iterable[str]) -> list[str] | None:
        """Return the cluster of each item; None where there are none."""
        return None if self.clusters is None else [self.clusters[item] for item in items]


@dataclass(frozen=True, slots=True)
class Clustering:
    """How many clusters there are, how alike items of one are, and what that costs.

    `size` is the mean over items of how many items their cluster has, `correlation` that of the
    differences on two items of one cluster (intraclass), and `design_effect` how many times as many
    items it takes as if they were independent; both with one trial of each item.
    """

    number: int
    size: float
    variance: float
    correlation: float
    design_effect: float


def pilot_of(
    scored: ScoredTable,
    name: str | None,
    usual: Sequence[str],
    clusters: Mapping[str, str] | None = None,
) -> Pilot:
    """Return the score called `name` of a pilot run, else the first of the `usual` ones.

    The score of a trial is its jackknife pseudo-value, for a rate the outcome itself. Units that
    belong together when resampling (dialogues of a seed) are trials of one item.

    Raises:
        UsageError: When there is no such score, it is not one that single trials have, or there are
            less than two items or clusters.
    """
    table = scored.trial_rows
    measure = _measure(scored, table.columns, name, usual)
    if scored.trials is not None:
        items = scored.trials.items
    else:
        items = tuple(table.units[row - row % measure.block] for row in range(len(table.units)))
    cases = np.ones(len(items)) if measure.cases is None else table.column(measure.cases)
    kept = [item for item, is_case in zip(items, cases > 0, strict=True) if is_case]
    grouped: dict[str, list[float]] = {}
    values = pseudo_values(measure, table)
    if not np.isfinite(values).all():
        raise UsageError(f"{measure.name} has no value for some trials, so their spread is unknown")
    for item, value in zip(kept, values.tolist(), strict=True):
        grouped.setdefault(item, []).append(value)
    if len(grouped) < 2:
        raise UsageError(f"a pilot run needs at least two items with {measure.name}")
    if clusters is not None and len({clusters[item] for item in grouped}) < 2:
        raise UsageError(
            f"all items with {measure.name} are of one cluster, which tells nothing of others: "
            "take a pilot run with more, or a column with smaller ones (--cluster-column)"
        )
    return Pilot(
        measure.name,
        measure.label,
        measure.value(observed(table)),
        {item: np.array(of_item) for item, of_item in grouped.items()},
        measure.places,
        clusters,
    )


def _measure(
    scored: ScoredTable, columns: Sequence[str], name: str | None, usual: Sequence[str]
) -> Measure:
    """Return a score that is a mean over trials."""
    known = {
        measure.name: measure
        for measure in scored.measures
        if measure.scope == WHOLE
        and measure.known is None
        and (measure.cases is None or measure.cases in columns)
        and (measure.block == 1 or scored.trials is None)
    }
    asked = usual if name is None else (name,)
    for each in asked:
        if each in known:
            return known[each]
    if name is None and known:
        return next(iter(known.values()))
    there = ", ".join(known) or "none"
    raise UsageError(
        f'no score "{shorten(asked[0])}" of single trials{did_you_mean(asked[0], known)} '
        f"(there are: {there})"
    )


def spreads_of_difference(pilots: Mapping[str, Pilot]) -> dict[str, Spread]:
    """Return the spread of the difference of two systems, by what is assumed of them.

    Of two pilots it is `PAIRED`, over the items that both have. A single one does not tell how far
    another system finds the same items hard, only the two ends, both with its variances:
    `INDEPENDENT`, not at all, so that pairing is for nothing; `ALIKE`, as another run of the pilot
    would, which needs second trials of items.

    Raises:
        UsageError: For two pilots without two common items, and when only one has trials.
    """
    if len(pilots) == 1:
        (spread,) = (pilot.spread for pilot in pilots.values())
        spreads = {INDEPENDENT: spread + spread}
        if spread.within is not None:
            spreads[ALIKE] = Spread(0, 2 * spread.within)
        return spreads
    system, baseline = pilots.values()
    common = [item for item in system.scores if item in baseline.scores]
    if len(common) < 2:
        raise UsageError(f"two pilot runs need the same items: {len(common)} are in both")
    mine, theirs = ([pilot.scores[item] for item in common] for pilot in (system, baseline))
    clusters = system.clusters_of(common)
    if clusters is not None and len(set(clusters)) < 2:
        raise UsageError("all common items of the two pilot runs are of one cluster")
    try:
        return {PAIRED: spread_of_difference(mine, theirs, clusters)}
    except ValueError:
        names = " or ".join(name for name, pilot in pilots.items() if pilot.trials == 1)
        raise UsageError(
            f"no item has a second trial in {names}: give two pilot runs with trials, or two "
            "without, or one"
        ) from None


def clustering_of(pilots: Mapping[str, Pilot], spread: Spread) -> Clustering | None:
    """Return what clusters do to a difference with this spread; None where there are none."""
    first, *others = pilots.values()
    items = [item for item in first.scores if all(item in other.scores for other in others)]
    clusters = first.clusters_of(items)
    if clusters is None:
        return None
    sizes = np.array(list(Counter(clusters).values()), dtype=np.float64)
    size = float(sizes @ sizes / sizes.sum())
    variance = spread.shared / size
    whole = variance + spread.between + (spread.within or 0)
    correlation = variance / whole if whole else 0.0
    return Clustering(sizes.size, size, variance, correlation, 1 + (size - 1) * correlation)
