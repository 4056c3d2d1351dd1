"""The format is detected from the structure of the input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.errors import InputError
from mwzeval.multiwoz import INPUT_FORMATS
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.formats import marks
from mwzeval.multiwoz.predictions import read_predictions
from tests.places import ROOT

TURN = {"response": "a"}
MESSAGE = {"role": "user", "content": "a"}
SAID = {"speaker": "user", "utterance": "a"}


def listed(*turns: Any) -> list[Any]:
    return [{"dialogue_id": "a", "turns": list(turns)}]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"a": [TURN]}, {"mwzeval"}),
        ({"a": [{**TURN, "role": "system", "frames": []}]}, {"mwzeval"}),
        ({"a": [{"state": {}}]}, {"mwzeval"}),
        ({"a": [{}, {"bookings": []}]}, {"mwzeval"}),
        ({"a": {"messages": []}}, {"messages"}),
        ({"a": [MESSAGE]}, {"messages"}),
        ({"a": [MESSAGE], "b": [TURN]}, {"messages", "mwzeval"}),
        ({"a": [MESSAGE, TURN]}, {"messages", "mwzeval"}),
        (listed({**SAID, "frames": []}), {"sgd"}),
        (listed(SAID, {**SAID, "frames": []}), {"sgd"}),
        (listed({**SAID, "utt_idx": 0}), {"unified"}),
        (listed({**SAID, "state": {}}), {"unified"}),
        (listed({**SAID, "predictions": {}}), {"unified"}),
        (listed({**SAID, "predictions": {}}, {**SAID, "frames": []}), {"unified", "sgd"}),
        (listed(SAID), set()),
        ({}, set()),
        ({"a": "b"}, set()),
        ({"a": [5]}, set()),
        ([5, {"turns": 5}, {"turns": [5]}], set()),
        ("text", set()),
        (None, set()),
    ],
)
def test_format_marks_are_found_at_any_position(raw: Any, expected: set[str]) -> None:
    assert set(marks(raw)) == expected


@pytest.mark.parametrize(
    "raw",
    [{"a": [MESSAGE], "b": [TURN]}, listed({**SAID, "state": {}, "frames": []}), listed(SAID)],
)
def test_ambiguous_formats_are_errors(raw: Any) -> None:
    with pytest.raises(InputError) as caught:
        Evaluator(success=True, corpus="sample").evaluate(raw)
    assert [problem.kind for problem in caught.value.problems] == ["ambiguous-format"]


@pytest.mark.parametrize("input_format", ["sgd", "unified"])
def test_an_explicit_format_disables_detection(input_format: str) -> None:
    turns = [SAID, {"speaker": "system", "utterance": "a [name]"}]
    evaluator = Evaluator(bleu=True, corpus="sample", input_format=input_format)
    report = evaluator.evaluate([{"dialogue_id": "smp0021", "turns": turns}])
    assert report.to_dict()["meta"]["coverage"]["turns"]["scored"] == 1


@pytest.mark.parametrize("said", ["messages", "unified", "sgd"])
def test_inputs_that_contradict_the_explicit_format_are_errors(said: str) -> None:
    evaluator = Evaluator(success=True, corpus="sample", input_format=said)
    with pytest.raises(InputError, match=said):
        evaluator.evaluate({"smp0021": [TURN]})


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('{"dialogue": "a", "turns": [], "messages": []}', "shape"),
        ('{"dialogue_id": 5, "turns": []}', "shape"),
        ('{"dialogue_id": "a", "turns": []}\n{"dialogue": "b", "turns": []}', "mixed-formats"),
        ('{"dialogue": "a", "turns": []}\n{"dialogue_id": "b", "turns": []}', "mixed-formats"),
        ('{"dialogue": "a", "messages": []}\n{"dialogue": "a", "messages": []}', "repeated-key"),
    ],
)  # fmt: skip
def test_invalid_or_mixed_json_lines_are_errors(tmp_path: Path, content: str, kind: str) -> None:
    (tmp_path / "in.jsonl").write_text(content)
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / "in.jsonl")
    assert [problem.kind for problem in caught.value.problems] == [kind]


def test_documented_examples_are_detected_as_their_format() -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    examples = {
        section.partition("\n")[0]: section.partition("```json\n")[2].partition("```")[0]
        for section in text.split("\n## ")
        if section.partition("\n")[0] in INPUT_FORMATS
    }
    assert set(examples) == set(INPUT_FORMATS) - {"auto"}
    evaluator = Evaluator(success=True, corpus="sample")
    for name, example in examples.items():
        raw = json.loads(example)
        assert set(marks(raw)) == {name}
        kinds = {problem.kind for problem in evaluator.validate(raw)}
        assert kinds == {"fewer-dialogues", "fewer-turns"}, name
