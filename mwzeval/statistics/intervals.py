"""The closed-form interval of a rate, and what all intervals have in common."""

from __future__ import annotations

import math
from statistics import NormalDist

from mwzeval.scores.score import Interval

CONFIDENCE = 0.95


def wilson(successes: float, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the interval, within 0 and 1, of a rate of `successes` in `n` independent cases.

    For rates whose cases are the units themselves (Success of dialogues). It stays honest where
    resampling cannot: with no or only successes it is not empty. A rate of cases that come in
    clusters (turns of a dialogue) is a ratio of sums: use `bootstrap_interval`.

    Raises `ValueError` without cases, or when successes are not between 0 and `n`.
    Source: Wilson, JASA 22, 1927.
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
