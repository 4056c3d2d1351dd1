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


Judged = tuple[bool, bool | None, tuple[str, ...], set[str]]


def twin(
    goal: dict[str, DomainGoal], turns: list[dict[str, DomainTurn]]
) -> tuple[bool, bool, dict[str, Judged]]:
    """Return Inform, Success, and by domain: matched, successful, offered venues, missing slots."""
    matched, offers, missing = {}, {}, {}
    for domain, wanted in goal.items():
        offer: tuple[str, ...] = ()
        acts = [turn[domain] for turn in turns if domain in turn]
        for found, _ in acts:
            if found is not None and not (offer and set(found) >= set(offer)):
                offer = found
        offers[domain] = offer
        missing[domain] = set(wanted.requested).difference(*(act.provided for act in acts))
        right = all(venue in wanted.satisfying for venue in offer)
        matched[domain] = {
            NeedsOffer.NEVER: True,
            NeedsOffer.IF_MADE: right,
            NeedsOffer.ALWAYS: offer != () and right,
        }[wanted.needs_offer]
    inform = all(matched.values())
    domains = {
        d: (matched[d], not missing[d] if inform else None, offers[d], missing[d]) for d in goal
    }
    return inform, inform and not any(missing.values()), domains


@examples(500)
@given(worlds())
def test_outcomes_of_random_dialogues_match_the_definitions(world: Any) -> None:
    goal, turns = world
    outcome = judge(goal, turns)
    inform, success, domains = twin(goal, turns)
    assert (outcome.inform, outcome.success) == (inform, success)
    assert {
        domain: (found.inform, found.success, tuple(found.offered), set(found.missing))
        for domain, found in outcome.domains.items()
    } == domains


@examples(200)
@given(st.lists(worlds(), max_size=6))
def test_rates_are_percentages_of_the_dialogues_with_the_domain(worlds: list[Any]) -> None:
    rows = [(str(index), goal_row(judge(*world))) for index, world in enumerate(worlds)]
    table = Table.from_rows(GOAL_SUCCESS.columns, rows)
    measures = GOAL_SUCCESS.measures(table.sums(), lambda name: Signature(name, ()))
    scores = ScoredTable(table, tuple(measures)).scores()
    expected: dict[tuple[str, str], float] = {}
    for index, name in enumerate(("inform", "success")):
        hits: dict[str, list[bool]] = {}
        for result in (twin(*world) for world in worlds):
            hits.setdefault("total", []).append(bool(result[index]))
            for domain, judged in result[2].items():
                hits.setdefault(domain, []).append(bool(judged[index]))
        expected |= {(name, scope): 100 * sum(flags) / len(flags) for scope, flags in hits.items()}
    assert {(s.name, s.scope): s.value for s in scores} == pytest.approx(expected)


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
