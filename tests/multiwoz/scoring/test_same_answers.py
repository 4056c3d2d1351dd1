"""Responses that answer everything always are told; those of real systems are not."""

from __future__ import annotations

import pytest

from mwzeval.multiwoz.ceiling import gold_predictions
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions.census import Census
from mwzeval.multiwoz.predictions.plausibility import MOST_ALIKE, MOST_EARLY
from mwzeval.multiwoz.predictions.reading import Turn
from tests.parts import cut
from tests.places import read_json, sample_predictions, shared

ALWAYS = "[hotel_name] [train_id] [phone] [address] [postcode] [reference]"
PUBLISHED = ("augpt", "damd", "galaxy-e2e", "hdsa", "lava", "marco", "pptod", "ubar")
KIND = "same-placeholders"


def test_the_same_placeholders_in_every_turn_are_told_with_numbers_however_they_come() -> None:
    predictions = sample_predictions("good")
    for turns in predictions.values():
        for number, turn in enumerate(turns):
            # What surrounds them, their order and other placeholders hide nothing.
            turn["response"] = f"{number} " + (ALWAYS if number % 2 else f"{ALWAYS} [value_food]")
    evaluator = Evaluator(success=True, corpus="sample")
    found = evaluator.evaluate(predictions).to_dict()
    assert found["success"]["success"]["total"] > 80
    (warning,) = found["meta"]["warnings"]
    assert warning["kind"] == KIND
    assert "452 of 452" in warning["message"]
    incremental = evaluator.incremental()
    for part in cut(predictions, [1, 30]):
        incremental.update(part)
    assert incremental.compute().to_dict() == found


def test_requests_answered_before_they_are_made_are_told_alone() -> None:
    predictions = sample_predictions("good")
    for turns in predictions.values():
        for turn in turns:
            turn["response"] = "hello"
        turns[0]["response"] = ALWAYS
    (problem,) = Evaluator(success=True, corpus="sample").validate(predictions)
    assert problem.kind == KIND
    assert "62 of 452" in problem.message


@pytest.mark.integration
def test_systems_and_gold_are_far_from_the_thresholds() -> None:
    data = shared("data", "multiwoz")
    evaluator = Evaluator(success=True, corpus="multiwoz-2.2", data=data)
    gold = evaluator.scorer("multiwoz-2.2").gold
    systems = {name: read_json(data / "predictions" / f"{name}.json") for name in PUBLISHED}
    states = {name: dialogue.states for name, dialogue in gold.dialogues.items()}
    for predictions in (*systems.values(), gold_predictions(gold, states)):
        dialogues = {
            name: [Turn(turn["response"], None, None) for turn in turns]
            for name, turns in predictions.items()
        }
        census = Census.of(dialogues, {}, gold)
        del census.answers[()]
        assert max(census.answers.values()) < 0.75 * MOST_ALIKE * census.turns
        assert census.early < 0.8 * MOST_EARLY * census.requests
