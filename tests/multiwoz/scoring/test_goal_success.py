"""Inform and Success follow from offers and provided slots as the definitions say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.metrics.measure import Rate, ScoredTable
from mwzeval.multiwoz.scoring.goal_success import (
    GOAL_SUCCESS,
    DomainGoal,
    DomainTurn,
    NeedsOffer,
    Rates,
    goal_row,
    judge,
)
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from tests.examples import examples

DOMAINS = ("restaurant", "hotel", "train")
VENUES = "abcd"
SLOTS = ("PHONE", "POST", "REFERENCE")
venues = st.lists(st.sampled_from(VENUES), unique=True, max_size=4).map(tuple)
slots = st.frozensets(st.sampled_from(SLOTS))
domain_goals = st.builds(
    DomainGoal, venues.map(frozenset), slots, st.sampled_from(list(NeedsOffer))
)
goals = st.dictionaries(st.sampled_from(DOMAINS), domain_goals, min_size=1)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, DomainGoal], list[dict[str, DomainTurn]]]:
    goal = draw(goals)
    turn = st.builds(DomainTurn, st.one_of(st.none(), venues), slots)
    return goal, draw(st.lists(st.dictionaries(st.sampled_from(sorted(goal)), turn), max_size=5))


def twin(
    goal: dict[str, DomainGoal], turns: list[dict[str, DomainTurn]]
) -> tuple[bool, bool, dict[str, tuple[bool, bool | None, tuple[str, ...], set[str]]]]:
    """Inform, Success, and by domain: matched, successful, on offer, missing."""
    matched, offers, missing = {}, {}, {}
    for domain, wanted in goal.items():
        offer: tuple[str, ...] = ()
        needed = set(wanted.requested)
        for turn in turns:
            if domain in turn:
                found = turn[domain].found
                if found is not None and (
                    len(offer) == 0 or any(venue not in found for venue in offer)
                ):
                    offer = found
                needed -= turn[domain].provided
        offers[domain], missing[domain] = offer, needed
        matched[domain] = {
            NeedsOffer.NEVER: True,
            NeedsOffer.IF_MADE: all(venue in wanted.satisfying for venue in offer),
            NeedsOffer.ALWAYS: offer != () and all(v in wanted.satisfying for v in offer),
        }[wanted.needs_offer]
    inform = False not in matched.values()
    success = inform and not any(missing.values())
    return (
        inform,
        success,
        {
            domain: (
                matched[domain],
                (missing[domain] == set()) if inform else None,
                offers[domain],
                missing[domain],
            )
            for domain in goal
        },
    )


@examples(500)
@given(worlds())
def test_any_dialogue_is_judged_by_the_definitions(world: Any) -> None:
    goal, turns = world
    outcome = judge(goal, turns)
    inform, success, domains = twin(goal, turns)
    assert (outcome.inform, outcome.success) == (inform, success)
    assert {
        domain: (found.inform, found.success, tuple(found.offered), set(found.missing))
        for domain, found in outcome.domains.items()
    } == domains


NO, AB, B, NONE = None, ("a", "b"), ("b",), ()


@pytest.mark.parametrize(
    ("name", "found", "inform"),
    [
        ("nothing offered", [NO], False),
        ("a venue that satisfies", [AB], True),
        ("one among them does not", [("a", "c")], False),
        ("no venue found is no offer", [NONE], False),
        ("a narrower offer stays when it is named again", [B, ("a", "b", "c")], True),
        ("another offer replaces it", [AB, ("c",)], False),
        ("and is replaced in turn", [("c",), AB], True),
        ("an offer that is gone is replaced by nothing", [AB, NONE], False),
        ("turns without an offer change nothing", [AB, NO, NO], True),
        ("a wider one does not stay", [AB, B], True),
    ],
)
def test_the_last_offer_decides(name: str, found: list[Any], inform: bool) -> None:
    goal = {"hotel": DomainGoal(frozenset("ab"), frozenset())}
    turns = [{"hotel": DomainTurn(venues, frozenset())} for venues in found]
    outcome = judge(goal, turns)
    assert (outcome.inform, outcome.success) == (inform, inform), name


@examples(200)
@given(st.lists(worlds(), max_size=6))
def test_rates_are_percentages_of_the_dialogues_with_the_domain(worlds: list[Any]) -> None:
    rows = [(str(index), goal_row(judge(*world))) for index, world in enumerate(worlds)]
    table = Table.from_rows(GOAL_SUCCESS.columns, rows)
    measures = GOAL_SUCCESS.measures(table.sums(), lambda name: Signature(name, ()))
    scores: dict[str, dict[str, float]] = {"inform": {}, "success": {}}
    for score in ScoredTable(table, tuple(measures)).scores():
        scores[score.name][score.scope] = score.value
    expected: dict[str, dict[str, float]] = {"inform": {}, "success": {}}
    judged = [twin(*world) for world in worlds]
    if judged:
        for index, what in enumerate(("inform", "success")):
            hits = [bool(result[index]) for result in judged]
            expected[what]["total"] = 100 * sum(hits) / len(hits)
            for domain in DOMAINS:
                having = [domains[domain] for _, _, domains in judged if domain in domains]
                if having:
                    share = sum(bool(domain[index]) for domain in having) / len(having)
                    expected[what][domain] = 100 * share
    for what, rates in expected.items():
        assert scores[what] == pytest.approx(rates)
        assert set(scores[what]) == set(rates)


def test_a_scope_without_cases_has_no_rate() -> None:
    rates = Rates(
        (Rate("hallucination", "", "bad", "all"), Rate("consistency", "", "right", "some")),
        ("name", "area"),
        of_dialogues=False,
    )
    rows = [("a", rates.row({"total": (2, 1, 0, 0), "name": (2, 1, 0, 0)})), ("b", rates.row({}))]
    table = Table.from_rows(rates.columns, rows)
    measures = tuple(rates.measures(table.sums(), lambda name: Signature(name, ())))
    found = {(s.name, s.scope): s.value for s in ScoredTable(table, measures).scores()}
    assert found == {("hallucination", "total"): 50, ("hallucination", "name"): 50}
