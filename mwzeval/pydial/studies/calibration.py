"""How well probabilities of a yes agree with what came: Brier score, log loss, calibration.

Sources: Brier (1950); Murphy (1973); Naeini et al. (2015) for the expected calibration error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 10
LEAST = 1e-15
"""Probabilities are held so far from 0 and 1 in logarithms."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bin:
    """Estimates between `low` and `high`: how many, their mean, and the share of yes among them."""

    low: float
    high: float
    cases: int
    estimated: float
    observed: float


def brier(probabilities: Numbers, outcomes: Numbers) -> float:
    """Return the mean squared difference of probabilities and outcomes (0 or 1); 0 is best.

    Both have shape (cases,), with at least one case.
    """
    return float(np.mean((probabilities - outcomes) ** 2))


def log_loss(probabilities: Numbers, outcomes: Numbers) -> float:
    """Return the mean negative logarithm of the probability of what came, in nats; 0 is best.

    Both have shape (cases,), with at least one case; outcomes are 0 or 1.
    """
    held = np.clip(probabilities, LEAST, 1 - LEAST)
    return float(-np.mean(outcomes * np.log(held) + (1 - outcomes) * np.log(1 - held)))


def reliability(probabilities: Numbers, outcomes: Numbers, bins: int = BINS) -> tuple[Bin, ...]:
    """Return the bins of equal width that have cases, in rising order; the last includes 1.

    `probabilities` are from 0 to 1 and `outcomes` 0 or 1, both of shape (cases,).
    """
    numbers = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
    return tuple(
        Bin(
            number / bins,
            (number + 1) / bins,
            int(inside.sum()),
            float(probabilities[inside].mean()),
            float(outcomes[inside].mean()),
        )
        for number in range(bins)
        if (inside := numbers == number).any()
    )


def expected_calibration_error(
    probabilities: Numbers, outcomes: Numbers, bins: int = BINS
) -> float:
    """Return the mean difference of estimate and share of yes over bins, weighted by their cases.

    It is 0 at best, and above that by chance where there are few cases. Arguments are those of
    `reliability`.
    """
    found = reliability(probabilities, outcomes, bins)
    return sum(b.cases * abs(b.estimated - b.observed) for b in found) / len(probabilities)
