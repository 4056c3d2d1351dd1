"""Micro-averaged F1 of acts, compared with a count of single acts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.scoring.scores import ItemScores
from mwzeval.metrics.measure import ScoredTable
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table

SCORES: ItemScores[str] = ItemScores("acts.", ("a", "b", "early"), lambda act: act[0])
ACTS = st.frozensets(st.sampled_from(["a1", "a2", "b1", "b2", "c1"]))
UNITS = st.lists(st.lists(st.tuples(ACTS, ACTS, st.booleans()), max_size=4), min_size=1, max_size=4)
Turns = list[tuple[frozenset[str], frozenset[str], bool]]


def values(units: list[Turns]) -> dict[tuple[str, str], float]:
    rows = [
        (str(i), SCORES.row((p, g, ("early",) if e else ()) for p, g, e in turns))
        for i, turns in enumerate(units)
    ]
    table = Table.from_rows(SCORES.columns, rows)
    measures = SCORES.measures("acts.{}", "Act", Signature("acts", ()), table.sums())
    return {(s.name, s.scope): s.value for s in ScoredTable(table, tuple(measures)).scores()}


def slow_f1(units: list[Turns], scope: str) -> float | None:
    """Return F1 from counts of single acts, None without gold acts."""
    right = wrong = missed = 0
    for turns in units:
        for predicted, gold, early in turns:
            for act in sorted(predicted | gold):
                if scope not in ("total", act[0]) and not (scope == "early" and early):
                    continue
                right += act in predicted and act in gold
                wrong += act in predicted and act not in gold
                missed += act not in predicted and act in gold
    if right + missed == 0:
        return None
    return 100 * 2 * right / (2 * right + wrong + missed)


@given(UNITS)
def test_act_f1_matches_a_reference_implementation(units: list[Turns]) -> None:
    found = values(units)
    for scope in ("total", "a", "b", "early"):
        expected = slow_f1(units, scope)
        if expected is not None:
            assert found["acts.f1", scope] == pytest.approx(expected)
        elif scope != "total":
            assert ("acts.f1", scope) not in found


def test_precision_and_recall_are_reported_for_the_total() -> None:
    turn = (frozenset({"a1", "a2", "b1", "c1"}), frozenset({"a1"}), False)
    found = values([[turn]])
    assert found["acts.precision", "total"] == 25
    assert found["acts.recall", "total"] == 100
    assert found["acts.f1", "total"] == pytest.approx(40)
    assert ("acts.f1", "b") not in found  # there are no gold acts of b
