"""Aggregates over tasks and runs, against SciPy and by enumeration."""

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

RUN, TASK = np.indices((10, 18))
FIRST, SECOND = (
    (RUN * 37 + TASK * 53 + RUN * TASK * 7 + shift) % 61 + 3.0 * TASK for shift in (0, 5)
)


def test_values_are_those_of_scipy() -> None:
    """The functions that rliable calls."""
    assert interquartile_mean(FIRST).value == stats.trim_mean(FIRST, 0.25, axis=None)
    of_tasks = [
        stats.mannwhitneyu(FIRST[:, task], SECOND[:, task]).statistic / 100 for task in range(18)
    ]
    assert probability_of_improvement(FIRST, SECOND).value == pytest.approx(np.mean(of_tasks))


def test_intervals_of_many_runs_are_those_of_another_program() -> None:
    """Resamples drawn one after the other, with another generator."""
    generator = np.random.Generator(np.random.MT19937(3))
    means, wins = [], []
    for _ in range(2000):
        drawn, others = (
            np.take_along_axis(scores, generator.integers(0, 10, size=(10, 18)), axis=0)
            for scores in (FIRST, SECOND)
        )
        means.append(stats.trim_mean(drawn, 0.25, axis=None))
        signs = np.sign(drawn[:, np.newaxis] - others[np.newaxis])
        wins.append(float((signs + 1).mean() / 2))
    for found, samples in (
        (interquartile_mean(FIRST), means),
        (probability_of_improvement(FIRST, SECOND), wins),
    ):
        low, high = np.quantile(samples, [0.025, 0.975])
        assert found.interval is not None
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
        probability_of_improvement(FIRST, SECOND[:, :3])
