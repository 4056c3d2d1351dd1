"""Every golden case of the ranking scores and of the F-score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.dstc7.evaluation import Gold, Options, Track, evaluate, plain_metrics, score
from mwzeval.dstc7.loading import Loaded
from mwzeval.dstc7.measures import NOTHING, select
from mwzeval.dstc7.submission import check_submission
from mwzeval.errors import InputError
from mwzeval.scores.findings import Findings
from tests.dstc7.cases import Folder, golden, kinds, loaded, ranks
from tests.places import read_json, shared

pytestmark = pytest.mark.integration

CUTOFFS = ("1", "2", "5", "10", "50", "100")
NOT_REPRODUCED = tuple(f"BUG {number}" for number in (1, 2, 3, 7, 8))


def close(value: float) -> Any:
    return pytest.approx(value, rel=0, abs=1e-12)


def cases(name: str, choose: Callable[[dict[str, Any]], Any] = bool) -> list[Any]:
    """Return the chosen cases of a golden file, or none if the file does not exist."""
    try:
        return [pytest.param(case, id=case["name"]) for case in golden(name) if choose(case)]
    except (pytest.skip.Exception, pytest.fail.Exception):
        return []  # `test_golden_case_files_are_complete` reports missing files


def has_figures(case: dict[str, Any]) -> bool:
    return bool("spec" in case and case["spec"]["n"])


def is_reproduced(case: dict[str, Any]) -> bool:
    """Return whether compat mode reproduces the figures of the old script."""
    note = case.get("note", "")
    is_other_fault = note.startswith(NOT_REPRODUCED)
    return has_figures(case) and not case["original"]["error"] and not is_other_fault


def test_golden_case_files_are_complete() -> None:
    assert len(golden("ranking_metrics.json")) >= 90
    assert len(golden("fscore90.json")) >= 29


def track_of(case: dict[str, Any]) -> Track:
    if "NONE" in case["targets_tsv"].upper():
        return Track("ubuntu", 4)
    several = any("," in line for line in case["targets_tsv"].splitlines())
    return Track("advising", 3) if several else Track("ubuntu", 1)


@pytest.mark.parametrize("case", cases("ranking_metrics.json", has_figures))
def test_ranking_scores_equal_the_specification(case: dict[str, Any]) -> None:
    spec = case["spec"]
    inputs = loaded(case["predictions"], case["targets_tsv"], track_of(case))
    evaluated = score(inputs)
    ranking = plain_metrics(evaluated)["ranking"]
    assert ranking["n"] == spec["n"]
    assert ranks(evaluated) == spec["ranks"]
    for k in CUTOFFS:
        assert ranking["recall"][k] == close(spec["hit"][k])
        assert ranking["set_recall"][k] == close(spec["set_recall"][k])
    for name in ("mrr", "map", "final"):
        assert ranking[name] == close(spec[name])
    precisions = evaluated.scored_table.table.column("average_precision").tolist()
    assert precisions == [close(value) for value in spec["average_precision"]]
    assert [e for e in inputs.targets if e not in inputs.submission] == spec["missing"]
    assert [e for e in inputs.submission if e not in inputs.targets] == spec["extra"]


@pytest.mark.parametrize("case", cases("ranking_metrics.json", is_reproduced))
def test_compat_2018_reproduces_the_scores_of_the_2018_script(case: dict[str, Any]) -> None:
    original, options = case["original"], Options(compat="2018")
    evaluated = score(loaded(case["predictions"], case["targets_tsv"], track_of(case), options))
    ranking = plain_metrics(evaluated)["ranking"]
    assert ranks(evaluated) == original["ranks"]
    recalls = {f"R@{k}": ranking["recall"][k] for k in ("1", "10", "50", "100")}
    expected = original["recall"] | {name: original[name] for name in ("mrr", "map")}
    found = recalls | {name: ranking[name] for name in ("mrr", "map")}
    assert found == {name: close(expected[name]) for name in found}


@pytest.mark.parametrize(
    "case", cases("ranking_metrics.json", lambda case: "expected_validation" in case)
)
def test_validation_reports_the_expected_problems(case: dict[str, Any], tmp_path: Path) -> None:
    expected = case["expected_validation"]
    content = case.get("predictions_text", case.get("predictions"))
    problems = Folder(tmp_path).problems(
        content, case["targets_tsv"], track_of(case), Options(strict=True)
    )
    if expected["level"] == "ok":
        assert not kinds(problems, "error")
        return
    assert problems[0].severity == "error"
    if "code" in expected:
        assert expected["code"] in kinds(problems, expected["level"])
    if "examples" in expected:
        examples = [problem.example for problem in problems if problem.kind == expected["code"]]
        assert examples == expected["examples"]


@pytest.mark.parametrize("case", cases("ranking_metrics.json", lambda case: not has_figures(case)))
def test_cases_without_expected_scores_are_refused(case: dict[str, Any], tmp_path: Path) -> None:
    content = case.get("predictions_text", case.get("predictions"))
    with pytest.raises(InputError) as caught:
        Folder(tmp_path).evaluated(content, case["targets_tsv"], track_of(case))
    assert all(problem.severity == "error" for problem in caught.value.problems)


@pytest.mark.parametrize("case", cases("fscore90.json"))
def test_f_scores_equal_the_specification(case: dict[str, Any]) -> None:
    # Files are not used, because a random case has NONE together with other answers.
    targets = {name: tuple(ids) for name, ids in case["targets"].items()}
    options = Options(metric="fscore", **case["options"])
    submission = check_submission(case["submission"], Findings(lenient=True))
    inputs = Loaded(Track("ubuntu", 4), options, submission, targets)
    evaluated = score(inputs)
    found, expected = plain_metrics(evaluated)["fscore"], case["expected"]
    for name in ("selected", "correct_selected"):
        assert found["counts"][name] == expected[name]
    assert found["counts"]["correct"] == expected["correct_total"]
    assert found["precision"] == close(expected["precision"])
    assert found["recall"] == close(expected["recall"])
    assert found[f"fscore@{100 * options.coverage:g}"] == close(expected["f_score"])
    for name, value in expected["macro"].items():
        assert found[f"macro.{name}"] == close(value)
    for row in expected["per_example"]:
        ranking = inputs.submission.get(row["example"], NOTHING)
        chosen = select(ranking, options.coverage)
        assert list(chosen) == [identity.upper() for identity in row["selected"]]
        sums = evaluated.scored_table.table.select([row["example"]]).sums()
        assert sums["correct_selected"] == row["correct_selected"]
        values = (sums["precision"], sums["recall"], sums["f_score"])
        assert values == tuple(close(row[name]) for name in ("precision", "recall", "f"))


def test_large_submission_scores_equal_the_specification() -> None:
    expected = read_json(shared("golden", "dstc7", "large_expected.json"))["spec"]
    evaluated = evaluate(
        shared("golden", "dstc7", "large_predictions.json.gz"),
        Gold(targets=shared("golden", "dstc7", "large_targets.tsv")),
        Track("ubuntu", 1),
    )
    ranking = plain_metrics(evaluated)["ranking"]
    assert ranks(evaluated) == expected["ranks"]
    assert ranking["recall"] == {k: close(v) for k, v in expected["hit"].items()}
    assert ranking["set_recall"] == {k: close(v) for k, v in expected["set_recall"].items()}
    assert [ranking[name] for name in ("mrr", "map", "final")] == [
        close(expected[name]) for name in ("mrr", "map", "final")
    ]
