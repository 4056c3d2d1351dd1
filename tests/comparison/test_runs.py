"""Several runs of a system: means, spread, variance components and comparisons."""

from __future__ import annotations

import json
import random
import re
from functools import partial
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest

from mwzeval.arguments import named_runs
from mwzeval.commands.systems import names_of
from mwzeval.comparison.runs import scores_of_runs
from mwzeval.errors import InputError, UsageError
from mwzeval.metrics.measure import Measure, ScoredTable, percentage
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.runs import variance_components
from tests.command_lines import Run
from tests.places import (
    GOOD,
    Predictions,
    read_json,
    sample_file,
    sample_predictions,
    without,
    write_json,
)

pytestmark = pytest.mark.usefixtures("elsewhere")


def mixture(seed: int) -> Predictions:
    """Return a run with dialogues drawn from two systems, in random order."""
    good, weak = sample_predictions("good"), sample_predictions("weak-tracker")
    chosen = random.Random(seed)
    names = sorted(good)
    chosen.shuffle(names)
    return {name: (good if chosen.random() < 0.6 else weak)[name] for name in names}


@pytest.fixture
def files(elsewhere: Path) -> list[str]:
    return [Path(write_json(elsewhere / f"{n}.json", mixture(n))).name for n in range(4)]


def test_runs_report_mean_deviation_and_range_of_every_score(
    files: list[str], evaluator: Evaluator, run: Run
) -> None:
    code, out, err = run("runs", "-bsrd", *files, "-f", "csv", "--fail-under", "inform=99")
    assert code == 1
    header = out.splitlines()[0].split(",")
    assert header[:9] == ["score", "scope", "mean", "sd", "min", "max", "runs", "n", "run_share"]
    assert header[-1] == "standard_error_twice_the_dialogues", "variances are written to JSON only"
    assert "failed: inform " in err, "gates apply to the mean"
    report = read_json(Path("evaluation_results.json"))
    runs = [evaluator.evaluate(mixture(seed)) for seed in range(4)]
    assert [row["run"] for row in report["runs"]] == files
    assert [row["success"] for row in report["runs"]] == [r.metrics["success"] for r in runs]
    assert len(report["scores"]) == len(runs[0].scores)
    for found in report["scores"]:
        values = [report.score(found["score"], found["scope"]).value for report in runs]
        assert found["values"] == pytest.approx(values)
        assert found["mean"] == pytest.approx(mean(values))
        assert found["sd"] == pytest.approx(stdev(values))
        assert (found["min"], found["max"]) == (min(found["values"]), max(found["values"]))


def test_variance_components_of_rates_agree_with_their_outcomes(evaluator: Evaluator) -> None:
    runs = {str(seed): evaluator.score(mixture(seed)).scored_table for seed in range(4)}
    units = runs["0"].table.units
    without = {score.name for score in scores_of_runs(runs) if score.components is None}
    assert {"richness.msttr", "richness.num_unigrams"} <= without, "they are no means of units"
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


def test_runs_with_different_cases_have_a_spread_but_no_components() -> None:
    score = percentage("right", of="case")
    measure = Measure("rate", "Rate", Signature("rate", ()), score, cases="case")
    same = [("a", {"right": 1, "case": 1}), ("b", {"case": 1}), ("c", {"right": 1, "case": 1})]
    for other in ([*same[:2], ("c", {})], [("a", {}), *same[1:]], same):
        tables = (Table.from_rows(("right", "case"), rows) for rows in (same, other))
        runs = {str(number): ScoredTable(table, (measure,)) for number, table in enumerate(tables)}
        (found,) = scores_of_runs(runs)
        assert (found.components is None) == (other is not same)
        assert list(found.values) == pytest.approx([200 / 3, 200 / 3 if other is same else 50])


def test_runs_with_different_inputs_or_settings_are_rejected(evaluator: Evaluator) -> None:
    whole, shorter, lacking = mixture(0), mixture(2), mixture(1)
    stateless = without(lacking, "state")
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


def test_identical_runs_rank_like_a_single_run(elsewhere: Path, run: Run) -> None:
    for name in "abcd":
        (elsewhere / f"{name}.json").symlink_to(sample_file("lexicalized"))
    compared = ("compare", "same=a.json,b.json,c.json", "d.json", "--table", "none")
    out = run(*compared, "--samples", "20", "-f", "latex").out
    rows = dict(line.split(" & ", 1) for line in out.splitlines() if " & " in line)
    few = r"$^\ddagger$"
    assert rows["same"].count(few) == rows["d"].count(" & ") + 1
    assert rows["same"].replace(few, "") == rows["d"]
    assert "textbf" not in rows["same"]  # no system is marked as the best if all are equal


