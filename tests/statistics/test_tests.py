"""Wilson's interval, jackknife, McNemar's test, Holm's correction and ranks; oracle: scipy."""

from __future__ import annotations

import importlib
import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mwzeval.scores.score import Interval
from mwzeval.statistics.intervals import Jackknife, wilson
from mwzeval.statistics.tests import WinsTiesLosses, holm, mcnemar, ranks, wins_ties_losses
from tests.tables import jackknife

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
    # With no successes the lower end is exactly 0, with no failures the upper end is 1.
    assert (interval.low == 0) == (successes == 0)
    assert (interval.high == 1) == (successes == n)


@pytest.mark.parametrize(
    ("successes", "n", "confidence"),
    [(0, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (math.nan, 5, 0.95), (1, 5, 1.0), (1, 5, 95)],
)
def test_wilson_rejects_invalid_arguments(successes: float, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"successes|0.0 < p < 1.0"):
        wilson(successes, n, confidence)


def test_intervals_can_be_scaled_serialized_and_tested_for_membership() -> None:
    interval = Interval(0.25, 0.5, 0.95, "wilson").scaled(100)
    assert interval == Interval(25, 50, 0.95, "wilson")
    assert 25 in interval
    assert 50.1 not in interval
    assert json.loads(json.dumps(asdict(wilson(np.float64(3), 7))))["undefined"] == 0


VOCABULARY = 2000


def dialogues(random: np.random.Generator, units: int) -> NDArray[np.float64]:
    """Return Zipfian word counts, shape (units, words), with a topic for each unit."""
    common = 1 / np.arange(1, VOCABULARY + 1) ** 1.1
    topics = common * np.exp(np.random.default_rng(0).normal(0, 1.5, (8, VOCABULARY)))
    topics /= topics.sum(axis=1, keepdims=True)
    return np.array(
        [random.multinomial(random.poisson(80), topics[random.integers(8)]) for _ in range(units)],
        dtype=float,
    )


def distinct(words: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    return float(np.count_nonzero(counts @ words))


def test_jackknife_of_a_mean_gives_the_usual_standard_error() -> None:
    values = np.random.default_rng(2).normal(size=40)
    estimate = jackknife(lambda counts: float(counts @ values / counts.sum()), 40)
    assert estimate.value == pytest.approx(values.mean())
    assert estimate.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(40))
    interval = estimate.interval()
    assert (interval.high - interval.low) / 2 == pytest.approx(1.96 * estimate.standard_error, 1e-4)
    assert interval.method == "jackknife"


def test_leaving_a_unit_out_removes_only_words_unique_to_it() -> None:
    words = dialogues(np.random.default_rng(3), 30)
    estimate = jackknife(lambda counts: distinct(words, counts), 30)
    only_here = ((words > 0) & (words == words.sum(axis=0))).sum(axis=1)
    assert (estimate.left_out == estimate.value - only_here).all()


@pytest.mark.integration
def test_jackknife_intervals_of_distinct_words_cover_their_expectation() -> None:
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
    # Intervals are at most a quarter wider than with the true standard deviation.
    width = np.mean([interval.high - interval.low for interval in intervals])
    assert width <= 1.25 * 2 * 1.96 * np.std(values)
    assert max(resampled) < truth - 3 * np.std(values)


def test_jackknife_differences_use_paired_units() -> None:
    random = np.random.default_rng(5)
    easy = random.normal(size=50)
    first, second = easy + 1, easy + random.normal(0, 0.1, 50)
    difference = jackknife(lambda c: float(c @ first / c.sum()), 50) - jackknife(
        lambda c: float(c @ second / c.sum()), 50
    )
    assert difference.value == pytest.approx((first - second).mean())
    assert difference.standard_error == pytest.approx((first - second).std(ddof=1) / np.sqrt(50))


def outcomes(only_system: int, only_baseline: int) -> tuple[NDArray[np.float64], ...]:
    system = [1.0] * only_system + [0.0] * only_baseline + [0, 1, 1]
    baseline = [0.0] * only_system + [1.0] * only_baseline + [0, 1, 1]
    return np.array(system), np.array(baseline)


@pytest.mark.parametrize("counts", [(0, 0), (1, 0), (5, 5), (3, 12), (90, 60), (200, 300), (0, 40)])
def test_mcnemar_agrees_with_scipy(counts: tuple[int, int]) -> None:
    expected = scipy_stats.binomtest(counts[0], sum(counts)).pvalue if sum(counts) else 1.0
    assert mcnemar(*outcomes(*counts)) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_does_not_underflow_for_many_units() -> None:
    assert 0 < mcnemar(*outcomes(1000, 10)) < 1e-250
    assert mcnemar(*outcomes(5000, 5000)) == 1.0


def test_wins_ties_and_losses_are_counted() -> None:
    system = np.array([1.0, 2, 3, 4, 5])
    baseline = np.array([0.0, 2, 3.05, 5, 6])
    assert wins_ties_losses(system, baseline) == WinsTiesLosses(1, 1, 3)
    assert wins_ties_losses(system, baseline, tolerance=0.1) == WinsTiesLosses(1, 2, 2)
    assert wins_ties_losses(baseline, system) == WinsTiesLosses(3, 1, 1)


def rejected_step_by_step(p_values: list[float], level: float) -> set[int]:
    """Return the hypotheses that Holm's procedure rejects, the smallest p value first."""
    rejected: set[int] = set()
    while len(rejected) < len(p_values):
        rest = [index for index in range(len(p_values)) if index not in rejected]
        smallest = min(rest, key=p_values.__getitem__)
        if len(rest) * p_values[smallest] > level:
            break
        rejected.add(smallest)
    return rejected


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.001, 0.999))
def test_holm_agrees_with_the_step_by_step_procedure(p_values: list[float], level: float) -> None:
    adjusted = holm(p_values)
    assert {i for i, p in enumerate(adjusted) if p <= level} == rejected_step_by_step(
        p_values, level
    )
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))


def test_holm_returns_adjusted_p_values_in_input_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.2]) == (0.2,)
    assert holm([]) == ()


SCORES = {"d": 60.0, "a": 90.0, "c": 70.0, "b": 80.0}


@pytest.mark.parametrize(
    ("significant", "expected"),
    [
        ("ab ac ad bc bd cd", "11 22 33 44"),
        ("", "14 14 14 14"),
        # Two groups; the order within a pair does not matter.
        ("ca ad bc db", "12 12 34 34"),
        # Overlapping groups.
        ("ac ad bd", "12 13 24 34"),
        # A pair given twice counts once.
        ("bc bc ad", "13 13 24 24"),
    ],
)
def test_ranks_are_derived_from_significant_differences(significant: str, expected: str) -> None:
    """Cases: significant pairs, and the best and worst rank of a, b, c and d."""
    found = ranks(SCORES, [(pair[0], pair[1]) for pair in significant.split()])
    assert [f"{found[name].rank}{found[name].worst}" for name in "abcd"] == expected.split()
