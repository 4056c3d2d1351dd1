"""Grounded scores of human responses and annotations, as in docs/metrics.md."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from mwzeval.multiwoz.evaluator import Evaluator
from tests.places import read_json, shared

pytestmark = pytest.mark.integration

Predictions = dict[str, list[dict[str, Any]]]


def identifier(name: str) -> str:
    return name.partition(".")[0].lower()


@pytest.fixture(scope="module")
def people() -> Predictions:
    """Human system utterances of the test fold with the annotated states."""
    predictions: Predictions = {}
    for path in sorted(shared("data/multiwoz/data/MultiWOZ_2.2/test").glob("dialogues_*.json")):
        for dialogue in read_json(path):
            turns = []
            before: dict[str, Any] = {}
            for turn in dialogue["turns"]:
                if turn["speaker"] == "SYSTEM":
                    turns.append({"response": turn["utterance"], "state": state_of(before)})
                before = turn
            predictions[identifier(dialogue["dialogue_id"])] = turns
    return predictions


def state_of(turn: dict[str, Any]) -> dict[str, dict[str, str]]:
    state: dict[str, dict[str, str]] = {}
    for frame in turn["frames"]:
        for name, values in frame["state"]["slot_values"].items():
            if "dontcare" not in values:
                domain, slot = name.split("-", 1)
                state.setdefault(domain, {})[slot] = values[0]
    return state


@pytest.fixture(scope="module")
def with_bookings(people: Predictions) -> Predictions:
    """The same predictions with the bookings of each turn from the 2.1 annotation."""
    archive = zipfile.ZipFile(shared("data/multiwoz/data/MultiWOZ_2.1/test.json.zip"))
    annotated = json.loads(archive.read("test.json"))
    dialogues = {identifier(name): dialogue for name, dialogue in annotated.items()}
    result = {}
    for name, turns in people.items():
        systems = dialogues[name]["log"][1::2]
        result[name] = [
            {**turn, "bookings": made(systems[min(index, len(systems) - 1)]["metadata"])}
            for index, turn in enumerate(turns)
        ]
    return result


def made(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    bookings = []
    for domain, slots in metadata.items():
        booked = slots["book"].get("booked", [])
        constraints = {slot: value for slot, value in slots["book"].items() if slot != "booked"}
        bookings += [{"domain": domain, "slots": {**booking, **constraints}} for booking in booked]
    return bookings


@pytest.fixture(scope="module")
def scores() -> Callable[[Predictions], dict[str, Any]]:
    evaluator = Evaluator(grounded=True, data=shared("data/multiwoz"))
    return lambda predictions: evaluator.evaluate(predictions).metrics["grounded"]


def test_human_responses_have_few_hallucinated_mentions(
    people: Predictions, scores: Callable[[Predictions], dict[str, Any]]
) -> None:
    found = scores(people)
    assert found["mentions"]["total"] > 7500
    assert found["hallucination"]["total"] <= 0.4
    assert found["consistency"]["total"] >= 98
    assert found["grounded_inform"]["total"] >= 96.5
    assert found["grounded_success"]["total"] >= 95
    for slot in ("phone", "postcode", "trainid", "name", "price", "stars"):
        assert found["hallucination"][slot] <= 2
    for slot in ("phone", "postcode", "price", "stars", "area", "food"):
        assert found["consistency"][slot] >= 96
    # This score depends on states only, not on mentions.
    booking = {scope: round(rate, 1) for scope, rate in found["booking"].items()}
    assert booking == {"total": 93.8, "restaurant": 97.5, "hotel": 99.6, "train": 87.3}


def test_annotated_bookings_match_the_goals(
    with_bookings: Predictions, scores: Callable[[Predictions], dict[str, Any]]
) -> None:
    found = scores(with_bookings)
    assert round(found["booking"]["total"], 1) == 94.7
