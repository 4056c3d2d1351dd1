"""`mwzeval delexicalize`, and how `--responses` is decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.choices import LEXICALIZED
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions.reading import read_predictions
from tests.places import ROOT, read_json, sample_predictions

IN_WORDS = str(ROOT / "predictions" / "sample-lexicalized.json")


def evaluated(predictions: Any, responses: str = "auto") -> dict[str, Any]:
    evaluator = Evaluator(True, True, corpus="sample", responses=responses)
    return evaluator.evaluate(predictions).to_dict()


def kinds(report: dict[str, Any]) -> list[str]:
    return [warning["kind"] for warning in report["meta"]["warnings"]]


def test_predictions_get_placeholders_and_keep_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sample_predictions("lexicalized")
    for turns in before.values():
        turns[0]["note"] = {"kept": True}
    (tmp_path / "in.json").write_text(json.dumps(before))
    output, mentions = tmp_path / "out.json", tmp_path / "mentions.jsonl"
    arguments = ["delexicalize", str(tmp_path / "in.json"), "-o", str(output)]
    assert main([*arguments, "--mentions", str(mentions)]) == 0
    shown = capsys.readouterr()
    assert "name" in shown.out
    after = read_json(output)
    assert list(after) == list(before)
    records = [json.loads(line) for line in mentions.read_text().splitlines()]
    for name, turns in before.items():
        for number, (old, new) in enumerate(zip(turns, after[name], strict=True)):
            assert {**new, "response": old["response"]} == old
            said = [m for m in records if (m["dialogue"], m["turn"]) == (name, number)]
            assert new["response"].count("[") == len(said)
            for mention in said:
                assert old["response"][mention["start"] : mention["end"]] == mention["text"]
    assert sum(m["slot"] == "name" for m in records) > 100
    assert str(len(records)) in shown.out


def test_what_was_delexicalised_scores_as_it_does_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["delexicalize", IN_WORDS, "-o", str(tmp_path / "out.json")]) == 0
    first, second = evaluated(sample_predictions("lexicalized")), None
    second = evaluated(read_json(tmp_path / "out.json"))
    assert first["success"] == second["success"]
    assert first["bleu"] == second["bleu"]
    assert first["success"]["inform"]["total"] > 90
    assert first["success"]["success"]["total"] > 85
    assert (kinds(first), kinds(second)) == (["lexicalized"], [])


def test_an_output_that_is_called_json_lines_has_a_dialogue_per_line(tmp_path: Path) -> None:
    for name in ("out.json", "out.jsonl"):
        assert main(["delexicalize", IN_WORDS, "-o", str(tmp_path / name)]) == 0
    assert read_predictions(tmp_path / "out.jsonl") == read_json(tmp_path / "out.json")


def test_output_may_be_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delexicalize", IN_WORDS, "-o", "-"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["smp0021"][0]["response"].count("[")
    assert "unsure" in shown.err


def test_bad_input_is_told_and_nothing_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.json").write_text('{"smp0021": [{"response": 5}], "smp9999": [{}]}')
    output = tmp_path / "out.json"
    assert main(["delexicalize", str(tmp_path / "in.json"), "-o", str(output)]) == 2
    shown = capsys.readouterr().err
    for part in ("smp0021", "smp9999"):
        assert part in shown
    assert not output.exists()


def test_other_formats_are_checked_as_they_stand_and_written_as_our_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sample_predictions("lexicalized")
    messages = {
        name: [
            message
            for turn in turns
            for message in (
                {"role": "user", "content": "and now?"},
                {"role": "assistant", "content": turn["response"]},
            )
        ]
        for name, turns in before.items()
    }
    (tmp_path / "in.json").write_text(json.dumps(messages))
    arguments = ["delexicalize", str(tmp_path / "in.json"), "-o", str(tmp_path / "out.json")]
    assert main([*arguments, "--strict"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not (tmp_path / "out.json").exists()
    assert main(arguments) == 0
    assert "warning: " in capsys.readouterr().err
    after = read_json(tmp_path / "out.json")
    assert {name: len(turns) for name, turns in after.items()} == {
        name: len(turns) for name, turns in before.items()
    }
    assert set(after["smp0021"][0]) == {"response", "state", "bookings"}


def test_saying_what_responses_are_settles_it() -> None:
    in_words, with_placeholders = sample_predictions("lexicalized"), sample_predictions("good")
    said = evaluated(in_words, LEXICALIZED)
    assert kinds(said) == []
    assert said["success"] == evaluated(in_words)["success"]
    as_they_are = evaluated(in_words, "delexicalized")
    assert kinds(as_they_are) == ["lexicalized"]
    assert as_they_are["success"]["success"]["total"] < 20
    assert (
        evaluated(with_placeholders, "delexicalized")["bleu"]
        == evaluated(with_placeholders)["bleu"]
    )
