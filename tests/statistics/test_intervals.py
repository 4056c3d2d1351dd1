"""Wilson's interval and the jackknife: against scipy and formulas, and how often they cover."""

from __future__ import annotations

import importlib
import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.scores.score import Interval
from mwzeval.statistics.intervals import Jackknife, wilson
from tests.statistics.pairs import jackknife

scipy_stats: Any = importlib.import_module("scipy.stats")


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(
    ("successes", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (3, 7), (50, 100), (999, 1000)]
)
def test_wilson_agrees_with_scipy(successes: int, n: int, confidence: float) -> None:
    expected = scipy_stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    interval = wilson(successes, n, confidence)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (interval.method, interval.confidence) == ("wilson", confidence)


def test_wilson_without_or_with_only_successes_is_exact_at_one_end_and_not_empty() -> None:
    nothing, everything = wilson(0, 100), wilson(100, 100)
    assert nothing.low == 0
    assert everything.high == 1
    assert nothing.high == pytest.approx(1 - everything.low)
    assert nothing.high > 0.03


@pytest.mark.parametrize(
    ("successes", "n", "confidence"),
    [(0, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (math.nan, 5, 0.95), (1, 5, 1.0), (1, 5, 95)],
)
def test_wilson_refuses_what_makes_no_sense(successes: float, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"successes|0.0 < p < 1.0"):
        wilson(successes, n, confidence)


def test_an_interval_is_scaled_to_percent_and_knows_what_it_contains() -> None:
    interval = Interval(0.25, 0.5, 0.95, "wilson").scaled(100)
    assert interval == Interval(25, 50, 0.95, "wilson")
    assert 25 in interval
    assert 50.1 not in interval


def test_an_interval_holds_plain_numbers() -> None:
    assert json.loads(json.dumps(asdict(wilson(np.float64(3), 7))))["undefined"] == 0


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
