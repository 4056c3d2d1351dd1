"""The closed-form interval of a rate, and the jackknife.

The jackknife computes a statistic with each unit left out in turn. The jackknife gives intervals of
statistics that are not functions of column sums.

For example, the number of distinct words is such a statistic. A resample repeats some units and
omits others. Words that occur in only one unit are therefore often missing, and every resampled
count is too low (docs/statistics.md simulates the coverage of the intervals). On average, the
jackknife does not underestimate the variance (Efron and Stein, Annals of Statistics 9, 1981), so
its intervals tend to be too wide. Jackknife intervals of differences are too wide to be used as a
test. Jackknife intervals are about the expected value of the statistic for the observed number of
units.

Do not use the jackknife for statistics that depend on the order of units, such as a segmental
type-token ratio: leaving one unit out moves all later windows. For a segmental type-token ratio
over 1,000 units, the jackknife's standard error was 2.7 times the true standard error. For such a
statistic, assign each window to the unit in which the window starts, and use two columns: the sum
of ratios, and the number of windows. In addition, resample blocks of ten units (`in_blocks`),
because windows connect neighboring units. With such blocks, the estimated standard error was 0.99
times the true standard error.

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

    Use the Wilson interval for rates with one case per unit (such as Success of dialogues). Unlike
    a bootstrap interval, the Wilson interval has a positive width even if the rate is 0 or 1. A
    rate of cases in clusters (turns of a dialogue) is a ratio of sums; resample the clusters
    instead.

    Source: Wilson, JASA 22, 1927.

    Raises:
        ValueError: If `n` is less than 1, or `successes` is not between 0 and `n`.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"the number of successes must be between 0 and {n}: got {successes}")
    z = normal_quantile(confidence)
    rate = successes / n
    shrinkage = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / shrinkage
    half = z * math.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2) / shrinkage
    # For 0 or n successes, one end is 0 or 1 in theory; this avoids rounding errors there.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(low, high, confidence, "wilson")


def normal_quantile(confidence: float) -> float:
    """Return z such that a standard normal variable is between -z and z with this probability."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class Jackknife:
    """A statistic's value, and its values with each unit left out in turn, shape (units,).

    The difference of two jackknives over the same units, in the same order, is a jackknife, too.
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
        """Return the value ± z standard errors (normal approximation)."""
        half = normal_quantile(confidence) * self.standard_error
        return Interval(self.value - half, self.value + half, confidence, "jackknife")
