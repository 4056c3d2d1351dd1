"""`mwzeval delexicalize`, and the detection of lexicalized responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions import read_predictions
from tests.command_lines import Run
from tests.places import read_json, sample_file, sample_predictions, write_json

LEXICALIZED = sample_file("lexicalized")
INPUT, OUTPUT = Path("in.json"), Path("out.json")

pytestmark = pytest.mark.usefixtures("elsewhere")


def evaluated(predictions: Any, responses: str = "auto") -> tuple[dict[str, Any], list[str]]:
    """Return the metrics of predictions and the kinds of warnings."""
    evaluator = Evaluator(True, True, corpus="sample", responses=responses)
    report = evaluator.evaluate(predictions)
    return dict(report.metrics), [warning.kind for warning in report.warnings]


def test_delexicalization_changes_only_values_in_responses(run: Run) -> None:
    before = sample_predictions("lexicalized")
    for turns in before.values():
        turns[0]["note"] = {"kept": True}
    write_json(INPUT, before)
    mentions = Path("mentions.jsonl")
    code, out, _ = run("delexicalize", str(INPUT), "-o", str(OUTPUT), "--mentions", str(mentions))
    assert code == 0
    after = read_json(OUTPUT)
    assert list(after) == list(before)
    records = [json.loads(line) for line in mentions.read_text().splitlines()]
    for name, turns in before.items():
        for number, (old, new) in enumerate(zip(turns, after[name], strict=True)):
            assert {**new, "response": old["response"]} == old
            here = [m for m in records if (m["dialogue"], m["turn"]) == (name, number)]
            assert new["response"].count("[") == len(here)
            for mention in here:
                assert old["response"][mention["start"] : mention["end"]] == mention["text"]
    assert sum(m["slot"] == "name" for m in records) > 100
    assert str(len(records)) in out


def test_delexicalized_responses_keep_their_scores(run: Run) -> None:
    outputs = ("out.json", "out.jsonl")
    for output in outputs:
        assert run("delexicalize", LEXICALIZED, "-o", output).code == 0
    printed = run("delexicalize", LEXICALIZED, "-o", "-")
    assert "unsure" in printed.err
    written = read_json(OUTPUT)
    assert written == read_predictions(outputs[1]) == json.loads(printed.out)
    metrics, kinds = evaluated(sample_predictions("lexicalized"))
    assert kinds == ["lexicalized"]
    assert evaluated(written) == (metrics, [])
    assert metrics["success"]["inform"]["total"] > 90
    assert metrics["success"]["success"]["total"] > 85


def test_invalid_predictions_are_refused(run: Run) -> None:
    write_json(INPUT, {"smp0021": [{"response": 5}], "smp9999": [{}]})
    code, _, err = run("delexicalize", str(INPUT), "-o", str(OUTPUT))
    assert (code, "smp0021" in err, "smp9999" in err) == (2, True, True)
    assert not OUTPUT.exists()


def test_message_format_is_converted_with_a_warning(run: Run) -> None:
    before = sample_predictions("lexicalized")
    messages = {
        name: [
            {"role": role, "content": content}
            for turn in turns
            for role, content in (("user", "and now?"), ("assistant", turn["response"]))
        ]
        for name, turns in before.items()
    }
    write_json(INPUT, messages)
    words = ["delexicalize", str(INPUT), "-o", str(OUTPUT)]
    code, _, err = run(*words, "--strict")
    assert (code, err[:7]) == (2, "error: ")
    assert not OUTPUT.exists()
    code, _, err = run(*words)
    assert (code, "warning: " in err) == (0, True)
    after = read_json(OUTPUT)
    lengths = {name: len(turns) for name, turns in before.items()}
    assert {name: len(turns) for name, turns in after.items()} == lengths
    assert set(after["smp0021"][0]) == {"response", "state", "bookings"}


def test_declared_response_kind_overrides_detection() -> None:
    lexicalized, good = sample_predictions("lexicalized"), sample_predictions("good")
    assert evaluated(lexicalized, "lexicalized") == (evaluated(lexicalized)[0], [])
    metrics, kinds = evaluated(lexicalized, "delexicalized")
    assert kinds == ["lexicalized"]
    assert metrics["success"]["success"]["total"] < 20
    assert evaluated(good, "delexicalized") == evaluated(good)
