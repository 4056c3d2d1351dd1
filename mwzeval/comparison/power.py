"""The number of items and trials that are needed to detect a difference between two systems.

A trial's score is modeled as the sum of a system effect, an item effect, a system × item effect and
a trial effect. Two systems are tested on the same items, so item effects cancel in the difference
of the systems. The variance of the difference over G items with T trials by each system is
(`between` + `within` / T) / G. `between` is the variance between items of the expected difference,
and `within` is the variance between trials of an item. The test of the mean difference is two-sided
and uses the normal approximation. The variances are estimated from the pilot run, even if the
assumed difference is large.

If items within a cluster are dependent, the model also has a cluster effect, and the variance is
(`shared` + `between` + `within` / T) / G. `shared` is the variance between clusters, multiplied by
the number of items per cluster. It is assumed that additional items are in clusters of the same
size as in the pilot run.

Source: Searle, Casella and McCulloch, Variance Components, 1992, chapter 3 (unequal numbers);
Kish, Survey Sampling, 1965, chapter 5 (design effect); Miller, "Adding Error Bars to Evals", 2024
(paired power with repeated samples).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.comparison import FEW_CLUSTERS
from mwzeval.comparison.runs import pseudo_values
from mwzeval.comparison.systems import check_comparable
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.metrics.measure import Measure, ScoredTable, observed
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import Document, plural, sheet
from mwzeval.statistics.intervals import normal_quantile

GOALS = (50, 100, 200, 500, 1000)
TRIALS = (1, 2, 4, 8)

PAIRED, INDEPENDENT, ALIKE = "paired", "independent", "alike"
ASSUMPTIONS = {
    PAIRED: "paired: assuming that the systems agree as often as the two pilot runs do",
    INDEPENDENT: "independent: assuming that the systems fail on unrelated items (worst case)",
    ALIKE: "alike: assuming that the systems fail on the same items (best case)",
}
CLUSTERED = (
    "clusters: assuming clusters as large as the pilot's; adding clusters helps more than "
    "adding items to a cluster"
)


@dataclass(frozen=True, slots=True)
class Spread:
    """Variance components of the score of a trial, in the squared unit of the score.

    `between` is the variance between items, and `within` the variance between trials of an item. If
    no item has a second trial, the two variances cannot be distinguished: then `within` is None,
    and `between` is the variance of a single trial. With dependent items, `shared` is the variance
    between clusters times the number of items per cluster, and `between` is the variance between
    items of one cluster.
    """

    between: float
    within: float | None
    shared: float = 0.0

    def of_item(self, trials: float) -> float:
        """Return the variance of an item's mean over the given number of trials (at least 1)."""
        return self.shared + self.between + (self.within or 0) / trials

    def standard_error(self, items: int, trials: float) -> float:
        """Return the standard error of the mean over the given numbers of items and trials."""
        return math.sqrt(self.of_item(trials) / items)


def spread_of(
    *systems: Sequence[NDArray[np.float64]], clusters: Sequence[Hashable] | None = None
) -> Spread:
    """Return the variance components of a system's trials, or of the difference of two systems.

    The sums of squares within items, within clusters and between clusters are equated with their
    expectations. `clusters` has the cluster of each item (at least two clusters in total); by
    default, each item is a cluster. The estimates are unbiased, except that an estimate below 0 is
    reported as 0.

    Raises:
        UsageError: If there are fewer than two items or clusters, or if only one of two systems has
            several trials per item.
    """
    items = len(systems[0])
    if items < 2 or (clusters and len(set(clusters)) < 2):
        raise UsageError(
            "a pilot run (or two runs in common) needs at least two items and two clusters "
            f"(--cluster-column): there are {items} items of "
            f"{plural(len(set(clusters or ())), 'cluster')}"
        )
    counts = np.array([[of_item.size for of_item in scores] for scores in systems])
    means = np.array([[of_item.mean() for of_item in scores] for scores in systems])
    second = counts.sum(axis=1) - items
    if second.any() and not second.all():
        raise UsageError(
            "only one of the two pilot runs has items with a second trial: give one run, or two "
            "runs that both have trials or both have none"
        )
    squares = [sum(float(((s - s.mean()) ** 2).sum()) for s in scores) for scores in systems]
    within = np.array(squares) / np.maximum(second, 1)
    noise = (within[:, np.newaxis] / counts).sum(axis=0)
    values = means[0] - means[1:].sum(axis=0)

    numbers = {name: number for number, name in enumerate(dict.fromkeys(clusters or range(items)))}
    places = np.array([numbers[name] for name in clusters or range(items)], dtype=np.int64)
    sizes = np.bincount(places)
    averages = np.bincount(places, weights=values) / sizes
    share = 1 / sizes[places]
    of_items = float(((values - averages[places]) ** 2 - noise * (1 - share)).sum())
    between = 0.0 if sizes.size == items else max(0.0, of_items / (items - sizes.size))
    of_clusters = float(sizes @ (averages - values.mean()) ** 2)
    of_clusters -= float(noise @ (share - 1 / items)) + between * (sizes.size - 1)
    of_sizes = float(sizes @ sizes)
    clustered = max(0.0, of_clusters / (items - of_sizes / items))
    of_trials = float(within.sum()) if second.any() else None
    if sizes.size == items:  # each cluster is one item
        return Spread(clustered, of_trials)
    return Spread(between, of_trials, clustered * of_sizes / items)


