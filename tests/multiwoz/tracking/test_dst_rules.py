"""State tracking with other rules: command line and report."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mwzeval.multiwoz.evaluator import Evaluator
from tests.command_lines import Ran, Run
from tests.places import GOOD, ROOT, read_json, sample_file, sample_predictions, without

WEAK, POLICY_ONLY = sample_file("weak-tracker"), sample_file("policy-only")
SCHEMA = read_json(ROOT / "mwzeval" / "report" / "schema.json")
pytestmark = pytest.mark.usefixtures("elsewhere")


def reported(run: Run, *arguments: str) -> tuple[Any, Ran]:
    """Return the report and the output of an evaluation."""
    ran = run("evaluate", *arguments, "-o", "report.json")
    return read_json(Path("report.json")), ran


def test_a_dst_rule_is_scored_without_other_metrics(run: Run) -> None:
    report, ran = reported(run, "--dst-rule", "trade", WEAK)
    assert ran.code == 0
    assert "JGA (trade)" in ran.out
    assert "|rule:trade|values:trade|dontcare:value|" in ran.out
    jsonschema.validate(report, SCHEMA)
    assert report["dst"] is None
    assert list(report["dst_rules"]) == ["trade"]


def test_dst_rules_do_not_change_the_default_dst_scores(run: Run) -> None:
    alone, _ = reported(run, "-d", WEAK)
    assert "dst_rules" not in alone
    rules = ("--dst-rule", "exact,mwz22", "--dst-rule", "exact+booking=out")
    beside, _ = reported(run, "-d", *rules, WEAK)
    assert list(beside["dst_rules"]) == ["exact", "mwz22", "exact+booking=out"]
    assert beside["dst"] == alone["dst"]
    assert alone["meta"]["signatures"].items() <= beside["meta"]["signatures"].items()
    fuzzy, _ = reported(run, "--dst-rule", "fuzzy95", WEAK)
    assert {**fuzzy, "meta": None} == {**alone, "meta": None}


def test_the_error_table_shows_the_counts_of_the_report(run: Run) -> None:
    written = reported(run, "--dst-rule", "exact,trade", "-q", WEAK)[0]["dst_rules"]
    table = run("dst-errors", "--dst-rule", "exact,trade", "-f", "csv", WEAK)
    records = list(csv.DictReader(io.StringIO(table.out)))
    assert len(records) == sum(len(report["errors"]) for report in written.values())
    for record in records:
        of_slot = written[record["rule"]]["errors"][record["slot"]]
        for kind in ("correct", "missing", "spurious", "wrong"):
            assert int(record[kind]) == of_slot[kind]
        for confusion in of_slot["confusions"]:
            assert f"{confusion['gold']} → {confusion['predicted']}" in record["confusions"]
    assert any(counts["wrong"] for counts in written["exact"]["errors"].values())
    assert "gold → predicted" in run("dst-errors", WEAK).out


def test_dst_rule_scores_have_confidence_intervals_and_scopes(run: Run) -> None:
    scores = reported(run, "--dst-rule", "exact", WEAK, "--ci")[0]["meta"]["scores"]
    n: dict[str, dict[str, int]] = {}
    for score in scores:
        assert score["low"] <= score["value"] <= score["high"]
        n.setdefault(score["score"].removeprefix("dst.exact."), {})[score["scope"]] = score["n"]
    assert n.keys() >= {
        *("joint_goal_accuracy_without", "flexible_goal_accuracy", "mean_turn_f1", "slot_f1"),
        "average_goal_accuracy",
    }
    at_turn, joint = n["joint_goal_accuracy_at_turn"], n["joint_goal_accuracy"]
    turns = sample_predictions("weak-tracker").values()
    assert at_turn == {
        scope: sum(len(dialogue) >= number for dialogue in turns)
        for number, scope in enumerate([*map(str, range(1, 10)), "10+"], start=1)
    }
    assert set(joint) == {"total", "restaurant", "hotel", "attraction", "train", "taxi"}
    assert joint["taxi"] < joint["total"]


def test_dst_rules_are_not_scored_without_predicted_states(run: Run) -> None:
    report, ran = reported(run, "--dst-rule", "exact", POLICY_ONLY)
    assert (ran.code, "warning: " in ran.err) == (0, True)
    assert report["dst_rules"] is None
    jsonschema.validate(report, SCHEMA)


def test_dst_rules_do_not_require_responses() -> None:
    predictions = sample_predictions("weak-tracker")
    states = without(predictions, "response", "active_domains")
    alone = Evaluator(dst_rules="exact").evaluate(states).metrics["dst_rules"]
    with_others = Evaluator(True, True, True, True, dst_rules="exact")
    assert with_others.evaluate(predictions).metrics["dst_rules"] == alone


def test_the_compare_command_accepts_a_dst_rule(run: Run) -> None:
    rule = ("--dst-rule", "exact")
    compared = run("compare", WEAK, GOOD, *rule, "--scopes", "--samples", "50", "-f", "json")
    assert (compared.code, "dst.exact.joint_goal_accuracy" in compared.out) == (0, True)
    refused = run("compare", WEAK, POLICY_ONLY, *rule)
    assert (refused.code, "sample-policy-only.json" in refused.err) == (2, True)


def test_fail_under_thresholds_accept_scores_of_a_dst_rule(run: Run) -> None:
    scores = ["=99", ".hotel=1", "_at_turn.1=1", "_at_turn.10+=1"]
    gate = ",".join(f"dst.exact.joint_goal_accuracy{score}" for score in scores)
    ran = reported(run, "--dst-rule", "exact", "--fail-under", gate, WEAK)[1]
    assert ran.code == 1
    assert "dst.exact.joint_goal_accuracy is" in ran.err
    assert "dst.exact.joint_goal_accuracy_at_turn.10+" in ran.err
    assert "at_turn.1 " not in ran.err
