"""Holm's correction against its definition, and ranks from pairwise significance."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.statistics import Place, holm, ranks


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


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_holm_refuses_what_is_no_p_value(wrong: float) -> None:
    with pytest.raises(ValueError, match="p value"):
        holm([0.5, wrong])


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


def test_contradictions_are_errors() -> None:
    with pytest.raises(ValueError, match="'e'"):
        ranks(SCORES, [("a", "e")])
    with pytest.raises(ValueError, match="same"):
        ranks({"a": 1, "b": 1}, [("a", "b")])
