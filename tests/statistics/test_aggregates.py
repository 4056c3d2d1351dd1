"""Aggregates over tasks and runs, against rliable and by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from mwzeval.statistics.aggregates import (
    Aggregate,
    interquartile_mean,
    probability_of_improvement,
)
from tests.statistics.rliable_figures import FEW, FIGURES, FIRST, SECOND

FOUND = {
    "iqm first": interquartile_mean(FIRST),
    "iqm second": interquartile_mean(SECOND),
    "iqm few": interquartile_mean(FEW),
    "improvement first second": probability_of_improvement(FIRST, SECOND),
    "improvement second first": probability_of_improvement(SECOND, FIRST),
}


@pytest.mark.parametrize("name", FIGURES)
def test_aggregates_are_those_of_rliable(name: str) -> None:
    value, low, high = FIGURES[name]
    found = FOUND[name]
    assert found.value == pytest.approx(value)
    assert found.interval is not None
    # Both are quantiles of 2,000 random resamples.
    near = pytest.approx((low, high), abs=0.08 * (high - low))
    assert (found.interval.low, found.interval.high) == near


def test_intervals_are_of_all_resamples_within_tasks() -> None:
    """Two runs in two tasks have 2^4 resamples, which can be listed."""
    scores = np.array([[1.0, 20.0], [4.0, 30.0]])
    drawn = list(product((0, 1), repeat=4))
    means = [
        stats.trim_mean([*scores[[a, b], 0], *scores[[c, d], 1]], 0.25) for a, b, c, d in drawn
    ]
    found = interquartile_mean(scores).interval
    assert found is not None
    assert (found.low, found.high) == (min(means), max(means))


def test_probabilities_count_ties_half() -> None:
    mine, theirs = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [2.0]])
    assert probability_of_improvement(mine, theirs).value == pytest.approx(0.5)
    assert probability_of_improvement(mine + 5, theirs) == Aggregate(
        1.0, probability_of_improvement(mine + 9, theirs).interval
    )


def test_one_run_has_no_interval() -> None:
    assert interquartile_mean(FIRST[:1]).interval is None
    assert probability_of_improvement(FIRST, SECOND[:1]).interval is None


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        interquartile_mean(np.empty((0, 3)))
    with pytest.raises(ValueError, match="of 18 and of 3 tasks"):
        probability_of_improvement(FIRST, FEW)
