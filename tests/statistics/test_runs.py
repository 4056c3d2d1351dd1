"""Variance between runs and units: against textbook sums of squares, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.statistics import AcrossRuns, across_runs, variance_components


def simulated(
    random: np.random.Generator, runs: int, units: int, run: float, unit: float, rest: float
) -> NDArray[np.float64]:
    return (
        random.normal(0, math.sqrt(run), (runs, 1))
        + random.normal(0, math.sqrt(unit), (1, units))
        + random.normal(0, math.sqrt(rest), (runs, units))
    )


def test_components_are_recovered_on_average() -> None:
    random = np.random.default_rng(1)
    found = [
        variance_components(simulated(random, 10, 60, run=0.5, unit=2, rest=1)) for _ in range(400)
    ]
    assert np.mean([components.run for components in found]) == pytest.approx(0.5, rel=0.06)
    assert np.mean([components.unit for components in found]) == pytest.approx(2, rel=0.04)
    assert np.mean([components.residual for components in found]) == pytest.approx(1, rel=0.02)


def test_the_standard_error_is_how_much_a_mean_over_runs_and_units_varies() -> None:
    random = np.random.default_rng(2)
    means = [simulated(random, 5, 20, run=0.5, unit=2, rest=1).mean() for _ in range(3000)]
    components = variance_components(simulated(random, 400, 2000, run=0.5, unit=2, rest=1))
    assert components.standard_error(5, 20) == pytest.approx(np.std(means), rel=0.08)
    assert components.standard_error(1, 10**9) == pytest.approx(math.sqrt(components.run), rel=1e-6)


def test_components_of_a_table_done_by_hand() -> None:
    # Run means 2 and 3, unit means 1 and 4; nothing is left: squares 2·0.5/1 = 1 and 2·4.5/1 = 9.
    components = variance_components(np.array([[0.5, 3.5], [1.5, 4.5]]))
    assert components.run == pytest.approx(0.5)
    assert components.unit == pytest.approx(4.5)
    assert components.residual == pytest.approx(0)


def test_runs_that_do_not_differ_have_no_variance_below_0() -> None:
    outcomes = np.array([[0.0, 1, 0, 1], [1, 0, 1, 0]])
    components = variance_components(outcomes)
    assert (components.run, components.unit) == (0, 0)
    assert components.residual > 0


def test_the_order_of_runs_and_units_changes_nothing() -> None:
    random = np.random.default_rng(3)
    outcomes = random.integers(0, 2, (5, 40)).astype(float)
    shuffled = outcomes[random.permutation(5)][:, random.permutation(40)]
    first, second = variance_components(outcomes), variance_components(shuffled)
    assert (first.run, first.unit, first.residual) == pytest.approx(
        (second.run, second.unit, second.residual)
    )


@pytest.mark.parametrize(
    "outcomes", [np.ones((1, 5)), np.ones((5, 1)), np.ones(5), np.full((2, 2), np.nan)]
)
def test_too_little_to_split_is_an_error(outcomes: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match=r"two runs|missing"):
        variance_components(outcomes)


def test_a_standard_error_needs_runs_and_units() -> None:
    with pytest.raises(ValueError, match="at least one"):
        variance_components(np.eye(3)).standard_error(0, 5)


def test_mean_and_standard_deviation_are_over_runs() -> None:
    assert across_runs([60, 62, 64]) == AcrossRuns(62, 2, 3)
    with pytest.raises(ValueError, match="at least two runs"):
        across_runs([60])
