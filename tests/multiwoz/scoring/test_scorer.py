"""Scores of dialogues equal those of the step-by-step specification."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz import RULES, Rules
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.tracking import any_similar
from tests.examples import examples
from tests.multiwoz import specification, worlds
from tests.places import ROOT, SAMPLE_SYSTEMS, read_json, sample_predictions, without

Turns = list[dict[str, Any]]
SAMPLE = ROOT / "data" / "sample" / "data"
rules_ = st.sampled_from(RULES)


@cache
def annotated() -> dict[str, dict[str, Any]]:
    """Read goals, booked domains and states of the sample's test fold from its raw files."""
    old = {
        n.split(".")[0].lower(): d for n, d in read_json(SAMPLE / "MultiWOZ_2.1/data.json").items()
    }
    result = {}
    for name, turns in specification.annotated_turns(SAMPLE / "MultiWOZ_2.2", "test"):
        booked = [
            {d for d, m in turn["metadata"].items() if d != "taxi" and m["book"].get("booked")}
            for turn in old[name]["log"][1::2]
        ]
        goal = {
            d: normalized_goal(d, g)
            for d, g in old[name]["goal"].items()
            if d in worlds.DOMAINS and g
        }
        result[name] = {"goal": goal, "booked": booked, "states": [turn["state"] for turn in turns]}
    return result


def normalized_goal(domain: str, goal: dict[str, Any]) -> dict[str, Any]:
    names = {"phone": "PHONE", "address": "ADDRESS", "postcode": "POST", "reference": "REFERENCE"}
    if domain == "train":
        names = {"trainID": "TRAINID"}
    requested = {names[slot] for slot in goal.get("reqt", []) if slot in names}
    if goal.get("book"):
        requested.add("REFERENCE")
    informable = {specification.normal_slot(s): v for s, v in goal.get("info", {}).items()}
    return {"informable": informable, "requestable": requested}


@cache
def venues(rules: str, domain: str, constraints: tuple[tuple[str, str], ...]) -> list[str]:
    return specification.venues(worlds.sample_tables(), domain, dict(constraints), rules)


def expected_outcome(name: str, turns: Turns, rules: str) -> Any:
    gold = annotated()[name]
    raw_states = (
        [turn["state"] for turn in turns]
        if all("state" in turn for turn in turns)
        else gold["states"][: len(turns)]
    )
    states = [specification.normal_state(state, rules) for state in raw_states]
    active = (
        [turn["active_domains"] for turn in turns]
        if all("active_domains" in turn for turn in turns)
        else specification.active_domains(states)
    )
    responses = [specification.canonical_response(turn["response"]) for turn in turns]
    return specification.dialogue_outcome(
        gold["goal"],
        list(zip(responses, states, active, strict=True)),
        gold["booked"][: len(turns)],
        lambda domain, constraints: venues(rules, domain, tuple(constraints.items())),
    )


@cache
def evaluator(rules: Rules) -> Evaluator:
    return Evaluator(
        success=True, dst=True, corpus="sample", rules=rules, responses="delexicalized"
    )


def found_outcome(name: str, turns: Turns, rules: Rules) -> Any:
    outcome = evaluator(rules).evaluate_dialogue(name, turns)
    inform = {domain: result.inform for domain, result in outcome.domains.items()}
    success = {domain: result.success for domain, result in outcome.domains.items()}
    return (
        inform | {"total": outcome.inform},
        success | {"total": outcome.success} if outcome.inform else {},
    )


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_outcomes_of_sample_systems_match_the_specification(system: str, rules: Rules) -> None:
    for name, turns in sample_predictions(system).items():
        assert found_outcome(name, turns, rules) == expected_outcome(name, turns, rules), name


offers = st.sampled_from(
    ["[restaurant_name]", "[name]", "[train_id]", "[trainid] [reference]", "[value_name] [ref]", ""]
)
provisions = st.sampled_from(
    [
        "[phone] [address] [postcode]",
        "[reference]",
        "[value_phone]",
        "[hotel_postcode]s",
        "name",
        "",
    ]
)


