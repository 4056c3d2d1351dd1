"""The rate's interval: against scipy, and by how often it covers the truth."""

from __future__ import annotations

import importlib
import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from mwzeval.statistics import Interval, wilson

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


@pytest.mark.parametrize(("rate", "n"), [(0.1, 200), (0.5, 100), (0.73, 1000), (0.97, 500)])
def test_wilson_covers_the_truth_95_times_in_100(rate: float, n: int) -> None:
    # Not simulated: the probability of each number of successes is known.
    covered = sum(
        scipy_stats.binom.pmf(successes, n, rate)
        for successes in range(n + 1)
        if rate in wilson(successes, n)
    )
    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize(
    ("successes", "n", "confidence"),
    [(0, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (math.nan, 5, 0.95), (1, 5, 1.0), (1, 5, 95)],
)
def test_wilson_refuses_what_makes_no_sense(successes: float, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"cases|confidence"):
        wilson(successes, n, confidence)


def test_an_interval_is_scaled_to_percent_and_knows_what_it_contains() -> None:
    interval = Interval(0.25, 0.5, 0.95, "wilson").scaled(100)
    assert interval == Interval(25, 50, 0.95, "wilson")
    assert 25 in interval
    assert 50.1 not in interval
    with pytest.raises(ValueError, match="0 or more"):
        interval.scaled(-1)


def test_an_interval_holds_plain_numbers() -> None:
    assert json.loads(json.dumps(asdict(wilson(np.float64(3), 7))))["undefined"] == 0