@dataclass(frozen=True, slots=True)
class TwoSided:
    """A two-sided test: its significance level, and the desired power (0.5 or more)."""

    alpha: float = 0.05
    power: float = 0.8

    @property
    def errors(self) -> float:
        """The smallest difference that is detected with this power, in standard errors.

        The power counts only differences with the correct sign. The probability of the wrong sign
        is negligible (0.00004 at a power of 0.5 and a level of 0.05).
        """
        return normal_quantile(1 - self.alpha) + NormalDist().inv_cdf(self.power)

    def power_of(self, difference: float, standard_error: float) -> float:
        """Return the probability that the test finds a true difference significant."""
        if not standard_error:
            return 1.0 if difference else self.alpha
        away, needed = abs(difference) / standard_error, normal_quantile(1 - self.alpha)
        return NormalDist().cdf(away - needed) + NormalDist().cdf(-away - needed)

    def items_needed(self, difference: float, spread: Spread, trials: float) -> int:
        """Return the number of items that are needed to detect a nonzero difference."""
        return max(2, math.ceil(spread.of_item(trials) * (self.errors / difference) ** 2))

    def trials_needed(self, difference: float, spread: Spread, items: int) -> int | None:
        """Return the number of trials per item that are needed to detect a nonzero difference.

        Returns None if no number of trials is enough.
        """
        if self.items_needed(difference, spread, 1) <= items:
            return 1
        if spread.within is None:
            return None
        left = items * (difference / self.errors) ** 2 - spread.between - spread.shared
        return math.ceil(spread.within / left) if left > 0 else None


@dataclass(frozen=True, slots=True, eq=False)
class Pilot:
    """One score of a pilot run: the overall `value`, and the score of each of the `trials` by item.

    `clusters` has the cluster of each item; None if the items are independent.
    """

    label: str
    value: float
    places: int
    scores: Mapping[str, NDArray[np.float64]]
    clusters: Mapping[str, str] | None
    spread: Spread
    trials: int


def pilots_of(
    systems: Mapping[str, ScoredTable],
    name: str | None,
    usual: Sequence[str],
    clusters: Mapping[str, str] | None = None,
) -> dict[str, Pilot]:
    """Return the score `name` of each pilot run, by default the first of the `usual` scores.

    The score of a trial is its jackknife pseudo-value; for a rate, this value is the 0/1 outcome of
    the trial. If units are resampled together (such as the dialogues of a seed), the units are
    trials of one item.

    Raises:
        UsageError: If the score does not exist, is not defined for single trials, has different
            signatures, or has fewer than two items or clusters.
    """
    pilots = {}
    for system, scored in systems.items():
        known = {
            measure.name: measure
            for measure in scored.measures
            if measure.scope == WHOLE
            and measure.known is None
            and (measure.cases is None or measure.cases in scored.trial_rows.columns)
            and (measure.block == 1 or scored.trials is None)
        }
        names = (*usual, *known) if name is None else (name,)
        chosen = next((score for score in names if score in known), None)
        if chosen is None:
            what = f'"{shorten(names[0])}" for single trials{did_you_mean(names[0], known)}'
            raise UsageError(f"no score {what} (there are: {', '.join(known) or 'none'})")
        pilots[system] = _pilot(scored, known[chosen], clusters)
        check_comparable(systems, chosen)
    return pilots


def _pilot(scored: ScoredTable, measure: Measure, clusters: Mapping[str, str] | None) -> Pilot:
    table = scored.trial_rows
    if scored.trials is not None:
        items = scored.trials.items
    else:
        items = tuple(table.units[row - row % measure.block] for row in range(len(table.units)))
    cases = np.ones(len(items)) if measure.cases is None else table.column(measure.cases)
    kept = [item for item, is_case in zip(items, cases > 0, strict=True) if is_case]
    if len(set(kept)) < 2:
        raise UsageError(f"a pilot run needs at least two items with {measure.name}")
    values = pseudo_values(measure, table)
    if not np.isfinite(values).all():
        raise UsageError(f"{measure.name} has no value for some trials, so their spread is unknown")
    grouped: dict[str, list[float]] = {}
    for item, value in zip(kept, values.tolist(), strict=True):
        grouped.setdefault(item, []).append(value)
    scores = {item: np.array(of_item) for item, of_item in grouped.items()}
    of_items = [clusters[item] for item in scores] if clusters else None
    spread = spread_of(list(scores.values()), clusters=of_items)
    value = measure.value(observed(table))
    return Pilot(measure.label, value, measure.places, scores, clusters, spread, len(kept))


