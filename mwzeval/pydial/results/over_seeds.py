"""Statistics over seeds: how sure a mean is, and which differences are more than luck.

A policy that learns differs from seed to seed by tens of points. Below `FEWEST_SEEDS` nothing is
said beyond the mean: with three seeds the t interval reaches 2.5 standard deviations either way.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from mwzeval.scores.score import Interval
from mwzeval.statistics.intervals import CONFIDENCE
from mwzeval.statistics.runs import FEWEST_RUNS
from mwzeval.statistics.tests import holm

FEWEST_SEEDS = FEWEST_RUNS
"""With fewer there are neither intervals nor tests."""
PUBLISHED_SEEDS, PUBLISHED_TESTS = 10, 500
"""Of each figure of the paper."""
ROUNDED = 0.05
"""The paper's figures are rounded to one decimal place."""
NO_LIMITS = (-math.inf, math.inf)

Key = TypeVar("Key", bound=Hashable)


def interval_over_seeds(
    values: Sequence[float],
    confidence: float = CONFIDENCE,
    limits: tuple[float, float] = NO_LIMITS,
) -> Interval | None:
    """Return the t interval of the mean over seeds, cut off at limits; None for too few seeds."""
    if len(values) < FEWEST_SEEDS:
        return None
    from scipy.stats import t

    array = np.asarray(values, dtype=np.float64)
    error = float(array.std(ddof=1)) / math.sqrt(len(array))
    reach = float(t.ppf(0.5 + confidence / 2, len(array) - 1)) * error
    mean = float(array.mean())
    low, high = max(mean - reach, limits[0]), min(mean + reach, limits[1])
    return Interval(low, high, confidence, "t-over-seeds")


def p_value_over_seeds(mine: Mapping[int, float], theirs: Mapping[int, float]) -> float | None:
    """Return the two-sided p value of a paired t test over seeds; None for too few in common.

    Seeds are pairs, because both had the same confusions and the same users in their tests.
    """
    seeds = sorted(set(mine) & set(theirs))
    if len(seeds) < FEWEST_SEEDS:
        return None
    from scipy.stats import t

    differences = np.array([mine[seed] - theirs[seed] for seed in seeds])
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(len(seeds))
    if error == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2 * t.sf(abs(mean / error), len(seeds) - 1))


def p_value_to_published(
    values: Sequence[float], published: float, least_deviation: float
) -> float | None:
    """Return the two-sided p value of the difference to a mean over the paper's seeds.

    The spread of the paper's seeds is not published. It is taken to be that of one's own, so that
    the error of the difference is s √(1/n + 1/10), with n - 1 degrees of freedom: Welch's test with
    the one spread that is known. `least_deviation` is that of a seed's figure from test dialogues
    alone, below which the spread of the paper's seeds cannot be. None for too few seeds. What the
    paper's rounding explains is no difference.
    """
    if len(values) < FEWEST_SEEDS:
        return None
    from scipy.stats import t

    array = np.asarray(values, dtype=np.float64)
    own = float(array.var(ddof=1))
    theirs = max(own, least_deviation**2)
    error = math.sqrt(own / len(array) + theirs / PUBLISHED_SEEDS)
    difference = max(0.0, abs(float(array.mean()) - published) - ROUNDED)
    if difference == 0.0:
        return 1.0
    return float(2 * t.sf(difference / error, len(array) - 1)) if error else 0.0


def least_deviation(success_rates: Sequence[float]) -> float:
    """Return the standard deviation, in percent, of a seed's mean success rate over tasks.

    `success_rates` (percent) are those of the paper in the tasks: the binomial deviation of its
    test dialogues.
    """
    variances = [rate * (100 - rate) / PUBLISHED_TESTS for rate in success_rates]
    return math.sqrt(sum(variances)) / len(variances)


def corrected(p_values: Mapping[Key, float | None]) -> dict[Key, float]:
    """Return p values after Holm's correction over all that are there."""
    known = {key: p for key, p in p_values.items() if p is not None}
    return dict(zip(known, holm(list(known.values())), strict=True))


def best_of(values: Mapping[str, Mapping[int, float]]) -> str:
    """Return the policy with the highest mean over its seeds. Raises `ValueError` without any."""
    means = {policy: float(np.mean(list(of.values()))) for policy, of in values.items()}
    return max(means, key=means.__getitem__)


def all_seeds(seeds: Iterable[int]) -> str:
    """Return seeds in words: "0-9", "3, 7, 101-110"."""
    ranges: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
