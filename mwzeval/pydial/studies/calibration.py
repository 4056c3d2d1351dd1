"""How well probabilities of a yes agree with what came: Brier score, log loss, calibration.

Sources: Brier (1950); Murphy (1973); Naeini et al. (2015) for the expected calibration error.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    numbers = _numbered(probabilities, bins)
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
    numbers = _numbered(probabilities, bins)
    return float(np.abs(np.bincount(numbers, probabilities - outcomes)).sum() / len(probabilities))


def calibration_error_by_chance(
    probabilities: Numbers, lengths: Sequence[int], bins: int = BINS, *, draws: int = 200
) -> float:
    """Return the mean expected calibration error of probabilities that are right.

    Outcomes are drawn from them (Bröcker and Smith, 2007). `lengths` are the numbers of cases of
    dialogues, in their order: as what comes is the same for all of a dialogue, one number is drawn
    for it, and a yes is what is more probable.
    """
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(draws):
        drawn = np.repeat(rng.random(len(lengths)), lengths)
        outcomes = (drawn < probabilities).astype(np.float64)
        errors.append(expected_calibration_error(probabilities, outcomes, bins))
    return float(np.mean(errors))


def _numbered(probabilities: Numbers, bins: int) -> NDArray[np.int64]:
    """Return the numbers of the bins, shape (cases,)."""
    return np.minimum((probabilities * bins).astype(np.int64), bins - 1)
