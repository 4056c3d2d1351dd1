"""Rows of mentions and outcomes add up, and rates divide by what was asked for."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.metrics.grounding import JudgedValue, MentionRates, OutcomeRates, percentages
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


def test_outcomes_are_of_the_scopes_that_were_asked_for() -> None:
    rates = OutcomeRates("goals", ("inform", "success"), ("hotel", "train"))
    rows = [
        ("a", rates.row({"total": (True, False), "hotel": (True, False)})),
        ("b", rates.row({"total": (False, False), "hotel": (True, True), "train": (False, False)})),
        ("c", rates.row({"total": (True, True), "hotel": (True, True)})),
    ]
    sums = Table.from_rows(rates.columns, rows).sums()
    assert percentages(rates.scopes, "inform", "goals", sums) == {
        "total": pytest.approx(200 / 3),
        "hotel": 100.0,
        "train": 0.0,
    }
    assert percentages(rates.scopes, "success", "goals", sums)["hotel"] == pytest.approx(200 / 3)


def test_a_scope_without_cases_has_no_rate() -> None:
    sums = Table.from_rows(RATES.columns, [("a", RATES.row([JudgedValue("name", True, None)]))])
    assert percentages(RATES.scopes, "consistent", "belonging", sums.sums()) == {}
    assert percentages(RATES.scopes, "hallucinated", "mentions", sums.sums()) == {
        "total": 0.0,
        "name": 0.0,
    }
