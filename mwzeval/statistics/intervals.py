"""The closed-form interval of a rate, and what all intervals have in common.

Intervals of statistics that are no function of column sums, by leaving out one unit at a time.

Distinct words are the case in point. A resample repeats units and so misses about e⁻¹ of the words
that occur in one unit only: every resampled count is too low. In simulated dialogues (Zipfian words
with topics; 100 and 300 units, 1,382 and 2,499 distinct words) the nominal 95 % percentile and
basic bootstrap intervals covered the true expectation never, the one shifted by the bootstrap's
bias in 89 and 93 % of 400 and 250 trials, the jackknife's in 97 and 97 %. For entropy they covered
it in 88 and 89, 80 and 83, 94 and 92, and 95 and 93 %. Hence the jackknife, which needs no seed
either. Its variance is on average not too small (Efron and Stein, Annals of Statistics 9, 1981), so
its intervals are wide rather than narrow.

What the interval is of: the expectation of the statistic over as many units as were observed.
Distinct words grow with the number of units; only numbers from equally many units compare.

For the difference of two systems the interval is wider still (zero was outside in 0.7 % of 300
trials without a difference), so it is no test; comparisons do not test scores of types.

Not for statistics that depend on the order of units, such as a segmental type-token ratio. Leaving
one unit out moves all later windows; the standard error was 1.4 times the true one for 200 units,
2.7 times for 1000. Give each window to the unit where it starts, in two columns (ratios, windows),
and resample ten units at a time (`in_blocks`), as windows tie neighbours together: the standard
error was then 0.99 of the true one for 1000 units, and 0.88 without blocks.

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
    clusters (turns of a dialogue) is a ratio of sums: use `bootstrap_interval`.

    Source: Wilson, JASA 22, 1927.

    Raises:
        ValueError: Without cases, or when successes are not between 0 and `n`.
    """
    if n < 1:
        raise ValueError("a rate of no cases has no interval")
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes are not between 0 and {n} cases")
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
    return NormalDist().inv_cdf((1 + checked_confidence(confidence)) / 2)


def checked_confidence(confidence: float) -> float:
    """Return `confidence`. Raises `ValueError` when it is not strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence is between 0 and 1, such as 0.95, not {confidence}")
    return confidence


@dataclass(frozen=True, slots=True, eq=False)
class Jackknife:
    """A statistic's value, and its values with each unit left out in turn, shape (units,).

    The difference of two, over the same units in the same order, is again a jackknife.
    """

    value: float
    left_out: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.left_out.ndim != 1 or self.left_out.size < 2:
            raise ValueError("leaving out one unit needs at least two units")

    def __sub__(self, baseline: Jackknife) -> Jackknife:
        if self.left_out.shape != baseline.left_out.shape:
            raise ValueError("a paired difference needs the same units")
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