FEW = ("--samples", "100")


@pytest.fixture
def compare(run: Run) -> Run:
    return partial(run, "compare", *FEW)


def test_alpha_option_sets_significance_and_interval_confidence(compare: Run) -> None:
    for level, rank, confidence in (("0.000001", 1, "99.9999 %"), ("0.1", 2, "90 %")):
        _, out, _ = compare(GOOD, sample_file("no-phone"), "-b", "--alpha", level)
        assert re.search(rf"\nsample-no-phone +26\.48 .* {rank}\n", out)
        assert f"{confidence} interval" in out


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("runs/a.json", "runs/b.jsonl.gz"), ["a", "b"]),
        (("one/test.json", "two/test.json"), ["one/test", "two/test"]),
        (("a.json", "a.json", "a.json"), ["a", "a #2", "a #3"]),
        (("-", "a.v2.json.zst"), ["standard input", "a.v2"]),
        (("x/test.json", "y/test.json", "z.json"), ["x/test", "y/test", "z"]),
        (("/a.json", "a.json"), ["/a", "a"]),
    ],
)
def test_systems_are_named_after_their_files(files: tuple[str, ...], expected: list[str]) -> None:
    assert names_of(files) == expected


def runs_of(folder: Path, system: str, *others: str) -> str:
    """Write runs that mix dialogues of the good system and another; return the argument."""
    good = sample_predictions("good")
    files = []
    for number, other in enumerate(others):
        instead = sample_predictions(other)
        chosen = {
            name: (instead if (index + number) % 3 else good)[name]
            for index, name in enumerate(good)
        }
        files.append(write_json(folder / f"{system}-{number}.json", chosen))
    return f"{system}={','.join(files)}"


def test_systems_with_several_runs_are_compared_by_mean_scores(
    compare: Run, tmp_path: Path
) -> None:
    baseline = runs_of(tmp_path, "baseline", "no-phone", "no-phone", "no-phone")
    ours = runs_of(tmp_path, "ours", "no-phone", "no-phone")
    comparison = json.loads(compare(baseline, ours, GOOD, "-s", "-f", "json").out)
    assert comparison["systems"] == ["baseline", "ours", "sample-good"]
    assert [len(runs) for runs in comparison["runs"].values()] == [3, 2, 1]
    assert [caution.partition(":")[0] for caution in comparison["cautions"]] == [
        "baseline, ours",
        "sample-good",
    ]
    alone = {}
    for file in (*tmp_path.iterdir(), Path(GOOD)):
        out = compare(str(file), GOOD, "-s", "-f", "json").out
        scores = json.loads(out)["comparisons"][::2]
        alone[file.name] = {score["score"]: score["value"] for score in scores}
    for found in comparison["comparisons"]:
        files = comparison["runs"][found["system"]]
        values = [alone[file][found["score"]] for file in files]
        assert found["values"] == pytest.approx(values)
        assert found["value"] == pytest.approx(mean(values))
        assert found["runs"] == len(values)
        assert found["sd"] == (pytest.approx(stdev(values)) if len(values) > 1 else None)
        assert found["test"] == (None if found["difference"] is None else "hierarchical-bootstrap")


def test_repeated_system_names_add_runs_in_any_order(compare: Run, tmp_path: Path) -> None:
    first = runs_of(tmp_path, "a", "no-phone", "no-phone", "no-phone")
    runs = first.removeprefix("a=").split(",")
    apart = compare(f"a={runs[2]},{runs[0]}", GOOD, f"a={runs[1]}", "-b")
    assert apart.out == compare(first, GOOD, "-b").out != ""


def test_copies_of_one_run_cause_a_caution(compare: Run, tmp_path: Path) -> None:
    copies = [
        write_json(tmp_path / f"{name}.json", sample_predictions("no-phone")) for name in "abc"
    ]
    seeds = runs_of(tmp_path, "seeds", "no-phone", "no-phone")
    assert "\ncaution: copies: " in compare(f"copies={','.join(copies)}", seeds, "-s").out


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("A=x.json,y.json", ("A", ("x.json", "y.json"))),
        ("lr=0.1.json", None),
        ("A=lr=0.1.json", ("A", ("lr=0.1.json",))),
        ("a,b.json", None),
        ("=x.json", None),
        ("x.json", None),
    ],
)
def test_existing_file_names_take_precedence_over_run_syntax(
    argument: str, expected: tuple[str, tuple[str, ...]] | None
) -> None:
    Path("lr=0.1.json").touch()
    assert named_runs(argument) == expected
