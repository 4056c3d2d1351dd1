"""Rows of mentions and outcomes add up, and rates divide by what was asked for."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.metrics.goal_success import OutcomeRates
from mwzeval.metrics.grounding import JudgedValue, MentionRates
from mwzeval.metrics.measure import ScoredTable
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table

SLOTS = ("name", "phone", "area")
RATES = MentionRates(SLOTS)

values_ = st.builds(
    JudgedValue, st.sampled_from(SLOTS), st.booleans(), st.sampled_from([None, True, False])
)
dialogues_ = st.lists(st.lists(values_, max_size=6), min_size=1, max_size=5)


@given(dialogues_)
def test_rows_count_every_mention_once_in_its_slot_and_once_in_total(
    dialogues: list[list[JudgedValue]],
) -> None:
    rows = [(str(i), RATES.row(values)) for i, values in enumerate(dialogues)]
    sums = Table.from_rows(RATES.columns, rows).sums()
    everything = [value for values in dialogues for value in values]
    for scope in ("total", *SLOTS):
        of_scope = [v for v in everything if scope in ("total", v.slot)]
        assert sums[f"mentions.{scope}"] == len(of_scope)
        assert sums[f"hallucinated.{scope}"] == sum(not v.known for v in of_scope)
        agreeing = Counter(v.agrees for v in of_scope)
        assert sums[f"belonging.{scope}"] == agreeing[True] + agreeing[False]
        assert sums[f"consistent.{scope}"] == agreeing[True]


def scores(rates: MentionRates | OutcomeRates, table: Table, name: str) -> dict[str, float]:
    measures = tuple(rates.measures(table.sums(), lambda name: Signature(name, ())))
    found = ScoredTable(table, measures).scores()
    return {score.scope: score.value for score in found if score.name == name}


def test_outcomes_are_of_the_scopes_that_were_asked_for() -> None:
    labels = {"inform": "Inform", "success": "Success"}
    rates = OutcomeRates("goals", labels, ("hotel", "train", "taxi"))
    rows = [
        ("a", rates.row({"total": (True, False), "hotel": (True, False)})),
        ("b", rates.row({"total": (False, False), "hotel": (True, True), "train": (False, False)})),
        ("c", rates.row({"total": (True, True), "hotel": (True, True)})),
    ]
    table = Table.from_rows(rates.columns, rows)
    assert scores(rates, table, "inform") == {
        "total": pytest.approx(200 / 3),
        "hotel": 100.0,
        "train": 0.0,
    }
    assert scores(rates, table, "success")["hotel"] == pytest.approx(200 / 3)


def test_a_scope_without_cases_has_no_rate() -> None:
    table = Table.from_rows(RATES.columns, [("a", RATES.row([JudgedValue("name", True, None)]))])
    assert scores(RATES, table, "consistency") == {}
    assert scores(RATES, table, "hallucination") == {"total": 0.0, "name": 0.0}
