"""Scores that come from gold data, or from other references, are printed with their condition."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mwzeval import Evaluator
from mwzeval.cli import main
from mwzeval.errors import CONDITIONS, InputError, Problem, conditions
from mwzeval.multiwoz.corpus import References
from mwzeval.multiwoz.predictions.census import Census
from mwzeval.multiwoz.predictions.plausibility import check_references
from mwzeval.outcome import warned
from mwzeval.scores.findings import Findings
from tests.places import ROOT, read_json, sample_predictions

GOOD = str(ROOT / "predictions" / "sample-good.json")
OUTPUT = Path("evaluation_results.json")


def without_states(keep: int = 0) -> dict[str, list[dict[str, Any]]]:
    """Return the sample's predictions with states in the first `keep` dialogues only."""
    predictions = sample_predictions("good")
    for name in list(predictions)[keep:]:
        for turn in predictions[name]:
            del turn["state"]
    return predictions


@pytest.fixture
def stateless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("stateless.json").write_text(json.dumps(without_states()), encoding="utf-8")
    return "stateless.json"


@pytest.mark.parametrize(
    ("metric", "keep", "kinds"),
    [("success", 0, ["gold-states"]), ("success", 5, ["partial-state"]), ("bleu", 0, [])],
)
def test_gold_states_are_a_warning_where_a_score_uses_states(
    metric: str, keep: int, kinds: list[str]
) -> None:
    report = Evaluator(**{metric: True}).evaluate(without_states(keep))  # type: ignore[arg-type]
    assert [warning.kind for warning in report.warnings if warning.kind in CONDITIONS] == kinds
    if kinds:
        assert dict(report.score(metric).signature.choices)["state"] == "gold"


def test_every_format_shows_the_condition(
    stateless: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (message,) = conditions(Evaluator(success=True).evaluate(without_states()).warnings)
    for form in ("text", "markdown", "latex", "csv", "jsonl", "html"):
        for file in (stateless, GOOD):
            assert main(["evaluate", "-s", file, "-f", form]) == 0
            assert (message in capsys.readouterr().out) is (file == stateless), form
    for form in ("text", "csv", "json"):
        command = ["compare", "-s", stateless, stateless, "-f", form, "--samples", "50"]
        assert main(command) == 0
        assert message in capsys.readouterr().out, form


def test_validate_lists_gold_states_and_strict_refuses_them(
    stateless: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", stateless]) == 0
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert (problem["kind"], problem["severity"]) == ("gold-states", "warning")
    assert main(["evaluate", "-s", stateless, "--strict"]) == 2
    assert main(["evaluate", "-s", GOOD, "--strict"]) == 0


def test_references_without_the_default_ones_are_a_warning() -> None:
    for chosen, kinds in (("other",), ["other-references"]), (("sample", "other"), []):
        census = Census(turns=1, references=Counter(dict.fromkeys(chosen, 1)))
        sets = {name: References(name, "0", {"smp0021": ("hello",)}) for name in chosen}
        findings = Findings()
        check_references(census, sets, "sample", findings)
        assert [found.kind for found in findings.warnings if found.kind in CONDITIONS] == kinds


def test_strict_refuses_no_warning_that_an_option_causes() -> None:
    arguments = Namespace(strict=True, quiet=True)
    warnings = [Problem(kind, "…", "warning") for kind in ("other-references", "gold-states")]
    with warned(arguments, warnings[:1]):
        pass
    with pytest.raises(InputError) as refused:
        warned(arguments, warnings)
    assert [problem.kind for problem in refused.value.problems] == ["gold-states"]


def test_states_of_crosswoz_from_gold_acts_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    predictions = read_json(ROOT / "predictions" / "crosswoz-sample-dst.json")
    for conditioning, kinds in (("gold_previous_state", []), ("gold_acts", ["gold-acts"])):
        predictions["_meta"]["conditioning"] = conditioning
        Path("dst.json").write_text(json.dumps(predictions), encoding="utf-8")
        assert main(["evaluate", "--benchmark", "crosswoz", "dst.json"]) == 0
        assert [w["kind"] for w in read_json(OUTPUT)["meta"]["warnings"]] == kinds
