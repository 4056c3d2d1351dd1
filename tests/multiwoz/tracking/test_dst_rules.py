"""State tracking under further rules, from the command line to the report."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.evaluator import Evaluator
from tests.places import ROOT, read_json, sample_predictions

WEAK = str(ROOT / "predictions" / "sample-weak-tracker.json")
POLICY_ONLY = str(ROOT / "predictions" / "sample-policy-only.json")
SCHEMA = read_json(ROOT / "mwzeval" / "report" / "schema.json")


def run(*arguments: str) -> int:
    return main(["evaluate", *arguments, "-o", "report.json"])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def report() -> Any:
    return json.loads(Path("report.json").read_text(encoding="utf-8"))


def test_one_word_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--dst-rule", "trade", WEAK) == 0
    shown = capsys.readouterr().out
    assert "JGA (trade)" in shown
    assert "|rule:trade|values:trade|dontcare:value|" in shown
    written = report()
    jsonschema.validate(written, SCHEMA)
    assert written["dst"] is None
    assert list(written["dst_rules"]) == ["trade"]


def test_rules_stand_beside_that_of_dst_and_leave_it_as_it_is() -> None:
    assert run("-d", WEAK) == 0
    alone = report()
    assert "dst_rules" not in alone
    assert run("-d", "--dst-rule", "exact,mwz22", "--dst-rule", "exact+booking=out", WEAK) == 0
    beside = report()
    assert list(beside["dst_rules"]) == ["exact", "mwz22", "exact+booking=out"]
    assert beside["dst"] == alone["dst"]
    signatures = beside["meta"]["signatures"]
    assert alone["meta"]["signatures"].items() <= signatures.items()
    assert run("--dst-rule", "fuzzy95", WEAK) == 0
    assert {**report(), "meta": None} == {**alone, "meta": None}


def test_the_error_table_has_the_counts_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--dst-rule", "exact,trade", "-q", WEAK) == 0
    assert main(["dst-errors", "--dst-rule", "exact,trade", "-f", "csv", WEAK]) == 0
    records = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    written = report()["dst_rules"]
    assert len(records) == sum(len(of["errors"]) for of in written.values())
    for record in records:
        of_slot = written[record["rule"]]["errors"][record["slot"]]
        for kind in ("correct", "missing", "spurious", "wrong"):
            assert int(record[kind]) == of_slot[kind]
        for confusion in of_slot["confusions"]:
            assert f"{confusion['gold']} → {confusion['predicted']}" in record["confusions"]
    assert any(of["wrong"] for of in written["exact"]["errors"].values())
    assert main(["dst-errors", WEAK]) == 0
    assert "gold → predicted" in capsys.readouterr().out


def test_scores_have_intervals_and_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--dst-rule", "exact", WEAK, "--ci") == 0
    scores = report()["meta"]["scores"]
    assert {score["score"] for score in scores} >= {
        "dst.exact.joint_goal_accuracy",
        "dst.exact.joint_goal_accuracy_without",
        "dst.exact.flexible_goal_accuracy",
        "dst.exact.mean_turn_f1",
        "dst.exact.slot_f1",
        "dst.exact.average_goal_accuracy",
    }
    for score in scores:
        assert score["low"] <= score["value"] <= score["high"]
    of_joint = {s["scope"]: s for s in scores if s["score"] == "dst.exact.joint_goal_accuracy"}
    at_turn = {s["scope"]: s for s in scores if s["score"].endswith("joint_goal_accuracy_at_turn")}
    assert list(at_turn) == [*map(str, range(1, 10)), "10+"]
    turns = sample_predictions("weak-tracker").values()
    assert [at_turn[of]["n"] for of in ("1", "9", "10+")] == [
        sum(len(dialogue) >= turn for dialogue in turns) for turn in (1, 9, 10)
    ]
    assert set(of_joint) == {"total", "restaurant", "hotel", "attraction", "train", "taxi"}
    assert of_joint["taxi"]["n"] < of_joint["total"]["n"]


def test_without_predicted_states_nothing_is_scored(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--dst-rule", "exact", POLICY_ONLY) == 0
    assert "warning: " in capsys.readouterr().err
    assert report()["dst_rules"] is None
    jsonschema.validate(report(), SCHEMA)


def test_responses_are_not_needed() -> None:
    predictions = {
        name: [{"state": turn["state"]} for turn in turns]
        for name, turns in sample_predictions("weak-tracker").items()
    }
    alone = Evaluator(dst_rules="exact").evaluate(predictions).metrics["dst_rules"]
    with_others = Evaluator(True, True, True, True, dst_rules="exact")
    assert with_others.evaluate(sample_predictions("weak-tracker")).metrics["dst_rules"] == alone


def test_systems_are_compared_under_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    good = str(ROOT / "predictions" / "sample-good.json")
    arguments = ["compare", WEAK, good, "--dst-rule", "exact", "--scopes"]
    assert main([*arguments, "--samples", "50", "-f", "json"]) == 0
    assert "dst.exact.joint_goal_accuracy" in capsys.readouterr().out
    assert main(["compare", WEAK, POLICY_ONLY, "--dst-rule", "exact"]) == 2
    assert "sample-policy-only.json" in capsys.readouterr().err


def test_a_gate_names_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    gate = "dst.exact.joint_goal_accuracy=99,dst.exact.joint_goal_accuracy.hotel=1"
    at_turns = ",".join(f"dst.exact.joint_goal_accuracy_at_turn.{of}=1" for of in ("1", "10+"))
    assert run("--dst-rule", "exact", "--fail-under", f"{gate},{at_turns}", WEAK) == 1
    shown = capsys.readouterr().err
    assert "dst.exact.joint_goal_accuracy is" in shown
    assert "dst.exact.joint_goal_accuracy_at_turn.10+" in shown
    assert "at_turn.1 " not in shown
