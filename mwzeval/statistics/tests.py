"""Exact tests of two systems; Holm's correction and ranks for several systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class WinsTiesLosses:
    """The numbers of units on which a system scores above, equal to, and below the baseline."""

    wins: int
    ties: int
    losses: int


def wins_ties_losses(
    system: NDArray[np.float64], baseline: NDArray[np.float64], *, tolerance: float = 0.0
) -> WinsTiesLosses:
    """Compare two systems by their scores per unit, shape (units,), with a `tolerance` for ties."""
    wins = int(np.count_nonzero(system > baseline + tolerance))
    losses = int(np.count_nonzero(system < baseline - tolerance))
    return WinsTiesLosses(wins, system.size - wins - losses, losses)


def mcnemar(system: NDArray[np.float64], baseline: NDArray[np.float64]) -> float:
    """Return the p value of the difference of two rates, from 0/1 outcomes of the same units.

    If the systems do not differ, both are equally likely to fail a unit that only one system fails.
    The p value is twice the smaller binomial tail, at most 1. The p value is exact for any number
    of units. Source: McNemar, Psychometrika 12, 1947, in its exact (binomial) form.
    """
    counted = wins_ties_losses(system, baseline)
    fewer, n = min(counted.wins, counted.losses), counted.wins + counted.losses
    if n > MOST_EXACT:
        from scipy.stats import binomtest  # slower to import than the rest of a comparison

        return min(1.0, float(binomtest(fewer, n).pvalue))
    ways = tail = 1
    for heads in range(fewer):
        ways = ways * (n - heads) // (heads + 1)
        tail += ways
    p_value: float = 2 * tail / (1 << n)
    return min(1.0, p_value)


MOST_EXACT = 10_000
"""The maximum number of cases for which the p value is computed with integers (in a few
milliseconds)."""


@dataclass(frozen=True, slots=True)
class Place:
    """The rank of a system, and the range of ranks that the tests do not exclude.

    `rank` is 1 + the number of significantly better systems. `worst` is the number of systems that
    are not significantly worse, including the system itself.
    """

    rank: int
    worst: int


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p values, adjusted for the number of tests, in the same order.

    If adjusted p values up to α are called significant, the probability of any false positive is at
    most α, however the tests depend on each other. Source: Holm, "A Simple Sequentially Rejective
    Multiple Test Procedure", 1979.
    """
    adjusted = [0.0] * len(p_values)
    so_far = 0.0
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        so_far = max(so_far, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = so_far
    return tuple(adjusted)


def ranks(scores: Mapping[str, float], significant: Iterable[tuple[str, str]]) -> dict[str, Place]:
    """Rank systems by score (higher is better), given the pairs that differ significantly.

    "Not significantly different" is not transitive, so two systems with the same rank may differ,
    and a lower score may have the better rank. Source: the rank ranges of Bojar et al., WMT 2013.
    """
    better: dict[str, set[str]] = {system: set() for system in scores}
    for first, second in significant:
        high, low = (first, second) if scores[first] > scores[second] else (second, first)
        better[low].add(high)
    worse = {system: sum(system in others for others in better.values()) for system in scores}
    return {name: Place(1 + len(better[name]), len(scores) - worse[name]) for name in scores}
