"""Calibration: against scikit-learn, brute force, and data of known probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mwzeval.pydial.studies.calibration import (
    brier,
    calibration_error_by_chance,
    expected_calibration_error,
    log_loss,
    reliability,
)

pytestmark = pytest.mark.integration
PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


@given(pairs=PAIRS)
@settings(max_examples=100, deadline=None)
def test_figures_are_those_of_their_definitions(pairs: list[tuple[float, bool]]) -> None:
    p = np.array([pair[0] for pair in pairs])
    y = np.array([float(pair[1]) for pair in pairs])
    assert brier(p, y) == pytest.approx(sum((a - b) ** 2 for a, b in pairs) / len(pairs))
    bins: dict[int, list[tuple[float, bool]]] = {}
    for a, b in pairs:
        bins.setdefault(min(math.floor(a * 10), 9), []).append((a, b))
    error = sum(abs(sum(a for a, _ in of) - sum(b for _, b in of)) for of in bins.values())
    assert expected_calibration_error(p, y) == pytest.approx(error / len(pairs), abs=1e-12)
    assert [b.cases for b in reliability(p, y)] == [len(bins[n]) for n in sorted(bins)]


def test_brier_and_log_loss_are_scikit_learns() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    p = np.append(rng.random(500), [0.0, 1.0])
    y = (rng.random(502) < p).astype(np.float64)
    assert brier(p, y) == pytest.approx(metrics.brier_score_loss(y, p))
    assert log_loss(p, y) == pytest.approx(metrics.log_loss(y, p))


def test_of_known_probabilities_only_the_right_ones_are_calibrated() -> None:
    rng = np.random.default_rng(2)
    true = rng.random(200_000)
    y = (rng.random(len(true)) < true).astype(np.float64)
    assert expected_calibration_error(true, y) < 0.005
    assert brier(true, y) == pytest.approx(1 / 6, abs=0.002)  # E p(1-p) of uniform p
    assert log_loss(true, y) == pytest.approx(0.5, abs=0.004)  # mean entropy of uniform p
    # Of p² the error is E |p - p²| = 1/6.
    assert expected_calibration_error(true**2, y) == pytest.approx(1 / 6, abs=0.005)


def test_the_error_by_chance_is_that_of_outcomes_that_are_alike_in_a_dialogue() -> None:
    """Of n dialogues with one p, it is the mean absolute deviation of a binomial share."""
    n, p = 50, 0.3
    shares = np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
    deviation = float(shares @ np.abs(np.arange(n + 1) / n - p))
    for length in (1, 7):  # exchanges beyond the first tell nothing new
        found = calibration_error_by_chance(np.full(n * length, p), [length] * n, draws=4000)
        assert found == pytest.approx(deviation, rel=0.04)


def test_the_error_of_right_estimates_is_that_by_chance() -> None:
    rng = np.random.default_rng(3)
    true = rng.random(400)
    errors = [
        expected_calibration_error(true, (rng.random(400) < true).astype(np.float64))
        for _ in range(400)
    ]
    by_chance = calibration_error_by_chance(true, [1] * 400)
    assert np.mean(errors) == pytest.approx(by_chance, rel=0.06)
    assert calibration_error_by_chance(np.repeat([0.0, 1.0], 20), [4] * 10) == 0
