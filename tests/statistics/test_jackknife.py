"""Leaving one unit out: against formulas, and by how often the interval covers the truth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.statistics import Jackknife, jackknife

VOCABULARY = 2000


def dialogues(random: np.random.Generator, units: int) -> NDArray[np.float64]:
    """Return word counts, shape (units, words): Zipfian, and each unit has its own favourites."""
    common = 1 / np.arange(1, VOCABULARY + 1) ** 1.1
    topics = common * np.exp(np.random.default_rng(0).normal(0, 1.5, (8, VOCABULARY)))
    topics /= topics.sum(axis=1, keepdims=True)
    return np.array(
        [random.multinomial(random.poisson(80), topics[random.integers(8)]) for _ in range(units)],
        dtype=float,
    )


def distinct(words: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    return float(np.count_nonzero(counts @ words))


def test_of_a_mean_the_standard_error_is_the_usual_one() -> None:
    values = np.random.default_rng(2).normal(size=40)
    estimate = jackknife(lambda counts: float(counts @ values / counts.sum()), 40)
    assert estimate.value == pytest.approx(values.mean())
    assert estimate.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(40))
    interval = estimate.interval()
    assert (interval.high - interval.low) / 2 == pytest.approx(1.96 * estimate.standard_error, 1e-4)
    assert interval.method == "jackknife"


def test_distinct_words_left_out_are_those_of_one_unit_only() -> None:
    words = dialogues(np.random.default_rng(3), 30)
    estimate = jackknife(lambda counts: distinct(words, counts), 30)
    only_here = ((words > 0) & (words == words.sum(axis=0))).sum(axis=1)
    assert (estimate.left_out == estimate.value - only_here).all()


@pytest.mark.integration
def test_intervals_of_distinct_words_cover_their_expectation_where_resampling_does_not() -> None:
    random = np.random.default_rng(4)
    trials, units = 300, 100
    values, intervals, resampled = [], [], []
    for _ in range(trials):
        words = dialogues(random, units)
        value = distinct(words, np.ones(units))
        only_here = ((words > 0) & (words == words.sum(axis=0))).sum(axis=1)
        values.append(value)
        intervals.append(Jackknife(value, value - only_here).interval())
        drawn = np.bincount(random.integers(0, units, units), minlength=units)
        resampled.append(distinct(words, drawn.astype(float)))
    truth = float(np.mean(values))
    assert np.mean([truth in interval for interval in intervals]) >= 0.93
    # Wide, but not useless: at most a quarter wider than with the true standard deviation.
    width = np.mean([interval.high - interval.low for interval in intervals])
    assert width <= 1.25 * 2 * 1.96 * np.std(values)
    assert max(resampled) < truth - 3 * np.std(values)


def test_a_difference_is_that_of_pairs() -> None:
    random = np.random.default_rng(5)
    easy = random.normal(size=50)
    first, second = easy + 1, easy + random.normal(0, 0.1, 50)
    difference = jackknife(lambda c: float(c @ first / c.sum()), 50) - jackknife(
        lambda c: float(c @ second / c.sum()), 50
    )
    assert difference.value == pytest.approx((first - second).mean())
    assert difference.standard_error == pytest.approx((first - second).std(ddof=1) / np.sqrt(50))


def test_one_unit_or_other_units_are_errors() -> None:
    with pytest.raises(ValueError, match="at least two units"):
        jackknife(np.sum, 1)
    with pytest.raises(ValueError, match="same units"):
        jackknife(np.sum, 3) - jackknife(np.sum, 4)