class Clustering(NamedTuple):
    """The number of clusters, the correlation of items within a cluster, and the design effect.

    `size` is the mean cluster size over all items (not over all clusters). `correlation` is the
    intraclass correlation of the differences on two items of a cluster. `design_effect` is the
    required number of items divided by the number that independent items require. `size`,
    `correlation` and `design_effect` assume one trial per item.
    """

    number: int
    size: float
    variance: float
    correlation: float
    design_effect: float


def _spreads_of_difference(
    pilots: Mapping[str, Pilot],
) -> tuple[dict[str, Spread], Clustering | None]:
    """Return the spread of the difference of two systems under each possible assumption.

    For two pilots, the assumption is `PAIRED`, over the items that both pilots have. A single pilot
    gives two extremes, both with the variances of the pilot: `INDEPENDENT` assumes that items that
    are difficult for one system are no more difficult for the other. `ALIKE` assumes that the other
    system is like a second run of the pilot, which requires items with several trials.
    """
    first, *others = pilots.values()
    common = [item for item in first.scores if all(item in pilot.scores for pilot in others)]
    clusters = [first.clusters[item] for item in common] if first.clusters else None
    if others:
        both = ([pilot.scores[item] for item in common] for pilot in pilots.values())
        spreads = {PAIRED: spread_of(*both, clusters=clusters)}
    else:
        own = first.spread
        twice = None if own.within is None else 2 * own.within
        spreads = {INDEPENDENT: Spread(2 * own.between, twice, 2 * own.shared)}
        if twice is not None:
            spreads[ALIKE] = Spread(0, twice)
    if clusters is None:
        return spreads, None
    sizes = np.array(list(Counter(clusters).values()), dtype=np.float64)
    size = float(sizes @ sizes / sizes.sum())
    spread = next(iter(spreads.values()))
    variance = spread.shared / size
    whole = variance + spread.between + (spread.within or 0)
    correlation = variance / whole if whole else 0.0
    design_effect = 1 + (size - 1) * correlation
    return spreads, Clustering(sizes.size, size, variance, correlation, design_effect)


