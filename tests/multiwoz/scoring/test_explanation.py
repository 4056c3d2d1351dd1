"""Every failed dialogue has reasons, and it passes if and only if their causes are repaired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz import RULES, Rules
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.schema import PROVIDABLE
from mwzeval.multiwoz.scoring.explanation import (
    Failure,
    Scenario,
    explain,
    failures,
    repaired,
)
from mwzeval.multiwoz.scoring.goal_success import DomainGoal, NeedsOffer, NormalizedTurn
from mwzeval.multiwoz.scoring.scored_predictions import ScoredPredictions
from mwzeval.multiwoz.scoring.scorer import NormalizedDialogue
from tests.examples import examples
from tests.multiwoz.scoring.test_scorer import predicted
from tests.places import SAMPLE_SYSTEMS, read_json, sample_predictions, shared

SYSTEMS = ("augpt", "damd", "galaxy-e2e", "hdsa", "lava", "marco", "pptod", "ubar")


def is_won(case: Scenario, domain: str, outcome: str, slot: str | None) -> bool:
    """Return whether the scorer accepts a domain's offer, or counts a requested slot.

    Although a train needs no offer, removing an offer is not considered a repair.
    """
    result = case.outcome().domains[domain]
    if outcome == "inform":
        offers = bool(result.offered) or case.goal[domain].needs_offer is NeedsOffer.NEVER
        return result.inform and offers
    return slot not in {PROVIDABLE[missing] for missing in result.missing}


def assert_complete_and_true(case: Scenario) -> list[Failure]:
    outcome, found = case.outcome(), failures(case)
    lost: list[tuple[str, str, str | None]] = (
        [
            (domain, "success", PROVIDABLE[slot])
            for domain, result in outcome.domains.items()
            for slot in sorted(result.missing)
        ]
        if outcome.inform
        else [(domain, "inform", None) for domain, r in outcome.domains.items() if not r.inform]
    )
    groups: dict[tuple[str, str, str | None], list[Failure]] = {}
    for failure in found:
        slot = failure.slot if failure.outcome == "success" else None
        groups.setdefault((failure.domain, failure.outcome, slot), []).append(failure)
        assert failure.reason().text
    assert list(groups) == lost
    assert outcome.success == (not found)
    for key, reasons in groups.items():
        assert not is_won(case, *key)
        assert is_won(repaired(case, reasons), *key), [failure.reason().text for failure in reasons]
        for index, failure in enumerate(reasons):
            others = reasons[:index] + reasons[index + 1 :]
            assert not is_won(repaired(case, others), *key), failure.reason().text
    return found


def cases(checked: ScoredPredictions) -> Iterable[Scenario]:
    return (Scenario.of(checked.scorer, dialogue) for dialogue in normalized(checked))


def normalized(checked: ScoredPredictions) -> list[NormalizedDialogue]:
    normalize, sources = checked.scorer.normalize, checked.sources
    return [normalize(name, turns, sources) for name, turns in checked.dialogues.items()]


@cache
def sample_evaluator(rules: Rules) -> Evaluator:
    return Evaluator(success=True, corpus="sample", rules=rules)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_reasons_for_sample_systems_are_complete_and_true(system: str, rules: Rules) -> None:
    checked = sample_evaluator(rules).checked(sample_predictions(system))
    assert sum(bool(assert_complete_and_true(case)) for case in cases(checked))


@examples(400)
@given(predicted(), st.sampled_from(RULES))
def test_reasons_for_random_predictions_are_complete_and_true(
    prediction: tuple[str, list[dict[str, Any]]], rules: Rules
) -> None:
    name, turns = prediction
    for case in cases(sample_evaluator(rules).checked({name: turns})):
        assert_complete_and_true(case)


@pytest.mark.integration
@pytest.mark.parametrize("system", SYSTEMS)
def test_reasons_for_published_systems_are_complete_and_true(system: str) -> None:
    data = shared("data", "multiwoz")
    evaluator = published_evaluator(str(data))
    checked = evaluator.checked(read_json(data / "predictions" / f"{system}.json"))
    lost = [found for case in cases(checked) if (found := assert_complete_and_true(case))]
    golden = read_json(shared("golden", "multiwoz", "rules2021", f"{system}.json"))
    rate = 100 * (1 - len(lost) / len(checked.dialogues))
    assert golden["success"]["success"]["total"] == pytest.approx(rate, abs=0.0501)


@cache
def published_evaluator(data: str) -> Evaluator:
    return Evaluator(success=True, corpus="multiwoz-2.2", data=data)


HOTELS = [
    {"id": "0", "name": "acorn", "area": "north", "stars": "4", "type": "hotel"},
    {"id": "1", "name": "birch", "area": "north", "stars": "3", "type": "hotel"},
    {"id": "2", "name": "cedar", "area": "south", "stars": "4", "type": "hotel"},
    {"id": "3", "name": "douglas", "area": "south", "stars": "3", "type": "hotel"},
]
TRAINS = [
    {"trainID": "TR1", "departure": "ely", "destination": "cambridge", "leaveAt": "17:40"},
    {"trainID": "TR2", "departure": "cambridge", "destination": "ely", "leaveAt": "17:20"},
    {"trainID": "TR3", "departure": "cambridge", "destination": "ely", "leaveAt": "16:20"},
]
SLOT_OF = {"3": "stars", "4": "stars", "acorn": "name", "birch": "name"}


def hotel(values: str) -> dict[str, dict[str, str]]:
    """Return a hotel state with these values; `SLOT_OF` has their slots (default: area)."""
    return {"hotel": {SLOT_OF.get(value, "area"): value for value in values.split()}}


def turn_of(response: str, values: str | None = "north 4", active: str = "hotel") -> NormalizedTurn:
    """Return a turn; if `values` is None, the state has no hotel."""
    state = {} if values is None else hotel(values)
    return NormalizedTurn(response, state, tuple(active.split()))


offer, silent = partial(turn_of, "how about NAME"), partial(turn_of, "")
NOTHING = silent(None, "")


def scenario(
    turns: Sequence[NormalizedTurn],
    *,
    domain: str = "hotel",
    wanted: Mapping[str, str] = hotel("north 4")["hotel"],
    requested: Iterable[str] = (),
    booked: Sequence[int] = (),
    annotated: State | None = None,
    needs_offer: NeedsOffer = NeedsOffer.ALWAYS,
) -> Scenario:
    trains = [{**row, "arriveBy": row["leaveAt"].replace(":20", ":50")} for row in TRAINS]
    tables = {"hotel": HOTELS, "restaurant": [], "attraction": [], "train": trains}
    database = Database(tables, "2021")
    satisfying = frozenset(database.find(domain, wanted))
    return Scenario(
        goal={domain: DomainGoal(satisfying, frozenset(requested), needs_offer)},
        constraints={domain: wanted},
        turns=tuple(turns),
        booked=tuple(frozenset({domain} if i in booked else ()) for i in range(len(turns))),
        annotated=tuple(annotated or turn.state for turn in turns),
        database=database,
    )


def listed(found: Iterable[Failure]) -> list[tuple[str, int | None]]:
    return [(failure.reason().code, failure.turn) for failure in found]


INFORM: list[tuple[str, Any, list[tuple[str, int | None]]]] = [
    # id, turns, expected
    ("a correct offer", [offer()], []),
    ("no offer", [silent()], [("no-venue-offered", None)]),
    ("no offer, active domain and state", [NOTHING],
     [("no-venue-offered", None), ("domain-not-active", 0), ("no-state", 0)]),
    ("turn with the fewest defects", [NOTHING, silent(active=""), silent(), silent(None)],
     [("no-venue-offered", None)]),
    ("offer in another active domain", [NOTHING, offer(active="taxi")], [("domain-not-active", 1)]),
    ("for a wrong domain", [offer(active="restaurant"), silent()], [("no-venue-offered", None)]),
    ("no state of the domain", [silent(), offer(None)], [("no-state", 1)]),
    ("an empty state", [offer("")],
     [("missing-constraint:area", 0), ("missing-constraint:stars", 0)]),
    ("a wrong area", [offer("south 4")], [("wrong-constraint:area", 0)]),
    ("dontcare as area", [offer("dontcare 4")], [("wrong-constraint:area", 0)]),
    ("no stars", [offer("north")], [("missing-constraint:stars", 0)]),
    ("wrong area and stars", [offer("south 3")],
     [("wrong-constraint:area", 0), ("wrong-constraint:stars", 0)]),
    ("the state names another venue", [offer("north birch")],
     [("missing-constraint:stars", 0), ("extra-constraint:name", 0)]),
    ("no venue matches", [offer("west 4")], [("no-venue-matches-state", 0)]),
    ("no venue matches the name", [offer("north 4 birch")], [("no-venue-matches-state", 0)]),
    ("the last offer is wrong", [offer(), offer("south"), silent(None)],
     [("wrong-constraint:area", 1)]),
    ("the state is right only after the last offer", [offer(), offer("south"), silent()],
     [("not-offered-again", None)]),
    ("the last offer is empty", [offer(), offer("west")], [("no-venue-matches-state", 1)]),
    ("the name is removed from the state", [silent("north acorn"), offer("4")], [("name-lost", 1)]),
    ("name and constraints are removed", [silent("acorn"), offer("")], [("name-lost", 1)]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("turns", "expected"), [pytest.param(*case[1:], id=case[0]) for case in INFORM]
)
def test_inform_failures_have_the_expected_reasons(
    turns: Any, expected: list[tuple[str, int | None]]
) -> None:
    assert listed(assert_complete_and_true(scenario(turns))) == expected


def test_an_unsatisfiable_goal_is_reported() -> None:
    (failure,) = failures(scenario([offer()], wanted={"area": "west"}))
    assert failure.kind == "unsatisfiable-goal"


@pytest.mark.parametrize(
    ("annotated", "code"),
    [("north acorn", "name-lost"), ("north 4 acorn", "missing-constraint:stars")],
)
def test_name_lost_is_the_reason_if_constraints_match_the_annotation(
    annotated: str, code: str
) -> None:
    case = scenario([offer("north")], annotated=hotel(annotated))
    assert listed(assert_complete_and_true(case)) == [(code, 0)]


@pytest.mark.parametrize(
    ("wanted", "tracked", "codes"),
    [
        # Adding only `leave` gives an empty offer, which would pass but is no repair.
        (
            {"leave": "17:00", "departure": "cambridge"},
            {"arrive": "17:00", "departure": "cambridge"},
            ["misplaced-constraint:leave"],
        ),
        # Different times are not a misplaced value.
        (
            {"leave": "17:00", "departure": "cambridge"},
            {"arrive": "17:30", "departure": "cambridge"},
            ["extra-constraint:arrive", "missing-constraint:leave"],
        ),
        # No train goes from Ely to Ely, and an empty offer does not repair the state.
        (
            {"departure": "ely", "destination": "cambridge"},
            {"departure": "cambridge", "destination": "ely"},
            ["wrong-constraint:departure", "wrong-constraint:destination"],
        ),
    ],
)
def test_repairs_that_leave_no_train_are_not_suggested(
    wanted: dict[str, str], tracked: dict[str, str], codes: list[str]
) -> None:
    turns = [NormalizedTurn("TRAINID leaves soon", {"train": tracked}, ("train",))]
    annotated, needs_offer = {"train": wanted}, NeedsOffer.IF_MADE
    case = scenario(
        turns, domain="train", wanted=wanted, annotated=annotated, needs_offer=needs_offer
    )
    found = assert_complete_and_true(case)
    assert sorted(failure.reason().code for failure in found) == codes
    if len(codes) == 1:
        text = found[0].reason().text
        assert "arrive=17:00" in text
        assert "leave=17:00" in text


def test_states_correct_at_the_offer_are_not_the_reason() -> None:
    turns = [offer("south 4"), turn_of("that is free")]
    (failure,) = assert_complete_and_true(scenario(turns))
    assert listed([failure]) == [("not-offered-again", None)]
    assert "turn 0" in failure.reason().text.lower()
    assert "wanted area=south" in failure.reason().text
    # The annotation never had another value, so the state was wrong from the beginning.
    found = assert_complete_and_true(scenario(turns, annotated=hotel("north 4")))
    assert listed(found) == [("wrong-constraint:area", 0)]
    # The annotation never agrees with the goal, so no later state could be correct.
    (failure,) = assert_complete_and_true(scenario([turns[0], turn_of("that is free", "south 4")]))
    assert failure.reason().text.endswith("; the annotation of that turn agrees with the state.")


def test_reasons_mention_names_given_in_other_turns() -> None:
    turns = [offer(None, ""), turn_of("it is in the north")]
    (failure,) = assert_complete_and_true(scenario(turns))
    assert failure.reason().code == "no-venue-offered"
    assert "other turns give it: turn 0 (active: none)" in failure.reason().text
    # If the annotation has a hotel in that turn, the missing active domain and state are reasons.
    found = assert_complete_and_true(scenario(turns, annotated=hotel("north 4")))
    assert listed(found) == [("domain-not-active", 0), ("no-state", 0)]


NEVER_GAVE, NEVER_BOOKED = ("never-gave:reference", None), ("never-booked:reference", None)


SUCCESS: list[tuple[str, str, Any, Any, Any]] = [
    # id, slot, later, booked, expected
    ("given", "PHONE", [turn_of("PHONE")], [], []),
    ("not given", "POST", [turn_of("PHONE")], [], [("never-gave:postcode", None)]),
    ("given in another active domain", "PHONE", [turn_of("PHONE", active="taxi")], [],
     [("domain-not-active:phone", 1)]),
    ("given after the booking", "REFERENCE", [silent(), turn_of("REFERENCE")], [2], []),
    ("given before the booking", "REFERENCE", [turn_of("REFERENCE"), silent()], [2],
     [("gave-before-booked:reference", 1)]),
    ("booked, not given", "REFERENCE", [silent()], [1], [NEVER_GAVE]),
    ("given, not booked", "REFERENCE", [turn_of("REFERENCE")], [], [NEVER_BOOKED]),
    ("neither given nor booked", "REFERENCE", [], [], [NEVER_GAVE, NEVER_BOOKED]),
    ("booked in another active domain", "REFERENCE", [silent(active="taxi")], [1],
     [NEVER_GAVE, ("domain-not-active:reference", 1)]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("slot", "later", "booked", "expected"),
    [pytest.param(*case[1:], id=case[0]) for case in SUCCESS],
)
def test_success_failures_have_the_expected_reasons(
    slot: str, later: Any, booked: Sequence[int], expected: Any
) -> None:
    case = scenario([offer(), *later], requested={slot}, booked=booked)
    assert listed(assert_complete_and_true(case)) == expected


def test_explained_turns_show_the_facts_used_by_the_scorer() -> None:
    predictions = sample_predictions("weak-tracker")
    checked = sample_evaluator("2021").checked(predictions)
    explained = [explain(checked.scorer, dialogue) for dialogue in normalized(checked)]
    assert [(e.unit, len(e.turns)) for e in explained] == [
        (name, len(turns)) for name, turns in predictions.items()
    ]
    for explanation in explained:
        provided = []
        for turn in explanation.turns:
            assert [text.speaker for text in turn.utterances] == ["user", "system", "reference"]
            tracked = {fact.scope for fact in turn.facts if fact.label == "state"}
            assert {fact.scope for fact in turn.facts} <= {None, *explanation.outcomes, *tracked}
            for fact in turn.facts:
                if fact.label == "provided":
                    provided += [(fact.scope, slot) for slot in fact.value.split(", ")]
        assert len(provided) == len(set(provided)), "a slot is provided once"
