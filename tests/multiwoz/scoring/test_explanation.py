"""Every lost dialogue has reasons; repairing what they name wins it, and nothing less does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.choices import RULES, Rules
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.evaluator import Evaluator
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
from mwzeval.scores.explanation import Explanation, Fact
from tests.examples import examples
from tests.multiwoz.scoring.test_scorer import predicted
from tests.places import SAMPLE_SYSTEMS, read_json, sample_predictions, shared

SYSTEMS = ("augpt", "damd", "galaxy-e2e", "hdsa", "lava", "marco", "pptod", "ubar")


def is_won(case: Scenario, domain: str, outcome: str, slot: str | None) -> bool:
    """Tell whether a domain informs, or has a requested slot counted, by the scorer itself.

    To offer nothing any longer, which is enough of a train, is not taken for a repair.
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
    of: dict[tuple[str, str, str | None], list[Failure]] = {}
    for failure in found:
        slot = failure.slot if failure.outcome == "success" else None
        of.setdefault((failure.domain, failure.outcome, slot), []).append(failure)
        assert failure.reason().text
    assert list(of) == lost
    assert outcome.success == (not found)
    for key, reasons in of.items():
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
def test_reasons_of_an_example_are_complete_and_true(system: str, rules: Rules) -> None:
    checked = sample_evaluator(rules).checked(sample_predictions(system))
    assert sum(bool(assert_complete_and_true(case)) for case in cases(checked))


@examples(400)
@given(predicted(), st.sampled_from(RULES))
def test_reasons_of_anything_predicted_are_complete_and_true(
    prediction: tuple[str, list[dict[str, Any]]], rules: Rules
) -> None:
    name, turns = prediction
    for case in cases(sample_evaluator(rules).checked({name: turns})):
        assert_complete_and_true(case)