@st.composite
def predicted(draw: st.DrawFn) -> tuple[str, Turns]:
    """Draw a sample dialogue with random responses and gold states with errors."""
    name = draw(st.sampled_from(sorted(annotated())))
    gold = annotated()[name]
    values = st.sampled_from(
        sorted({v for s in gold["states"] for d in s.values() for v in d.values()}) or ["x"]
    )
    with_state, with_domains = draw(st.booleans()), draw(st.booleans())
    turns: Turns = []
    for state in gold["states"]:
        response = " ".join(draw(st.lists(st.one_of(offers, provisions), max_size=4)))
        turn: dict[str, Any] = {"response": response}
        if with_state:
            turn["state"] = {domain: dict(slots) for domain, slots in state.items()}
            kind = draw(st.sampled_from(["gold", "gold", "slip", "noise", "lose", "drop"]))
            if kind in ("slip", "lose") and state:
                domain = draw(st.sampled_from(sorted(state)))
                slot = draw(st.sampled_from(sorted(state[domain])))
                turn["state"][domain][slot] = draw(worlds.anything(values))
                if kind == "lose":
                    del turn["state"][domain][slot]
            elif kind == "noise":
                turn["state"] |= draw(worlds.states(worlds.anything(values)))
            elif kind == "drop" and state:
                del turn["state"][draw(st.sampled_from(sorted(state)))]
        if with_domains:
            domains = st.sampled_from([*gold["goal"], *gold["goal"], "taxi", "bus"])
            turn["active_domains"] = draw(st.lists(domains, max_size=3))
        turns.append(turn)
    return name, turns[: draw(st.integers(1, len(turns)))]


@examples(200)
@given(predicted(), rules_)
def test_outcomes_of_random_predictions_match_the_specification(
    prediction: tuple[str, Turns], rules: Rules
) -> None:
    name, turns = prediction
    assert found_outcome(name, turns, rules) == expected_outcome(name, turns, rules)


@examples(150)
@given(st.lists(predicted(), min_size=1, max_size=3, unique_by=lambda p: p[0]), rules_)
def test_state_scores_of_random_predictions_match_the_specification(
    predictions: list[Any], rules: Rules
) -> None:
    pairs = [
        (
            specification.normal_state(turn.get("state", gold), rules),
            specification.normal_state(gold, rules),
        )
        for name, turns in predictions
        for turn, gold in zip(turns, annotated()[name]["states"], strict=False)
    ]
    scores = evaluator(rules).evaluate(dict(predictions)).metrics["dst"]
    if all("state" in turn for _, turns in predictions for turn in turns):
        assert scores == pytest.approx(specification.state_tracking(pairs), rel=0, abs=1e-9)
    else:
        assert scores is None


@pytest.mark.parametrize(
    ("length", "agree"),
    # One different letter of 20 gives 95 percent, which is not above 95; of 25, 96 percent.
    [(20, False), (25, True)],
)
def test_values_match_above_95_percent_similarity(length: int, agree: bool) -> None:
    gold = "abcdefghijklmnopqrstuvwxyz"[:length]
    predicted = gold[:-1] + "-"
    assert any_similar(predicted, (gold,)) is agree
    pair = ({"hotel": {"name": predicted}}, {"hotel": {"name": gold}})
    assert specification.state_tracking([pair])["slot_recall"] == pytest.approx(float(agree))


@pytest.mark.parametrize(
    ("key", "misleading", "kinds", "signed"),
    [
        # Empty states change the offered venues, so the scores differ from those of gold states.
        ("state", {}, ["partial-state", "no-states"], "state:gold|domains:predicted"),
        (
            "active_domains",
            ["police"],
            ["partial-active_domains", "same-domains"],
            "state:predicted|domains:estimated",
        ),
    ],
)
def test_a_field_missing_in_one_turn_is_ignored_in_all_turns(
    key: str, misleading: Any, kinds: list[str], signed: str
) -> None:
    predictions = sample_predictions("good")
    for turns in predictions.values():
        for turn in turns:
            turn[key] = misleading
    misled = evaluator("2021").evaluate(predictions).metrics["success"]
    del predictions[next(iter(predictions))][0][key]
    report = evaluator("2021").evaluate(predictions).to_dict()
    lacking = evaluator("2021").evaluate(without(predictions, key)).metrics
    assert report["success"] == lacking["success"] != misled
    assert report["dst"] == lacking["dst"]
    assert (report["dst"] is None) == (key == "state")
    warned = [warning["kind"] for warning in report["meta"]["warnings"]]
    assert warned == kinds
    assert signed in report["meta"]["signatures"]["inform"]
