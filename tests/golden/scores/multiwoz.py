"""Every metric of MultiWOZ on the sample corpus with both sets of rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mwzeval.multiwoz import RULES
from mwzeval.multiwoz.evaluator import Evaluator
from tests.golden.recorded import Cases, Groups, by_signature
from tests.places import ROOT, SAMPLE_SYSTEMS, read_json, sample_predictions

Predictions = dict[str, list[dict[str, Any]]]
DST_RULES = (
    *("exact", "trade", "trade-raw", "trade-script", "mwz22", "exact+lambda=1"),
    *("exact+values=fuzzy95", "exact+dontcare=absent", "exact+none=value", "exact+booking=out"),
    *("exact+alternatives=first", "exact+slots=30", "exact+domain-turns=all"),
)
TRACKING_SYSTEMS = ("weak-tracker", "good, damaged")


def current() -> Cases:
    """Return system and rules → signature → name → value."""
    systems = dict(_systems())
    cases: dict[str, Groups] = {}
    for rules in RULES:
        evaluator = Evaluator(True, True, True, True, corpus="sample", rules=rules, grounded=True)
        for name, predictions in systems.items():
            scores = evaluator.score(predictions).scored_table.scores()
            cases[f"{name}, rules of {rules}"] = by_signature(scores)
        tracking = Evaluator(corpus="sample", rules=rules, dst_rules=DST_RULES)
        for name in TRACKING_SYSTEMS:
            scores = tracking.score(systems[name]).scored_table.scores()
            cases[f"{name}, rules of {rules}, further conventions"] = by_signature(scores)
    return cases


def _systems() -> Iterator[tuple[str, Predictions]]:
    """Yield the example systems, and predictions with other errors."""
    for name in SAMPLE_SYSTEMS:
        yield name, sample_predictions(name)
    yield "template", read_json(ROOT / "predictions" / "template-sample.json")
    yield "good, damaged", damaged(sample_predictions("good"))
    yield "lexicalized, damaged", damaged(sample_predictions("lexicalized"))
    yield "good, references first", referring_early(sample_predictions("good"))
    yield "good, with bookings", with_bookings(sample_predictions("good"))


def damaged(predictions: Predictions) -> Predictions:
    """Return predictions with an error in each dialogue and without the last three dialogues."""
    names = list(predictions)[:-3]
    return {
        name: [
            {
                **turn,
                "state": FAULTS[number % len(FAULTS)](turn["state"]),
                "response": _response(turn["response"], number + index),
            }
            for index, turn in enumerate(predictions[name])
        ]
        for number, name in enumerate(names)
    }


State = Mapping[str, Mapping[str, str]]


def _misspelled(state: State) -> State:
    return {
        d: {s: f"{v[:3]}{v[4]}{v[3]}{v[5:]}" if len(v) > 8 else v for s, v in slots.items()}
        for d, slots in state.items()
    }


def _indifferent(state: State) -> State:
    return {
        d: {s: ("dontcare", "none", v, "")[n % 4] for n, (s, v) in enumerate(slots.items())}
        for d, slots in state.items()
    }


def _forgetful(state: State) -> State:
    return {d: dict(list(slots.items())[1:]) for d, slots in state.items()}


def _shouting(state: State) -> State:
    return {d: {s.upper(): f" {v.upper()}" for s, v in slots.items()} for d, slots in state.items()}


def _inventive(state: State) -> State:
    more = {"area": "north", "food": "martian", "leaveat": NO_TRAIN}
    return {d: {**slots, **more} for d, slots in state.items()}


def _colloquial(state: State) -> State:
    return {d: {s: COLLOQUIAL.get(v, v) for s, v in slots.items()} for d, slots in state.items()}


FAULTS = (_misspelled, _indifferent, _forgetful, _shouting, _inventive, _colloquial)
COLLOQUIAL = {"centre": "center", "moderate": "mode", "north": "in the north", "yes": "y"}
NO_TRAIN = "12:03"
"""A departure time without a train; if the user requests it, repeating it is no hallucination."""
REFERENCE = re.compile(r"\[\w+_reference\]")


def _response(response: str, number: int) -> str:
    if number % 7 == 0:
        return ""
    if number % 7 == 3:
        return f"{response} The Golden Wok House is a nice place, call 01632960007."
    if number % 7 == 5:
        return f"{response} No train leaves at {NO_TRAIN}."
    return response


def referring_early(predictions: Predictions) -> Predictions:
    """Return predictions that give all reference numbers in the first turn, before any booking."""
    early: Predictions = {}
    for name, turns in predictions.items():
        numbers = " ".join(ref for turn in turns for ref in REFERENCE.findall(turn["response"]))
        said = [REFERENCE.sub("", turn["response"]) for turn in turns]
        said[0] = f"{said[0]} {numbers}"
        early[name] = [{**turn, "response": text} for turn, text in zip(turns, said, strict=True)]
    return early


def with_bookings(predictions: Predictions) -> Predictions:
    """Return predictions with bookings, often wrong, from the last state in the last turn."""
    return {
        name: [*turns[:-1], {**turns[-1], "bookings": _bookings(turns[-1]["state"], number)}]
        for number, (name, turns) in enumerate(predictions.items())
    }


def _bookings(state: State, number: int) -> list[dict[str, Any]]:
    bookings = []
    for domain, slots in state.items():
        asked = {slot: value for slot, value in slots.items() if slot.startswith("book")}
        if asked:
            if number % 4 == 3:
                asked.popitem()
            venue = {slot: slots[slot] for slot in ("name", "trainid") if slot in slots}
            bookings.append({"domain": domain, "slots": {**venue, **asked}})
    return bookings
