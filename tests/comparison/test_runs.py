"""Many runs of one system: means, spread, and where the variance comes from."""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest

from mwzeval.cli import main
from mwzeval.comparison.runs import scores_of_runs
from mwzeval.errors import InputError, UsageError
from mwzeval.metrics.measure import Measure, ScoredTable, percentage
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.runs import variance_components
from tests.places import ROOT, read_json, sample_predictions

pytestmark = pytest.mark.usefixtures("elsewhere")

GOOD = str(ROOT / "predictions" / "sample-good.json")
Predictions = dict[str, list[dict[str, Any]]]


def mixture(seed: int) -> Predictions:
    """Return a run: each dialogue is of one of two systems, in an order of its own."""
    good, weak = sample_predictions("good"), sample_predictions("weak-tracker")
    chosen = random.Random(seed)
    names = sorted(good)
    chosen.shuffle(names)
    return {name: (good if chosen.random() < 0.6 else weak)[name] for name in names}


@pytest.fixture
def files(elsewhere: Path) -> list[str]:
    for seed in range(4):
        (elsewhere / f"{seed}.json").write_text(json.dumps(mixture(seed)))
    return [f"{seed}.json" for seed in range(4)]


def test_every_score_has_mean_spread_and_range(
    files: list[str], evaluator: Evaluator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "-bsrd", *files, "-f", "csv", "--fail-under", "inform=99"]) == 1
    shown = capsys.readouterr()
    header = shown.out.splitlines()[0].split(",")
    assert header[:9] == ["score", "scope", "mean", "sd", "min", "max", "runs", "n", "run_share"]
    assert header[-1] == "standard_error_twice_the_dialogues", "variances are in JSON only"
    assert "failed: inform " in shown.err, "gates are about the mean"
    report = read_json(Path("evaluation_results.json"))
    runs = [evaluator.evaluate(mixture(seed)) for seed in range(4)]
    assert [run["run"] for run in report["runs"]] == files
    for run, expected in zip(report["runs"], runs, strict=True):
        assert run["success"] == expected.metrics["success"]
    assert len(report["scores"]) == len(runs[0].scores)
    for found in report["scores"]:
        values = [
            score.value
            for run in runs
            for score in run.scores
            if (score.name, score.scope) == (found["score"], found["scope"])
        ]
        assert found["values"] == pytest.approx(values)
        assert found["mean"] == pytest.approx(mean(values))
        assert found["sd"] == pytest.approx(stdev(values))
        assert (found["min"], found["max"]) == (min(found["values"]), max(found["values"]))


def test_components_of_a_rate_are_those_of_its_outcomes(evaluator: Evaluator) -> None:
    runs = {str(seed): evaluator.score(mixture(seed)).scored_table for seed in range(4)}
    units = runs["0"].table.units
    without = {score.name for score in scores_of_runs(runs) if score.components is None}
    assert {"richness.msttr", "richness.num_unigrams"} <= without, "they are no means"
    assert not without & {"inform", "success", "bleu.sample", "combined", "dst.joint_accuracy"}
    for found in scores_of_runs({"a": runs["1"], "b": runs["1"]}):
        assert found.sd == 0
        if found.components and found.shares:
            assert found.shares == pytest.approx((0, 1, 0), abs=1e-9)
    for found in scores_of_runs(runs):
        if found.name not in ("inform", "success"):
            continue
        tables = [scored.table.select(units) for scored in runs.values()]
        asked = tables[0].column(f"goals.{found.scope}") == 1
        outcomes = [100 * t.column(f"{found.name}.{found.scope}")[asked] for t in tables]
        expected = variance_components(np.array(outcomes))
        assert found.components is not None
        for part in ("run", "unit", "residual"):
            part_found = getattr(found.components, part)
            assert part_found == pytest.approx(getattr(expected, part), abs=1e-8)
        assert found.n == asked.sum()
        if found.shares:
            assert sum(found.shares) == pytest.approx(1)


def test_runs_with_other_cases_have_a_spread_and_no_components() -> None:
    score = percentage("right", of="case")
    measure = Measure("rate", "Rate", Signature("rate", ()), score, cases="case")
    same = [("a", {"right": 1, "case": 1}), ("b", {"case": 1}), ("c", {"right": 1, "case": 1})]
    for other in ([*same[:2], ("c", {})], [("a", {}), *same[1:]]):
        tables = (Table.from_rows(("right", "case"), rows) for rows in (same, other))
        runs = {str(number): ScoredTable(table, (measure,)) for number, table in enumerate(tables)}
        (found,) = scores_of_runs(runs)
        assert found.components is None
        assert list(found.values) == pytest.approx([200 / 3, 50])
    tables = (Table.from_rows(("right", "case"), same) for _ in range(2))
    (found,) = scores_of_runs(
        {str(n): ScoredTable(table, (measure,)) for n, table in enumerate(tables)}
    )
    assert found.components is not None


def test_runs_that_differ_in_more_than_a_seed_are_refused(evaluator: Evaluator) -> None:
    whole, shorter, lacking = mixture(0), mixture(2), mixture(1)
    stateless = {
        name: [{key: turn[key] for key in turn if key != "state"} for turn in turns]
        for name, turns in lacking.items()
    }
    first = next(iter(shorter))
    shorter[first] = shorter[first][:-1]
    del lacking[first]
    for metrics, other, error, message in (
        (evaluator, stateless, UsageError, "dst.joint_accuracy"),
        (evaluator, shorter, UsageError, "turns is 452"),
        (evaluator, lacking, InputError, f'b.json.*1 of the 62 dialogues.*"{first}"'),
        (Evaluator(success=True), stateless, UsageError, "state is predicted"),
    ):
        runs = {
            name: metrics.score(run).scored_table
            for name, run in (("a.json", whole), ("b.json", other))
        }
        with pytest.raises(error, match=message):
            scores_of_runs(runs)


def test_runs_that_score_the_same_are_as_good_as_one_of_them(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "predictions" / "sample-lexicalized.json").read_text()
    for name in "abcd":
        (elsewhere / f"{name}.json").write_text(text)
    compared = ["compare", "same=a.json,b.json,c.json", "d.json", "--table", "none"]
    assert main([*compared, "--samples", "20", "-f", "latex"]) == 0
    told = capsys.readouterr().out.splitlines()
    rows = dict(line.split(" & ", 1) for line in told if " & " in line)
    few = r"$^\ddagger$"
    assert rows["same"].count(few) == rows["d"].count(" & ") + 1
    assert rows["same"].replace(few, "") == rows["d"]
    assert "textbf" not in rows["same"]  # where all systems tie, none is the best
