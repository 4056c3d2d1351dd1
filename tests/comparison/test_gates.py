"""Gates: failing scores, refused gates, and the output and exit code of the command."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from mwzeval.comparison.gates import failures, worse_than
from mwzeval.errors import UsageError
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.outcome import parse_gates
from mwzeval.scores.score import Score, Signature
from mwzeval.statistics.tests import holm, mcnemar
from tests.command_lines import Run
from tests.places import GOOD, ROOT, read_json, sample_file, sample_predictions
from tests.tables import present, swapped

NO_PHONE, WEAK = sample_file("no-phone"), sample_file("weak-tracker")
LOWER = frozenset({"hallucination", "hallucination.names"})
"""Scores for which lower is better."""
TRACKING = ("joint_accuracy", "slot_f1", "slot_precision", "slot_recall")
KNOWN = ("inform", "success", "bleu.sample", "dst.joint_accuracy", "richness.average_length")

pytestmark = pytest.mark.usefixtures("elsewhere")


def failed(text: str, value: float = 50) -> list[str]:
    """Return the names of the scores that fail if all scores have this value."""
    scores = [
        Score(name, name, value, 1, Signature(name, ()), lower_is_better=name in LOWER)
        for name in (*KNOWN, *sorted(LOWER))
    ]
    scores.append(replace(scores[0], scope="hotel"))
    lines = failures(parse_gates(text), scores, {"bleu": "bleu.sample"})
    return [line.split()[0] for line in lines]


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("inform=85", 84.999, ["inform"]),
        ("inform=85", 85, []),
        ("inform=85", math.nan, ["inform"]),
        (" inform = 85.5 ,success=70", 80, ["inform"]),
        ("inform.total=85", 84, ["inform"]),
        ("inform.hotel=80,bleu=17", 16, ["inform.hotel", "bleu.sample"]),
        ("dst.joint_accuracy=-1", 0, []),
        ("hallucination=5", 5.001, ["hallucination"]),
        ("hallucination=5", 5, []),
        ("hallucination=5", math.nan, ["hallucination"]),
    ],
)
def test_gates_compare_unrounded_scores(text: str, value: float, expected: list[str]) -> None:
    assert failed(text, value) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        *((text, "SCORE=N") for text in ("", "inform", "inform=", "=5", "inform=85,")),
        *((f"inform={value}", f'"inform={value}"') for value in ("high", "nan", "inf")),
        ("infrom=85", '"inform"'),
        ("joint_accuracy=85", '"dst.joint_accuracy"'),
        ("inform.hotels=85", '"inform.hotel"'),
        ("combined=85", "metric"),
        ("halucination=5", '"hallucination"'),
    ],
)
def test_invalid_gates_are_rejected(text: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        failed(text)
    assert named in str(caught.value)


def test_failed_gates_are_printed_and_do_not_change_the_report(elsewhere: Path, run: Run) -> None:
    under, failing = "inform=90,success=80", "inform=99,success=10,inform.hotel=98,bleu=90"
    for metrics, system, gates, names in (
        ("bs", "good", ("--fail-under", under, "--fail-below", NO_PHONE), []),
        ("bs", "good", ("--fail-under", failing), ["inform", "inform.hotel", "bleu.sample"]),
        ("d", "good", ("--fail-below", WEAK), []),
        ("d", "weak-tracker", ("--fail-below", GOOD), [f"dst.{name}" for name in TRACKING]),
    ):
        code, out, err = run("evaluate", f"-{metrics}", "-q", sample_file(system), *gates)
        assert (code, out) == (bool(names), "")
        assert [line.split()[:2] for line in err.splitlines()] == [["failed:", n] for n in names]
        evaluator = Evaluator(bleu="b" in metrics, success="s" in metrics, dst="d" in metrics)
        expected = evaluator.evaluate(sample_predictions(system)).to_dict()
        assert read_json(elsewhere / "evaluation_results.json") == expected


@pytest.mark.parametrize(("gate", "code"), [("recall10=0.5", 0), ("final=0.9", 1)])
def test_gates_accept_short_score_names_of_the_benchmark(gate: str, code: int, run: Run) -> None:
    file = str(ROOT / "predictions" / "dstc7-overlap" / "Ubuntu_subtask_4.json")
    assert run("evaluate", "--benchmark", "dstc7", file, "-q", "--fail-under", gate).code == code


def test_the_baseline_gate_agrees_with_the_paired_tests(evaluator: Evaluator) -> None:
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
    line = r"(.+) is (.+), significantly worse than the baseline's (.+) \(p = (.+)\)"
    worse = worse_than(system, baseline, Resampling())
    assert worse
    for name, value, other, p in (present(re.fullmatch(line, text)).groups() for text in worse):
        assert float(value) < float(other)
        assert float(p) == pytest.approx(adjusted[name], rel=0.01)
        assert adjusted[name] <= 0.05
    assert not worse_than(baseline, system, Resampling())
    assert not worse_than(system, system, Resampling())


def test_step_summary_gets_tables_and_failures_or_a_warning_is_printed(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    summary = elsewhere / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run("evaluate", "-s", "-q", GOOD, "--fail-under", "inform=99").code == 1
    written = summary.read_text()
    assert written.startswith("before\n")
    assert "| Inform | 93.5 |" in written
    assert "- failed: inform is 93.5484" in written
    for place in ("missing/summary.md", "nul\x00"):
        monkeypatch.setattr("os.environ", {"GITHUB_STEP_SUMMARY": place})
        code, _, err = run("evaluate", "-s", GOOD, "-o", "-")
        assert (code, err[:28]) == (0, "warning: GITHUB_STEP_SUMMARY")
