"""Gates: which scores fail, what is refused, and what the command writes and exits with."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.comparison.gates import failures, parse_gates, worse_than
from mwzeval.errors import UsageError
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.score import WHOLE, Score, Signature
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


pytestmark = pytest.mark.usefixtures("elsewhere")


def failed(text: str, value: float = 50) -> list[str]:
    """Return the names of the scores that fail where all have one value."""
    scores = [
        Score(
            name.removesuffix(".hotel"),
            name,
            value,
            1,
            Signature(name, ()),
            scope="hotel" if name.endswith(".hotel") else WHOLE,
            lower_is_better=name in LOWER,
        )
        for name in KNOWN
    ]
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
def test_a_score_fails_when_it_is_worse_than_its_gate_unrounded(
    text: str, value: float, expected: list[str]
) -> None:
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
def test_gates_that_make_no_sense_are_refused(text: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        failed(text)
    assert named in str(caught.value)


def test_gates_that_fail_are_told_and_the_report_is_that_without_gates(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = Evaluator(bleu=True, success=True).evaluate(sample_predictions("good")).to_dict()
    held = ("--fail-under", "inform=90,success=80", "--fail-below", NO_PHONE)
    failing = ("--fail-under", "inform=99,success=10,inform.hotel=98,bleu=90")
    for gates, names in ((held, []), (failing, ["inform", "inform.hotel", "bleu.sample"])):
        assert main(["evaluate", "-bs", "-i", GOOD, *gates]) == bool(names)
        told = capsys.readouterr().err.splitlines()
        assert [line.split()[1] for line in told if line.startswith("failed: ")] == names
        assert read_json(elsewhere / "evaluation_results.json") == expected


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
    line = r"(.+) is (.+), significantly worse than the baseline's (.+) \(p = (.+)\)"
    worse = [
        match.groups()
        for text in worse_than(system, baseline, Resampling())
        if (match := re.fullmatch(line, text))
    ]
    assert worse
    for name, value, other, p_value in worse:
        assert float(value) < float(other)
        assert float(p_value) == pytest.approx(adjusted[name], rel=0.01)
        assert adjusted[name] <= 0.05
    assert not worse_than(baseline, system, Resampling())
    assert not worse_than(system, system, Resampling())


def test_significantly_worse_fails(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [
        ("-d", WEAK, GOOD, 1, "dst.joint_accuracy"),
        ("-d", GOOD, WEAK, 0, ""),
    ]
    for metrics, system, baseline, code, message in cases:
        assert main(["evaluate", metrics, "-q", "-i", system, "--fail-below", baseline]) == code
        printed = capsys.readouterr()
        assert printed.out == ""
        assert message in printed.err


def test_the_step_summary_gets_the_tables_and_the_failures_or_there_is_a_warning(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = elsewhere / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["evaluate", "-s", "-q", "-i", GOOD, "--fail-under", "inform=99"]) == 1
    written = summary.read_text()
    assert written.startswith("before\n")
    assert "| Inform | 93.5 |" in written
    assert "- failed: inform is 93.5484" in written
    capsys.readouterr()
    for place in ("missing/summary.md", "nul\x00"):
        monkeypatch.setattr("os.environ", {"GITHUB_STEP_SUMMARY": place})
        assert main(["evaluate", "-s", "-i", GOOD, "-o", "-"]) == 0
        assert capsys.readouterr().err.startswith("warning: GITHUB_STEP_SUMMARY")
