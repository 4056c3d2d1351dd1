"""`validate` groups problems for people, and lists each for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from tests.places import sample_predictions

Validate = Callable[..., tuple[int, str]]


@pytest.fixture
def validated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Validate:
    """Return the exit code of `validate`, and what it prints on a terminal or into a pipe."""

    def validate(predictions: Any, *options: str, terminal: bool = True) -> tuple[int, str]:
        file = tmp_path / "mine.json"
        file.write_text(json.dumps(predictions), encoding="utf-8")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
        return main(["validate", str(file), *options]), capsys.readouterr().out

    return validate


def renamed() -> dict[str, list[dict[str, Any]]]:
    """Return the predictions of a system that calls its responses `resp`."""
    return {
        name: [{"resp": turn["response"], "state": turn["state"]} for turn in turns]
        for name, turns in sample_predictions("good").items()
    }


def test_every_unknown_key_has_a_line_with_its_count_and_a_suggestion(validated: Validate) -> None:
    keys = {"respons": '"response"', "activ_domains": '"active_domains"', "stat": '"state"'}
    predictions = {
        name: [{**turn, **dict.fromkeys(keys, "")} for turn in turns]
        for name, turns in sample_predictions("good").items()
    }
    _, text = validated(predictions)
    turns = sum(map(len, predictions.values()))
    lines = [line for line in text.splitlines() if any(f'"{key}"' in line for key in keys)]
    assert len(lines) == len(keys)
    for line, (key, meant) in zip(lines, keys.items(), strict=True):
        assert f'"{key}"' in line
        assert meant in line
        assert f"({turns} times)" in line


def test_ids_in_another_spelling_are_one_line_if_only_some_fit(validated: Validate) -> None:
    turns = list(sample_predictions("good").values())
    ids = [f"{name}.json" for name in sample_predictions("good")]
    predictions = dict(zip([*ids[:-1], "smp9999"], turns, strict=True))
    code, text = validated(predictions)
    errors = [line for line in text.splitlines() if line.startswith("error: ")]
    assert code == 2
    assert len(errors) == 2
    assert "lower case" in errors[0]
    assert f"({len(ids) - 1} times)" in errors[0]
    assert "smp9999" in errors[1]


def test_json_has_each_problem_with_its_place_and_none_that_follows_from_another(
    validated: Validate,
) -> None:
    code, text = validated(renamed(), "-f", "json")
    result = json.loads(text)
    assert (code, result["valid"]) == (2, False)
    assert {problem["kind"] for problem in result["problems"]} == {
        "missing-response",
        "unknown-key",
    }
    missing = result["problems"][0]
    assert '"resp"' in missing.pop("message")
    assert missing == {
        "kind": "missing-response",
        "severity": "error",
        "file": missing["file"],
        "dialogue": next(iter(renamed())),
        "turn": 0,
        "key": "response",
        "count": 1,
    }


def test_a_pipe_gets_json_unless_text_is_chosen(validated: Validate) -> None:
    for options, terminal in product(((), ("-f", "json"), ("-f", "text")), (True, False)):
        code, text = validated(sample_predictions("good"), *options, terminal=terminal)
        assert code == 0
        is_json = "json" in options or not (options or terminal)
        assert text.startswith("{") == is_json
        if is_json:
            assert json.loads(text) == {"valid": True, "problems": []}
        else:
            assert len(text.splitlines()) == 1
