"""What is wrong with states: told turn by turn, and in number what the scores count."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.explanation import Explanation, Fact
from mwzeval.scores.score import WHOLE
from tests.places import ROOT, sample_predictions

WEAK = str(ROOT / "predictions" / "sample-weak-tracker.json")
KINDS = {"missing-slot": "missing", "spurious-slot": "spurious", "wrong-slot": "wrong"}


def tracked(predictions: Any, **options: Any) -> list[Explanation]:
    scored = Evaluator(corpus="sample", **options).score(predictions)
    return list(scored.explain_all())


def mixed() -> dict[str, list[dict[str, Any]]]:
    """Return states of a weak tracker, every third dialogue with slots that are not annotated."""
    predictions = sample_predictions("weak-tracker")
    for number, turns in enumerate(predictions.values()):
        for turn in turns[1:] if number % 3 == 0 else ():
            turn["state"] = {**turn["state"], "taxi": {"leave": "10:15", "destination": "nowhere"}}
    return predictions


@pytest.mark.parametrize("rule", ["exact", "trade+booking=out"])
def test_errors_are_those_that_the_rule_counts(rule: str) -> None:
    report = Evaluator(corpus="sample", dst_rules=rule).evaluate(mixed()).metrics["dst_rules"][rule]
    found: Counter[tuple[str, str]] = Counter()
    right = turns = 0
    for explanation in tracked(mixed(), dst_rules=rule):
        wrong = {reason.turn for reason in explanation.reasons}
        turns += len(explanation.turns)
        right += len(explanation.turns) - len(wrong)
        for reason in explanation.reasons:
            kind, _, slot = reason.code.partition(":")
            found[f"{reason.scope}-{slot}", KINDS[kind]] += 1
    expected = {
        (slot, kind): counts[kind]
        for slot, counts in report["errors"].items()
        for kind in KINDS.values()
        if counts[kind]
    }
    assert found == expected
    assert 100 * right / turns == pytest.approx(report["joint_goal_accuracy"]["total"])


def test_turns_without_errors_are_those_of_joint_accuracy() -> None:
    expected = (
        Evaluator(corpus="sample", dst=True).evaluate(mixed()).metrics["dst"]["joint_accuracy"]
    )
    explained = tracked(mixed(), dst=True)
    right = [
        turn not in {reason.turn for reason in explanation.reasons}
        for explanation in explained
        for turn in range(len(explanation.turns))
    ]
    assert 100 * sum(right) / len(right) == pytest.approx(expected)
    for explanation in explained:
        lost = {reason.scope for reason in explanation.reasons}
        for scope, kept in explanation.outcomes.items():
            assert kept == {"dst.joint_accuracy": scope not in (lost | {WHOLE} if lost else lost)}


STATE = {"hotel": {"area": "north", "pricerange": "expensive", "stars": "4"}}


@pytest.mark.parametrize("responses", [True, False])
def test_a_turn_tells_what_is_annotated_and_what_is_wrong(*, responses: bool) -> None:
    turn = {"state": STATE} | ({"response": "[hotel_name]"} if responses else {})
    (explanation,) = tracked({"smp0021": [turn]}, dst=True, success=responses)
    facts = explanation.turns[0].facts
    assert [fact for fact in facts if fact.scope == "hotel"][:5] == [
        Fact("state", "area=north, pricerange=expensive, stars=4", "hotel"),
        Fact("gold state", "area=south, type=hotel, pricerange=expensive", "hotel"),
        Fact("missing", "type=hotel", "hotel"),
        Fact("spurious", "stars=4", "hotel"),
        Fact("wrong", "area=north instead of south", "hotel"),
    ]
    outcomes = {name for named in explanation.outcomes.values() for name in named}
    assert outcomes == ({"inform", "success"} if responses else {"dst.joint_accuracy"})


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    return capsys.readouterr().out


def test_the_command_line_explains_states_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert "46 of 62 failed: 46 in Joint accuracy" in shown(capsys, WEAK, "--dst")
    text = shown(capsys, WEAK, "smp0021", "--dst-rule", "exact")
    assert "wrong        hotel: pricerange=cheap instead of expensive" in text
    assert "hotel, JGA (exact): wrong-slot:pricerange at turns 0–2\n" in text
    listed = shown(capsys, WEAK, "-d", "--reason", "wrong-slot:pricerange")
    assert "  ✗  turns 0–2  hotel  wrong-slot:pricerange" in listed
    assert "gold state" not in shown(capsys, WEAK, "smp0021")


def test_what_has_no_states_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "responses.json"
    file.write_text(json.dumps({"smp0021": [{"response": "[hotel_name]"}]}), encoding="utf-8")
    assert main(["explain", str(file), "--dst"]) == 2
    assert str(file) in capsys.readouterr().err
