"""Two systems compared unit by unit: who is ahead how often, and can that be chance?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class WinsTiesLosses:
    """On how many units the system is above, level with, and below the baseline."""

    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class McNemar:
    """On how many units only one of the two succeeds, and the exact two-sided p value."""

    only_system: int
    only_baseline: int
    p_value: float


def wins_ties_losses(
    system: NDArray[np.float64], baseline: NDArray[np.float64], *, tolerance: float = 0.0
) -> WinsTiesLosses:
    """Compare one value a unit, shape (units,) each; up to `tolerance` apart is a tie.

    Raises `ValueError` for different shapes or a value that is not a number.
    """
    if system.shape != baseline.shape or system.ndim != 1:
        raise ValueError(
            f"one value a unit is needed of both, not shapes {system.shape} and {baseline.shape}"
        )
    if np.isnan(system).any() or np.isnan(baseline).any():
        raise ValueError("a unit without a value neither wins nor loses: leave it out of both")
    wins = int(np.count_nonzero(system > baseline + tolerance))
    losses = int(np.count_nonzero(system < baseline - tolerance))
    return WinsTiesLosses(wins, system.size - wins - losses, losses)


def mcnemar(system: NDArray[np.float64], baseline: NDArray[np.float64]) -> McNemar:
    """Test whether two rates differ, from 0/1 outcomes of the same units, shape (units,) each.

    Given that one of the two fails, without a difference either is as likely to be the one: the
    p value is twice the smaller binomial tail, at most 1. Exact for any number of units.

    Raises `ValueError` for different shapes or outcomes other than 0 and 1.
    Source: McNemar, Psychometrika 12, 1947, in its exact (binomial) form.
    """
    for outcomes in (system, baseline):
        if not np.isin(outcomes, (0, 1)).all():
            raise ValueError("McNemar's test needs outcomes that are 0 or 1")
    from scipy.stats import binomtest  # takes longer to import than to run

    counted = wins_ties_losses(system, baseline)
    discordant = counted.wins + counted.losses
    if not discordant:
        return McNemar(0, 0, 1.0)
    # The smaller one, so that the p value is the same to the last bit for either order.
    p_value = binomtest(min(counted.wins, counted.losses), discordant).pvalue
    return McNemar(counted.wins, counted.losses, min(1.0, float(p_value)))
