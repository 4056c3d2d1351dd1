"""State errors: explanations of turns, and totals that equal the counts of the scores."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.explanation import Explanation, Fact
from mwzeval.scores.score import WHOLE
from tests.command_lines import Run
from tests.places import sample_file, sample_predictions, write_json

WEAK = sample_file("weak-tracker")
KINDS = {"missing-slot": "missing", "spurious-slot": "spurious", "wrong-slot": "wrong"}


def tracked(predictions: Any, **options: Any) -> list[Explanation]:
    scored = Evaluator(corpus="sample", **options).score(predictions)
    return list(scored.explain_all())


def mixed() -> dict[str, list[dict[str, Any]]]:
    """Return weak-tracker states; every third dialogue also has slots without annotation."""
    predictions = sample_predictions("weak-tracker")
    for number, turns in enumerate(predictions.values()):
        for turn in turns[1:] if number % 3 == 0 else ():
            turn["state"] = {**turn["state"], "taxi": {"leave": "10:15", "destination": "nowhere"}}
    return predictions


@pytest.mark.parametrize("rule", ["fuzzy95", "exact", "trade+booking=out"])
def test_explained_state_errors_match_the_counts_of_the_rule(rule: str) -> None:
    metrics = Evaluator(corpus="sample", dst_rules=rule).evaluate(mixed()).metrics
    explained = tracked(mixed(), dst_rules=rule)
    found: Counter[tuple[str, str]] = Counter()
    right: list[bool] = []
    for explanation in explained:
        wrong = {reason.turn for reason in explanation.reasons}
        right += [turn not in wrong for turn in range(len(explanation.turns))]
        for reason in explanation.reasons:
            kind, _, slot = reason.code.partition(":")
            found[f"{reason.scope}-{slot}", KINDS[kind]] += 1
    percent = 100 * sum(right) / len(right)
    if rule == "fuzzy95":
        outcome = "dst.joint_accuracy"
        assert percent == pytest.approx(metrics["dst"]["joint_accuracy"])
    else:
        outcome, report = f"dst.{rule}.joint_goal_accuracy", metrics["dst_rules"][rule]
        assert percent == pytest.approx(report["joint_goal_accuracy"]["total"])
        assert found == {
            (slot, kind): counts[kind]
            for slot, counts in report["errors"].items()
            for kind in KINDS.values()
            if counts[kind]
        }
    for explanation in explained:
        lost = {reason.scope for reason in explanation.reasons}
        for scope, kept in explanation.outcomes.items():
            assert kept == {outcome: not lost if scope == WHOLE else scope not in lost}


STATE = {"hotel": {"area": "north", "pricerange": "expensive", "stars": "4"}}


@pytest.mark.parametrize("responses", [True, False])
def test_explained_turns_show_the_gold_state_and_its_differences(*, responses: bool) -> None:
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


def test_the_explain_command_can_explain_only_belief_states(run: Run) -> None:
    assert "46 of 62 failed: 46 in Joint accuracy" in run("explain", WEAK, "--dst").out
    text = run("explain", WEAK, "smp0021", "--dst-rule", "exact").out
    assert "wrong        hotel: pricerange=cheap instead of expensive" in text
    assert "hotel, JGA (exact): wrong-slot:pricerange at turns 0–2\n" in text
    listed = run("explain", WEAK, "-d", "--reason", "wrong-slot:pricerange").out
    assert "  ✗  turns 0–2  hotel  wrong-slot:pricerange" in listed
    assert "gold state" not in run("explain", WEAK, "smp0021").out


def test_predictions_without_states_cannot_be_explained(run: Run, tmp_path: Path) -> None:
    file = write_json(tmp_path / "responses.json", {"smp0021": [{"response": "[hotel_name]"}]})
    refused = run("explain", file, "--dst")
    assert (refused.code, file in refused.err) == (2, True)
