"""A system gets the same scores in every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from mwzeval.multiwoz.ceiling import gold_predictions
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions import read_predictions
from tests.multiwoz.formats.rendering import (
    Predictions,
    is_expressible_by_calls,
    to_messages,
    to_sgd,
    to_unified,
)
from tests.places import read_json, sample_predictions, shared, without

METRICS = ("bleu", "success", "richness", "dst")
FORMATS: dict[str, Callable[[Predictions], Any]] = {
    "messages": to_messages,
    "messages with objects": lambda predictions: to_messages(predictions, as_text=False),
    "bare messages": lambda predictions: {
        name: dialogue["messages"] for name, dialogue in to_messages(predictions).items()
    },
    "unified": to_unified,
    "unified, generated": lambda predictions: to_unified(predictions, beside_annotation=False),
    "sgd": to_sgd,
    "sgd with numbered services": lambda predictions: to_sgd(predictions, prefixed=False),
}
# The other formats have no active domains, so these are estimated in all formats.
WITH_STATES = ("good", "weak-tracker", "no-phone", "lexicalized")


def numbers(evaluator: Evaluator, predictions: Any) -> dict[str, Any]:
    report = evaluator.evaluate(predictions).to_dict()
    return {metric: report[metric] for metric in METRICS}


@pytest.mark.parametrize("written", FORMATS)
@pytest.mark.parametrize(
    "system",
    [
        WITH_STATES[0],
        *(pytest.param(system, marks=pytest.mark.integration) for system in WITH_STATES[1:]),
    ],
)
def test_sample_systems_get_the_same_scores_in_every_format(
    evaluator: Evaluator, system: str, written: str
) -> None:
    predictions = without(sample_predictions(system), "active_domains")
    assert all(is_expressible_by_calls(turns) for turns in predictions.values())
    rendered = FORMATS[written](predictions)
    before = deepcopy(rendered)
    assert numbers(evaluator, rendered) == numbers(evaluator, predictions)
    assert rendered == before


@pytest.mark.parametrize("written", ["unified", "unified, generated", "sgd"])
def test_gold_states_replace_missing_states_in_every_format(
    evaluator: Evaluator, written: str
) -> None:
    predictions = without(sample_predictions("policy-only"), "active_domains")
    expected = numbers(evaluator, predictions)
    assert expected["dst"] is None
    assert numbers(evaluator, FORMATS[written](predictions)) == expected


def as_lines(rendered: Any) -> str:
    """Convert to JSON Lines with a dialogue per line; dialogues from a mapping get their id."""
    values = rendered
    if isinstance(rendered, dict):
        values = [{"dialogue": name, **dialogue} for name, dialogue in rendered.items()]
    return "".join(json.dumps(value) + "\n" for value in values)


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.json", json.dumps), ("a.jsonl", as_lines), ("lines without ending", as_lines)],
)
@pytest.mark.parametrize("written", ["messages", "unified", "sgd"])
def test_files_of_every_format_are_read_as_json_and_json_lines(
    tmp_path: Path, written: str, name: str, write: Callable[[Any], str]
) -> None:
    rendered = FORMATS[written](sample_predictions("good"))
    (tmp_path / name).write_text(write(rendered))
    assert read_predictions(tmp_path / name) == rendered


@pytest.mark.parametrize("written", [name for name in FORMATS if not name.startswith("unified")])
def test_single_dialogues_are_scored_in_every_format(evaluator: Evaluator, written: str) -> None:
    predictions = without(sample_predictions("weak-tracker"), "active_domains")
    rendered = FORMATS[written](predictions)
    input_format = "sgd" if isinstance(rendered, list) else "auto"
    of_format = Evaluator(success=True, corpus="sample", input_format=input_format)
    for number, (name, turns) in enumerate(list(predictions.items())[:20]):
        given = rendered[number]["turns"] if input_format == "sgd" else rendered[name]
        expected = evaluator.evaluate_dialogue(name, turns)
        assert of_format.evaluate_dialogue(name, given) == expected


@pytest.mark.integration
def test_gold_states_written_as_calls_get_the_same_scores() -> None:
    data = shared("data", "multiwoz")
    evaluator = Evaluator(success=True, dst=True, corpus="multiwoz-2.2", data=data)
    gold = gold_predictions(evaluator.scorer("multiwoz-2.2").gold)
    predictions = {name: turns for name, turns in gold.items() if is_expressible_by_calls(turns)}
    assert len(predictions) > 950
    assert numbers(evaluator, to_messages(predictions)) == numbers(evaluator, predictions)


@pytest.mark.integration
def test_corpus_files_get_perfect_state_tracking_scores() -> None:
    folder = shared("data", "multiwoz", "data", "MultiWOZ_2.2", "test")
    dialogues = [dialogue for file in sorted(folder.iterdir()) for dialogue in read_json(file)]
    for dialogue in dialogues:
        for turn in dialogue["turns"]:
            for frame in turn["frames"]:
                values = frame["state"]["slot_values"]
                # The gold states omit dontcare, so predicting it would lower the scores.
                frame["state"]["slot_values"] = {
                    name: listed for name, listed in values.items() if "dontcare" not in listed
                }
    evaluator = Evaluator(dst=True, data=shared("data", "multiwoz"))
    report = evaluator.evaluate(dialogues).to_dict()
    assert report["meta"]["coverage"]["turns"] == {"scored": 7372, "of": 7372}
    assert report["dst"]["slot_f1"] == pytest.approx(100)
    assert report["dst"]["joint_accuracy"] == pytest.approx(100)