@st.composite
def slips(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    """A dialogue of an example system with a few turns spoilt."""
    predictions = sample_predictions(draw(st.sampled_from(SAMPLE_SYSTEMS)))
    name = draw(st.sampled_from(sorted(predictions)))
    turns = predictions[name][: draw(st.integers(1, len(predictions[name])))]
    for turn in draw(st.lists(st.sampled_from(turns), max_size=4)):
        match draw(st.sampled_from(["response", "placeholder", "state", "slot", "value", "name"])):
            case "response":
                turn["response"] = draw(st.sampled_from(["", "[name]", "[ref] [phone]", "[id]"]))
            case "placeholder":
                turn["response"] = re.sub(r"\[[^]]*\]", "", turn["response"], count=1)
            case "state" if turn.get("state"):
                del turn["state"][draw(st.sampled_from(sorted(turn["state"])))]
            case change if any(turn.get("state", {}).values()):
                full = sorted(domain for domain, slots in turn["state"].items() if slots)
                slots = turn["state"][draw(st.sampled_from(full))]
                slot = "name" if change == "name" else draw(st.sampled_from(sorted(slots)))
                slots[slot] = draw(
                    st.sampled_from(["centre", "the copper pot", "dontcare", "5 pm"])
                )
                if change == "slot":
                    del slots[slot]
    return name, turns


@examples(400)
@given(slips())
def test_reasons_of_spoilt_examples_are_complete_and_true(
    prediction: tuple[str, list[dict[str, Any]]],
) -> None:
    name, turns = prediction
    for case in cases(sample_evaluator("2021").checked({name: turns})):
        assert_complete_and_true(case)


@pytest.mark.integration
@pytest.mark.parametrize("system", SYSTEMS)
def test_reasons_of_a_published_system_are_complete_and_true(system: str) -> None:
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
WANTED = {"area": "north", "stars": "4"}
RIGHT: dict[str, Any] = {"hotel": WANTED}
OFFER, HERE, ELSEWHERE = "how about NAME", ("hotel",), ("taxi",)
Told = Sequence[tuple[str, dict[str, Any], tuple[str, ...]]]


def case_of(
    turns: Told,
    *,
    wanted: Mapping[str, str] = WANTED,
    requested: Iterable[str] = (),
    booked: Sequence[int] = (),
    annotated: Mapping[str, Any] | None = None,
) -> Scenario:
    tables = {"hotel": HOTELS, "restaurant": [], "attraction": [], "train": []}
    database = Database(tables, "2021")
    satisfying = frozenset(database.find("hotel", wanted))
    goal = DomainGoal(satisfying, frozenset(requested), NeedsOffer.ALWAYS)
    return Scenario(
        goal={"hotel": goal},
        constraints={"hotel": wanted},
        turns=tuple(NormalizedTurn(*turn) for turn in turns),
        booked=tuple(frozenset({"hotel"} if i in booked else ()) for i in range(len(turns))),
        annotated=tuple(annotated or state for _, state, _ in turns),
        database=database,
    )


def state(**slots: str) -> dict[str, Any]:
    return {"hotel": slots}


@pytest.mark.parametrize(
    ("name", "turns", "expected"),
    [
        ("an offer as wanted", [(OFFER, RIGHT, HERE)], []),
        ("nothing said", [("hello", RIGHT, HERE)], [("no-venue-offered", None)]),
        (
            "nothing at all",
            [("hello", {}, ())],
            [("no-venue-offered", None), ("domain-not-active", 0), ("no-state", 0)],
        ),
        (
            "the least lacking turn counts",
            [("", {}, ()), ("", RIGHT, ()), ("", RIGHT, HERE), ("", {}, HERE)],
            [("no-venue-offered", None)],
        ),
        (
            "offered elsewhere",
            [("", {}, ()), (OFFER, RIGHT, ELSEWHERE)],
            [("domain-not-active", 1)],
        ),
        (
            "offered for another domain",
            [(OFFER, RIGHT, ("restaurant",)), ("", RIGHT, HERE)],
            [("no-venue-offered", None)],
        ),
        ("no state of it", [("", RIGHT, HERE), (OFFER, {"taxi": {}}, HERE)], [("no-state", 1)]),
        (
            "an empty state",
            [(OFFER, state(), HERE)],
            [("missing", "area", 0), ("missing", "stars", 0)],
        ),
        ("a wrong area", [(OFFER, state(area="south", stars="4"), HERE)], [("wrong", "area", 0)]),
        ("don't care", [(OFFER, state(area="dontcare", stars="4"), HERE)], [("wrong", "area", 0)]),
        ("no stars", [(OFFER, state(area="north"), HERE)], [("missing", "stars", 0)]),
        (
            "all wrong",
            [(OFFER, state(area="south", stars="3"), HERE)],
            [("wrong", "area", 0), ("wrong", "stars", 0)],
        ),
        (
            "another venue was settled on",
            [(OFFER, state(area="north", name="birch"), HERE)],
            [("missing", "stars", 0), ("extra", "name", 0)],
        ),
        (
            "nothing matches",
            [(OFFER, state(area="west", stars="4"), HERE)],
            [("no-venue-matches-state", 0)],
        ),
        (
            "nothing matches a name",
            [(OFFER, state(**WANTED, name="birch"), HERE)],
            [("no-venue-matches-state", 0)],
        ),
        (
            "lost at the last offer",
            [(OFFER, RIGHT, HERE), (OFFER, state(area="south"), HERE), ("bye", {}, HERE)],
            [("wrong", "area", 1)],
        ),
        (
            "wanted something else at the last offer",
            [(OFFER, RIGHT, HERE), (OFFER, state(area="south"), HERE), ("bye", RIGHT, HERE)],
            [("not-offered-again", None)],
        ),
        (
            "lost at an offer of nothing",
            [(OFFER, RIGHT, HERE), (OFFER, state(area="west"), HERE)],
            [("no-venue-matches-state", 1)],
        ),
        (
            "the name is gone",
            [("", state(area="north", name="acorn"), HERE), (OFFER, state(stars="4"), HERE)],
            [("name-lost", 1)],
        ),
        (
            "the name is gone and more is missing",
            [("", state(name="acorn"), HERE), (OFFER, state(), HERE)],
            [("name-lost", 1)],
        ),
    ],
)
def test_why_inform_is_lost(name: str, turns: Told, expected: list[tuple[Any, ...]]) -> None:
    wanted = [
        (f"{code}-constraint:{rest[0]}", rest[1]) if len(rest) == 2 else (code, rest[0])
        for code, *rest in expected
    ]
    found = assert_complete_and_true(case_of(turns))
    assert [(failure.reason().code, failure.turn) for failure in found] == wanted, name


def test_an_unsatisfiable_goal_is_named() -> None:
    (failure,) = failures(case_of([(OFFER, RIGHT, HERE)], wanted={"area": "west"}))
    assert failure.kind == "unsatisfiable-goal"


def test_the_annotation_knows_the_name_settled_on() -> None:
    turns = [(OFFER, state(area="north"), HERE)]
    annotated = {"hotel": {"area": "north", "name": "acorn"}}
    (failure,) = assert_complete_and_true(case_of(turns, annotated=annotated))
    assert failure.reason().code == "name-lost"
    annotated = {"hotel": {**WANTED, "name": "acorn"}}
    (failure,) = assert_complete_and_true(case_of(turns, annotated=annotated))
    assert failure.reason().code == "missing-constraint:stars"


TRAINS = [
    {"trainID": "TR1", "departure": "ely", "destination": "cambridge", "leaveAt": "17:40"},
    {"trainID": "TR2", "departure": "cambridge", "destination": "ely", "leaveAt": "17:20"},
    {"trainID": "TR3", "departure": "cambridge", "destination": "ely", "leaveAt": "16:20"},
]


def train_case(wanted: Mapping[str, str], tracked: Mapping[str, str]) -> Scenario:
    """Return a dialogue of a user who need not be told of a train, and is offered some."""
    rows = [{**row, "arriveBy": row["leaveAt"].replace(":20", ":50")} for row in TRAINS]
    tables = {"hotel": [], "restaurant": [], "attraction": [], "train": rows}
    database = Database(tables, "2021")
    goal = DomainGoal(frozenset(database.find("train", wanted)), frozenset(), NeedsOffer.IF_MADE)
    return Scenario(
        goal={"train": goal},
        constraints={"train": wanted},
        turns=(NormalizedTurn("TRAINID leaves soon", {"train": dict(tracked)}, ("train",)),),
        booked=(frozenset(),),
        annotated=({"train": dict(wanted)},),
        database=database,
    )


@pytest.mark.parametrize(
    ("wanted", "tracked", "codes"),
    [
        # With `leave` alone no train would be left, and none on offer would do as well.
        (
            {"leave": "17:00", "departure": "cambridge"},
            {"arrive": "17:00", "departure": "cambridge"},
            ["misplaced-constraint:leave"],
        ),
        # A train from Ely to Ely does not exist: that none is on offer puts nothing right.
        (
            {"departure": "ely", "destination": "cambridge"},
            {"departure": "cambridge", "destination": "ely"},
            ["wrong-constraint:departure", "wrong-constraint:destination"],
        ),
    ],
)
def test_that_no_train_is_left_is_no_repair(
    wanted: Mapping[str, str], tracked: Mapping[str, str], codes: list[str]
) -> None:
    found = assert_complete_and_true(train_case(wanted, tracked))
    assert sorted(failure.reason().code for failure in found) == codes
    assert (
        all(value in found[0].reason().text for value in ("arrive=17:00", "leave=17:00"))
        or codes[1:]
    )


def test_a_state_that_was_right_then_is_not_the_reason() -> None:
    then, now = {"area": "south", "stars": "4"}, {"area": "north", "stars": "4"}
    turns = [(OFFER, {"hotel": then}, HERE), ("that is free", {"hotel": now}, HERE)]
    (failure,) = assert_complete_and_true(case_of(turns))
    assert (failure.reason().code, failure.turn) == ("not-offered-again", None)
    assert "turn 0" in failure.reason().text.lower()
    assert "wanted area=south" in failure.reason().text
    # The annotation does not know of any change: the state was wrong from the first.
    (failure,) = assert_complete_and_true(case_of(turns, annotated={"hotel": now}))
    assert (failure.reason().code, failure.turn) == ("wrong-constraint:area", 0)
    # The user never wanted what the goal says: no later turn could have known.
    turns = [(OFFER, {"hotel": then}, HERE), ("that is free", {"hotel": then}, HERE)]
    (failure,) = assert_complete_and_true(case_of(turns))
    assert failure.reason().text.endswith("; the annotation of that turn agrees with the state.")


def test_what_another_turn_says_is_not_denied() -> None:
    turns = [(OFFER, {}, ()), ("it is in the north", RIGHT, HERE)]
    (failure,) = assert_complete_and_true(case_of(turns))
    assert failure.reason().code == "no-venue-offered"
    assert "other turns give it: turn 0 (active: none)" in failure.reason().text
    # Where the user had asked for a hotel by then, that it was not noticed is the reason.
    found = assert_complete_and_true(case_of(turns, annotated=RIGHT))
    assert [(failure.reason().code, failure.turn) for failure in found] == [
        ("domain-not-active", 0),
        ("no-state", 0),
    ]


@pytest.mark.parametrize(
    ("name", "slot", "responses", "booked", "expected"),
    [
        ("given", "PHONE", [("PHONE", HERE)], [], []),
        ("not given", "POST", [("PHONE", HERE)], [], [("never-gave:postcode", None)]),
        ("given elsewhere", "PHONE", [("PHONE", ELSEWHERE)], [], [("domain-not-active:phone", 1)]),
        ("given when booked", "REFERENCE", [("", HERE), ("REFERENCE", HERE)], [2], []),
        (
            "given too early",
            "REFERENCE",
            [("REFERENCE", HERE), ("", HERE)],
            [2],
            [("gave-before-booked:reference", 1)],
        ),
        ("not given when booked", "REFERENCE", [("", HERE)], [1], [("never-gave:reference", None)]),
        (
            "given, but nothing is booked",
            "REFERENCE",
            [("REFERENCE", HERE)],
            [],
            [("never-booked:reference", None)],
        ),
        (
            "nothing given nor booked",
            "REFERENCE",
            [],
            [],
            [("never-gave:reference", None), ("never-booked:reference", None)],
        ),
        (
            "booked while elsewhere",
            "REFERENCE",
            [("", ELSEWHERE)],
            [1],
            [("never-gave:reference", None), ("domain-not-active:reference", 1)],
        ),
    ],
)
def test_why_success_is_lost(
    name: str, slot: str, responses: Any, booked: Sequence[int], expected: Any
) -> None:
    turns = [(OFFER, RIGHT, HERE), *((text, RIGHT, active) for text, active in responses)]
    found = assert_complete_and_true(case_of(turns, requested={slot}, booked=booked))
    assert [(failure.reason().code, failure.turn) for failure in found] == expected, name


@pytest.fixture(scope="module")
def explained() -> dict[str, Explanation]:
    checked = sample_evaluator("2021").checked(sample_predictions("weak-tracker"))
    everything = [explain(checked.scorer, dialogue) for dialogue in normalized(checked)]
    assert [explanation.unit for explanation in everything] == list(checked.dialogues)
    return {explanation.unit: explanation for explanation in everything}


def test_turns_say_what_the_scorer_made_of_them(explained: dict[str, Explanation]) -> None:
    predictions = sample_predictions("weak-tracker")
    for name, explanation in explained.items():
        assert len(explanation.turns) == len(predictions[name])
        for turn in explanation.turns:
            assert [said.speaker for said in turn.utterances] == ["user", "system", "reference"]
            for fact in turn.facts:
                assert fact.scope is None or fact.scope in {
                    *explanation.outcomes,
                    *states(turn.facts),
                }
        counted = [
            (f.scope, f.value) for t in explanation.turns for f in t.facts if f.label == "provided"
        ]
        provided = [(scope, slot) for scope, value in counted for slot in value.split(", ")]
        assert len(provided) == len(set(provided)), "a slot is provided once"


def states(facts: Iterable[Fact]) -> set[str | None]:
    return {fact.scope for fact in facts if fact.label == "state"}
