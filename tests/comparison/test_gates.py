"""Gates: which scores fail, what is refused, and what the command writes and exits with."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.comparison.gates import Gate, failures, parse_gates, resolve_gates, worse_than
from mwzeval.errors import UsageError
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.statistics.tests import holm, mcnemar
from tests.places import ROOT, read_json, sample_predictions
from tests.statistics.pairs import swapped

GOOD = str(ROOT / "predictions" / "sample-good.json")
NO_PHONE = str(ROOT / "predictions" / "sample-no-phone.json")
WEAK = str(ROOT / "predictions" / "sample-weak-tracker.json")
LOWER = frozenset({"hallucination", "hallucination.names"})
"""Better when lower."""
KNOWN = ("inform", "inform.hotel", "success", "bleu.sample", "dst.joint_accuracy", *sorted(LOWER))
KNOWN += ("richness.average_length",)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


def resolved(text: str) -> tuple[Gate, ...]:
    return resolve_gates(parse_gates(text), KNOWN, {"bleu": "bleu.sample"}, LOWER)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inform=85", [("inform", 85)]),
        (" inform = 85.5 ,success=70", [("inform", 85.5), ("success", 70)]),
        ("inform.total=85", [("inform", 85)]),
        ("inform.hotel=80,bleu=17", [("inform.hotel", 80), ("bleu.sample", 17)]),
        ("dst.joint_accuracy=-1", [("dst.joint_accuracy", -1)]),
    ],
)
def test_gates_are_scores_with_the_least_they_may_be(
    text: str, expected: list[tuple[str, float]]
) -> None:
    assert [(gate.name, gate.limit) for gate in resolved(text)] == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        *((text, "score=number") for text in ("", "inform", "inform=", "=5", "inform=85,")),
        *((f"inform={value}", f'"inform={value}"') for value in ("high", "nan", "inf")),
        ("infrom=85", '"inform"'),
        ("joint_accuracy=85", '"dst.joint_accuracy"'),
        ("inform.hotels=85", '"inform.hotel"'),
        ("combined=85", "metric"),
        ("halucination=5", '"hallucination"'),
    ],
)
def test_gates_that_make_no_sense_are_refused(text: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolved(text)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("gate", "value", "fails"),
    [
        *(("hallucination=5", value, fails) for value, fails in ((5.001, True), (5.0, False))),
        *(("hallucination=5", value, fails) for value, fails in ((0.0, False), (math.nan, True))),
        *(("inform=85", value, fails) for value, fails in ((84.999, True), (85.0, False))),
        *(("inform=85", value, fails) for value, fails in ((90.0, False), (math.nan, True))),
    ],
)
def test_a_score_fails_when_it_is_worse_than_its_gate_unrounded(
    gate: str, value: float, fails: bool
) -> None:
    assert bool(list(failures(resolved(gate), {gate.split("=")[0]: value}))) is fails


def test_scores_that_are_better_when_lower_have_a_ceiling(
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluate = ["evaluate", "-g", str(ROOT / "predictions" / "sample-lexicalized.json"), "-q"]
    assert main([*evaluate, "--fail-under", "hallucination=100"]) == 0
    assert main([*evaluate, "--fail-under", "hallucination=-1"]) == 1
    assert "failed: hallucination " in capsys.readouterr().err


def test_all_failing_gates_are_told_and_the_report_is_written(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gates = "inform=99,success=10,inform.hotel=98,bleu=90"
    assert main(["evaluate", "-bs", "-i", GOOD, "--fail-under", gates]) == 1
    printed = capsys.readouterr()
    told = [line for line in printed.err.splitlines() if line.startswith("failed: ")]
    assert [line.split()[1] for line in told] == ["inform", "inform.hotel", "bleu.sample"]
    report = read_json(elsewhere / "evaluation_results.json")
    assert (
        report == Evaluator(bleu=True, success=True).evaluate(sample_predictions("good")).to_dict()
    )
    assert printed.out.startswith("sample, test fold")


def test_gates_that_hold_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "-s", "-i", GOOD, "-o", "-"]) == 0
    expected = capsys.readouterr()
    gated = ["--fail-under", "inform=90,success=80", "--fail-below", NO_PHONE]
    assert main(["evaluate", "-s", "-i", GOOD, "-o", "-", *gated]) == 0
    assert capsys.readouterr() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fail-under", "infrom=85"], '"infrom"'),
        (["--fail-under", "bleu=85"], '"bleu"'),
        (["--fail-below", "missing.json"], "missing.json"),
        (["--fail-below", "short.json"], "1 only"),
    ],
)
def test_bad_gates_end_in_one_line_and_nothing_is_written(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    short = sample_predictions("good")
    short.popitem()
    (elsewhere / "short.json").write_text(json.dumps(short))
    assert main(["evaluate", "-s", "-i", GOOD, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1
    assert [path.name for path in elsewhere.iterdir()] == ["short.json"]


def test_worse_is_what_the_paired_tests_say(evaluator: Evaluator) -> None:
    system = evaluator.score(sample_predictions("no-phone")).scored_table
    baseline = evaluator.score(sample_predictions("good")).scored_table
    ours, theirs = system.table, baseline.table.select(system.table.units)
    p_values: dict[str, float] = {}
    for measure in system.measures:
        if measure.scope != "total" or measure.name.startswith("richness"):
            continue
        if measure.outcome:
            outcomes = (table.column(measure.outcome) for table in (ours, theirs))
            p_values[measure.name] = mcnemar(*outcomes)
        else:
            p_values[measure.name] = swapped(measure.of, ours, theirs).p_value()
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    worse = {w.name: w for w in worse_than(system, baseline, Resampling())}
    assert worse
    assert set(worse) <= {name for name, p_value in adjusted.items() if p_value <= 0.05}
    for name, found in worse.items():
        assert found.value < found.baseline
        assert found.p_value == pytest.approx(adjusted[name])
    assert not worse_than(baseline, system, Resampling())
    assert not worse_than(system, system, Resampling())


def test_significantly_worse_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "-d", "-q", "-i", WEAK, "--fail-below", GOOD]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "dst.joint_accuracy" in printed.err
    assert main(["evaluate", "-d", "-q", "-i", GOOD, "--fail-below", WEAK]) == 0


def test_a_baseline_that_cannot_be_compared_is_no_gate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "-s", "-q", "-i", GOOD, "--fail-below", WEAK]) == 2
    assert "domains (estimated and predicted)" in capsys.readouterr().err


def test_what_only_one_of_them_has_cannot_pass_unseen(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stateless: dict[str, list[dict[str, Any]]] = deepcopy(sample_predictions("good"))
    for turns in stateless.values():
        for turn in turns:
            turn.pop("state")
    (elsewhere / "stateless.json").write_text(json.dumps(stateless))
    assert main(["evaluate", "-sd", "-i", "stateless.json", "--fail-below", GOOD]) == 2
    assert "dst.joint_accuracy" in capsys.readouterr().err
    assert main(["evaluate", "-r", "-i", GOOD, "--fail-below", GOOD]) == 2
    assert "richness" in capsys.readouterr().err


def test_the_step_summary_gets_the_tables_and_the_failures(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = elsewhere / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["evaluate", "-s", "-q", "-i", GOOD, "--fail-under", "inform=99"]) == 1
    written = summary.read_text()
    assert written.startswith("before\n")
    assert "| Inform | 93.5 |" in written
    assert "- failed: inform is 93.5484" in written


@pytest.mark.parametrize("place", ["missing/summary.md", ".", "nul\x00"])
def test_a_step_summary_that_cannot_be_written_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    if "\x00" not in place:
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", place)
    else:
        monkeypatch.setattr("os.environ", {"GITHUB_STEP_SUMMARY": place})
    assert main(["evaluate", "-s", "-i", GOOD, "-o", "-"]) == 0
    assert capsys.readouterr().err.startswith("warning: GITHUB_STEP_SUMMARY")


@pytest.mark.integration
def test_the_program_exits_with_1(elsewhere: Path) -> None:
    command = [sys.executable, str(ROOT / "evaluate.py"), "-s", "-i", GOOD, "-o", "-"]
    done = subprocess.run(
        [*command, "--fail-under", "inform=99"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
