"""Wins and losses by unit, and McNemar's exact test against scipy and enumeration."""

from __future__ import annotations

import importlib
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.statistics import McNemar, WinsTiesLosses, mcnemar, wins_ties_losses

scipy_stats: Any = importlib.import_module("scipy.stats")


def outcomes(only_system: int, only_baseline: int) -> tuple[NDArray[np.float64], ...]:
    system = [1.0] * only_system + [0.0] * only_baseline + [0, 1, 1]
    baseline = [0.0] * only_system + [1.0] * only_baseline + [0, 1, 1]
    return np.array(system), np.array(baseline)


@pytest.mark.parametrize("counts", [(0, 0), (1, 0), (5, 5), (3, 12), (90, 60), (200, 300), (0, 40)])
def test_mcnemar_agrees_with_scipy(counts: tuple[int, int]) -> None:
    result = mcnemar(*outcomes(*counts))
    assert (result.only_system, result.only_baseline) == counts
    expected = scipy_stats.binomtest(counts[0], sum(counts)).pvalue if sum(counts) else 1.0
    assert result.p_value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("counts", [(0, 3), (2, 2), (1, 6), (4, 5)])
def test_mcnemar_is_the_share_of_outcomes_that_are_as_uneven(counts: tuple[int, int]) -> None:
    discordant = sum(counts)
    uneven = sum(
        abs(2 * sum(coins) - discordant) >= abs(counts[0] - counts[1])
        for coins in itertools.product((0, 1), repeat=discordant)
    )
    assert mcnemar(*outcomes(*counts)).p_value == float(Fraction(uneven, 2**discordant))


def test_mcnemar_is_symmetric_and_blind_to_order_and_to_agreement() -> None:
    system, baseline = outcomes(9, 3)
    order = np.random.default_rng(0).permutation(len(system))
    expected = McNemar(9, 3, mcnemar(system, baseline).p_value)
    assert mcnemar(system[order], baseline[order]) == expected
    assert mcnemar(baseline, system) == McNemar(3, 9, expected.p_value)
    agreeing = np.ones(500)
    assert mcnemar(np.append(system, agreeing), np.append(baseline, agreeing)) == expected


def test_mcnemar_of_very_many_units_does_not_underflow_early() -> None:
    assert 0 < mcnemar(*outcomes(1000, 10)).p_value < 1e-250
    assert mcnemar(*outcomes(5000, 5000)).p_value == 1.0


def test_mcnemar_finds_a_difference_where_there_is_none_at_most_as_often_as_it_says() -> None:
    random = np.random.default_rng(6)
    p_values = [
        mcnemar(*random.integers(0, 2, (2, 300)).astype(np.float64)).p_value for _ in range(1000)
    ]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.06


def test_mcnemar_needs_0_and_1() -> None:
    with pytest.raises(ValueError, match="0 or 1"):
        mcnemar(np.array([0.0, 2.0]), np.array([0.0, 1.0]))


def test_wins_ties_and_losses_are_counted() -> None:
    system = np.array([1.0, 2, 3, 4, 5])
    baseline = np.array([0.0, 2, 3.05, 5, 6])
    assert wins_ties_losses(system, baseline) == WinsTiesLosses(1, 1, 3)
    assert wins_ties_losses(system, baseline, tolerance=0.1) == WinsTiesLosses(1, 2, 2)
    assert wins_ties_losses(baseline, system) == WinsTiesLosses(3, 1, 1)


@pytest.mark.parametrize(
    ("system", "baseline"), [([1.0], [1.0, 2]), ([np.nan], [1.0]), ([[1.0]], [[1.0]])]
)
def test_values_that_do_not_pair_are_errors(system: Any, baseline: Any) -> None:
    with pytest.raises(ValueError, match="value"):
        wins_ties_losses(np.array(system), np.array(baseline))
