"""McNemar's test against scipy and enumeration, Holm's correction and ranks by definition."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mwzeval.statistics.tests import (
    Place,
    WinsTiesLosses,
    holm,
    mcnemar,
    ranks,
    wins_ties_losses,
)

scipy_stats: Any = importlib.import_module("scipy.stats")


def outcomes(only_system: int, only_baseline: int) -> tuple[NDArray[np.float64], ...]:
    system = [1.0] * only_system + [0.0] * only_baseline + [0, 1, 1]
    baseline = [0.0] * only_system + [1.0] * only_baseline + [0, 1, 1]
    return np.array(system), np.array(baseline)


@pytest.mark.parametrize("counts", [(0, 0), (1, 0), (5, 5), (3, 12), (90, 60), (200, 300), (0, 40)])
def test_mcnemar_agrees_with_scipy(counts: tuple[int, int]) -> None:
    expected = scipy_stats.binomtest(counts[0], sum(counts)).pvalue if sum(counts) else 1.0
    assert mcnemar(*outcomes(*counts)) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_of_very_many_units_does_not_underflow_early() -> None:
    assert 0 < mcnemar(*outcomes(1000, 10)) < 1e-250
    assert mcnemar(*outcomes(5000, 5000)) == 1.0


def test_wins_ties_and_losses_are_counted() -> None:
    system = np.array([1.0, 2, 3, 4, 5])
    baseline = np.array([0.0, 2, 3.05, 5, 6])
    assert wins_ties_losses(system, baseline) == WinsTiesLosses(1, 1, 3)
    assert wins_ties_losses(system, baseline, tolerance=0.1) == WinsTiesLosses(1, 2, 2)
    assert wins_ties_losses(baseline, system) == WinsTiesLosses(3, 1, 1)


def rejected_step_by_step(p_values: list[float], level: float) -> set[int]:
    """Reject as Holm's paper says: the smallest first, until one is too large."""
    rejected: set[int] = set()
    while len(rejected) < len(p_values):
        rest = [index for index in range(len(p_values)) if index not in rejected]
        smallest = min(rest, key=p_values.__getitem__)
        if len(rest) * p_values[smallest] > level:
            break
        rejected.add(smallest)
    return rejected


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.001, 0.999))
def test_holm_rejects_what_the_step_by_step_procedure_rejects(
    p_values: list[float], level: float
) -> None:
    adjusted = holm(p_values)
    assert {i for i, p in enumerate(adjusted) if p <= level} == rejected_step_by_step(
        p_values, level
    )
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))


def test_holm_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.2]) == (0.2,)
    assert holm([]) == ()


SCORES = {"d": 60.0, "a": 90.0, "c": 70.0, "b": 80.0}


@pytest.mark.parametrize(
    ("significant", "expected"),
    [
        pytest.param(
            list(itertools.combinations("abcd", 2)),
            [("a", 1, 1), ("b", 2, 2), ("c", 3, 3), ("d", 4, 4)],
            id="all differ",
        ),
        pytest.param(
            [],
            [("a", 1, 4), ("b", 1, 4), ("c", 1, 4), ("d", 1, 4)],
            id="none differ",
        ),
        pytest.param(
            [("c", "a"), ("a", "d"), ("b", "c"), ("d", "b")],
            [("a", 1, 2), ("b", 1, 2), ("c", 3, 4), ("d", 3, 4)],
            id="two groups, whichever way round the pairs are given",
        ),
        pytest.param(
            [("a", "c"), ("a", "d"), ("b", "d")],
            [("a", 1, 2), ("b", 1, 3), ("c", 2, 4), ("d", 3, 4)],
            id="a chain",
        ),
        pytest.param(
            [("b", "c"), ("b", "c"), ("a", "d")],
            [("a", 1, 3), ("b", 1, 3), ("c", 2, 4), ("d", 2, 4)],
            id="a pair given twice counts once",
        ),
    ],
)
def test_ranks_follow_from_who_is_significantly_better(
    significant: list[tuple[str, str]], expected: list[tuple[str, int, int]]
) -> None:
    found = ranks(SCORES, significant)
    assert found == {name: Place(*places) for name, *places in expected}