def power_document(
    pilots: Mapping[str, Pilot],
    test: TwoSided,
    *,
    difference: float | None = None,
    goals: Sequence[int] = (),
    trials: Sequence[int] = (),
    in_corpus: int | None = None,
    places: int | None = None,
) -> Document:
    """Return the differences that one or two pilot runs can detect, and advice on sample sizes.

    `difference` is the difference to detect, in the unit of the score; None means that the smallest
    detectable differences are returned. `goals` lists numbers of items, and `trials` lists numbers
    of trials per item. `in_corpus` is the number of items in the corpus; None if more can be
    created. `places` are decimals.

    Raises:
        UsageError: If several `trials` are given but the pilot has one trial per item, or if two
            pilot runs have equal scores on all items.
    """
    spreads, clustering = _spreads_of_difference(pilots)
    has_trials = all(spread.within is not None for spread in spreads.values())
    if not has_trials and max(trials, default=1) > 1:
        raise UsageError(
            "no item of the pilot run has a second trial, so the effect of more trials is "
            "unknown: leave out --trials, or try some items again"
        )
    if not any(spread.of_item(1) for spread in spreads.values()):
        what = "score the same" if len(pilots) == 1 else "differ by the same"
        raise UsageError(
            f"this pilot run cannot be used for planning: all its items {what}, so the variance "
            "between items is unknown; use a run that neither passes nor fails everything"
        )
    usual = {*GOALS, *(len(pilot.scores) for pilot in pilots.values())}
    if in_corpus is not None:
        usual = {min(number, in_corpus) for number in usual} | {in_corpus}
    items = sorted(goals or usual)
    trials = trials or (TRIALS if has_trials else (1,))
    first = next(iter(pilots.values()))
    decimals = first.places if places is None else places

    def detects(spread: Spread, number: int, n_trials: float) -> str:
        return f"{test.errors * spread.standard_error(number, n_trials):.{decimals}f} points"

    def advised(spread: Spread) -> str:
        if difference is None:
            return f"differences of {detects(spread, max(items), max(trials))} or more"
        most = max(items) if goals else in_corpus
        needed = test.items_needed(difference, spread, 1)
        if most is None or needed <= most:
            return f"take 1 trial of {plural(needed, 'item')}"
        number = test.trials_needed(difference, spread, most)
        if number is not None:
            return (
                f"take {number} trials of each of {most:,} items ({most * number:,} in all; with "
                f"more items, 1 trial of {needed:,} is enough)"
            )
        than = ", more than the corpus has" if needed > (in_corpus or needed) else ""
        what = "with 1 trial" if spread.within is None else "with any number of trials"
        return (
            f"{needed:,} items are needed{than}: with {most:,} items, no difference below "
            f"{detects(spread, most, math.inf)} is detected {what}"
        )

    header = ["items × trials", "in all", *spreads]
    title = f"Smallest difference that is detected with {100 * test.power:g} % probability"
    if difference is not None:
        header += [f"power {name}" for name in spreads]
        title += f", and power (%) at {difference:g} points"
    designs: list[dict[str, Any]] = []
    cells = []
    for number, n_trials in product(items, trials):
        row, powers = [f"{number} × {n_trials}", str(number * n_trials)], []
        for name, spread in spreads.items():
            error = spread.standard_error(number, n_trials)
            smallest = test.errors * error
            power = None if difference is None else test.power_of(difference, error)
            design = {"items": number, "trials": n_trials, "assumption": name}
            designs.append({**design, "smallest_difference": smallest, "power": power})
            row.append(f"{smallest:.{decimals}f}")
            powers += [] if power is None else [f"{100 * power:.0f}"]
        cells.append([*row, *powers])
    if difference is None:
        largest = plural(max(items), "item"), plural(max(trials), "trial")
        advice = f"{largest[0]} with {largest[1]} each detect "
    else:
        advice = f"to detect {difference:g} points, "
    advice += "; in the best case, ".join(map(advised, spreads.values()))
    if in_corpus is None or max(items) < in_corpus:
        advice += "; adding items helps more than adding as many trials"
    heading = [
        *_about_pilots(pilots, clustering, decimals),
        f"two systems on the same items, two-sided test at {100 * test.alpha:g} %, differences in "
        "points of the score",
    ]
    if in_corpus is not None:
        text = f"the corpus has {plural(in_corpus, 'item')}"
        too_few = f"caution: {text}, fewer than some rows of the table need"
        heading.append(too_few if max(items) > in_corpus else text)
    notes = [*(ASSUMPTIONS[name] for name in spreads), *([CLUSTERED] if clustering else [])]
    return Document(
        heading=tuple(heading),
        sheets=(sheet(title, header, cells),),
        notes=(*notes, f"advice: {advice}"),
        records=tuple(designs),
        plain={
            "score": first.label,
            "pilots": {
                name: {
                    "value": pilot.value,
                    "items": len(pilot.scores),
                    "trials": pilot.trials,
                    "variance_between_items": pilot.spread.between,
                    "variance_between_trials": pilot.spread.within,
                }
                for name, pilot in pilots.items()
            },
            "difference": difference,
            "items_in_corpus": in_corpus,
            "power": test.power,
            "alpha": test.alpha,
            "variance_of_difference": {
                name: {
                    "between_items": spread.between,
                    "between_trials": spread.within,
                    **({"between_clusters": spread.shared / clustering.size} if clustering else {}),
                }
                for name, spread in spreads.items()
            },
            **({"clusters": clustering._asdict()} if clustering else {}),
            "designs": designs,
            "advice": advice,
        },
    )


def _about_pilots(
    pilots: Mapping[str, Pilot], clustering: Clustering | None, decimals: int
) -> Iterator[str]:
    for name, pilot in pilots.items():
        spread, items = pilot.spread, plural(len(pilot.scores), "item")
        about = f"{pilot.label} of {name}: {pilot.value:.{decimals}f}"
        if spread.within is None:
            yield (
                f"{about} over {items}, 1 trial each, which does not show the effect of more trials"
            )
            continue
        between = spread.between + (spread.shared / clustering.size if clustering else 0)
        whole = between + spread.within
        share = 100 * between / whole if whole else 0
        yield (
            f"{about} over {items}, {pilot.trials} trials; {share:.0f} % of the variance of a "
            f"trial is between items, {100 - share:.0f} % between trials of an item"
        )
    if clustering:
        clusters = plural(clustering.number, "cluster")
        yield (
            f"{clusters}: differences on items of the same cluster have a correlation of "
            f"{clustering.correlation:.2f}; a cluster has {clustering.size:.1f} items on "
            f"average, so {clustering.design_effect:.1f} times as many items are needed as with "
            "independent items (design effect)"
        )
        if clustering.number < FEW_CLUSTERS:
            yield (
                f"caution: {clusters} are few for estimating the correlation; the results are rough"
            )
