"""The closed-form interval of a rate, and what all intervals have in common.

Intervals of statistics that are no function of column sums, by leaving out one unit at a time.

Distinct words are the case in point: a resample repeats units and so misses words that occur in one
unit only, hence every resampled count is too low (docs/statistics.md has a simulation of how often
intervals cover the truth). The jackknife's variance is on average not too small (Efron and Stein,
Annals of Statistics 9, 1981), so its intervals are wide rather than narrow; those of differences
are too wide for a test. They are of the expectation over as many units as were observed.

Not for statistics that depend on the order of units, such as a segmental type-token ratio: leaving
one unit out moves all later windows (for 1000 units the standard error was 2.7 times the true one).
Give each window to the unit where it starts, in two columns (ratios, windows), and resample ten
units at a time (`in_blocks`), as windows tie neighbours together (0.99 times the true one).

Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.score import Interval

CONFIDENCE = 0.95


def wilson(successes: float, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the interval, within 0 and 1, of a rate of `successes` in `n` independent cases.

    For rates whose cases are the units themselves (Success of dialogues). It stays honest where
    resampling cannot: with no or only successes it is not empty. A rate of cases that come in
    clusters (turns of a dialogue) is a ratio of sums: resample it.

    Source: Wilson, JASA 22, 1927.

    Raises:
        ValueError: Unless 0 ≤ successes ≤ n and n ≥ 1.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"the number of successes must be between 0 and {n}: got {successes}")
    z = normal_quantile(confidence)
    rate = successes / n
    shrinkage = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / shrinkage
    half = z * math.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2) / shrinkage
    # The ends that are exact in theory are made exact in floating point.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(low, high, confidence, "wilson")


def normal_quantile(confidence: float) -> float:
    """Return z with `confidence` of a standard normal between -z and z."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class Jackknife:
    """A statistic's value, and its values with each unit left out in turn, shape (units,).

    The difference of two, over the same units in the same order, is again a jackknife.
    """

    value: float
    left_out: NDArray[np.float64]

    def __sub__(self, baseline: Jackknife) -> Jackknife:
        return Jackknife(self.value - baseline.value, self.left_out - baseline.left_out)

    @property
    def standard_error(self) -> float:
        """The jackknife estimate of the statistic's standard deviation."""
        n = self.left_out.size
        return math.sqrt((n - 1) * float(np.var(self.left_out)))

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return value ± z standard errors (normal approximation)."""
        half = normal_quantile(confidence) * self.standard_error
        return Interval(self.value - half, self.value + half, confidence, "jackknife")
