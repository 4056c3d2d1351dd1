"""`mwzeval validate`: the problems of predictions, and the conditions of each score."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mwzeval import Evaluator
from mwzeval.errors import CONDITIONS, InputError, Problem, conditions
from mwzeval.multiwoz.census import Census
from mwzeval.multiwoz.corpus import References
from mwzeval.multiwoz.plausibility import check_references
from mwzeval.outcome import finish
from mwzeval.scores.findings import Findings
from mwzeval.scores.sheets import Document
from tests.command_lines import Run
from tests.places import GOOD, ROOT, Predictions, read_json, sample_predictions, without, write_json

pytestmark = pytest.mark.usefixtures("elsewhere")

Validate = Callable[..., tuple[int, str]]


@pytest.fixture
def validated(run: Run, monkeypatch: pytest.MonkeyPatch) -> Validate:
    """Return the exit code of `validate` and its output on a terminal or to a pipe."""

    def validate(predictions: Any, *options: str, terminal: bool = True) -> tuple[int, str]:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
        return run("validate", write_json(Path("mine.json"), predictions), *options)[:2]

    return validate


def test_each_unknown_key_is_reported_once_with_count_and_suggestion(validated: Validate) -> None:
    keys = {"respons": '"response"', "activ_domains": '"active_domains"', "stat": '"state"'}
    predictions = {
        name: [{**turn, **dict.fromkeys(keys, "")} for turn in turns]
        for name, turns in sample_predictions("good").items()
    }
    _, text = validated(predictions)
    turns = sum(map(len, predictions.values()))
    lines = [line for line in text.splitlines() if any(f'"{key}"' in line for key in keys)]
    assert len(lines) == len(keys)
    for line, (key, meant) in zip(lines, keys.items(), strict=True):
        assert all(text in line for text in (f'"{key}"', meant, f"({turns} times)"))


def test_misspelled_dialogue_ids_are_grouped_in_one_error(validated: Validate) -> None:
    turns = list(sample_predictions("good").values())
    ids = [f"{name}.json" for name in sample_predictions("good")]
    predictions = dict(zip([*ids[:-1], "smp9999"], turns, strict=True))
    code, text = validated(predictions)
    of_case, unknown = [line for line in text.splitlines() if line.startswith("error: ")]
    assert code == 2
    assert "lower case" in of_case
    assert f"({len(ids) - 1} times)" in of_case
    assert "smp9999" in unknown


def test_json_lists_each_problem_with_its_location_and_no_follow_up_errors(
    validated: Validate,
) -> None:
    renamed = {
        name: [{"resp": turn["response"], "state": turn["state"]} for turn in turns]
        for name, turns in sample_predictions("good").items()
    }
    code, text = validated(renamed, "-f", "json")
    result = json.loads(text)
    assert (code, result["valid"]) == (2, False)
    kinds = [problem["kind"] for problem in result["problems"]]
    assert (kinds[0], {*kinds}) == ("missing-response", {"missing-response", "unknown-key"})
    missing = result["problems"][0]
    assert '"resp"' in missing["message"]
    place = {"file": "mine.json", "dialogue": next(iter(renamed)), "turn": 0, "key": "response"}
    expected = {**place, "severity": "error", "count": 1, "kind": kinds[0]}
    assert missing == {**expected, "message": missing["message"]}


def test_piped_output_is_json_unless_text_is_requested(validated: Validate) -> None:
    for options, terminal in product(((), ("-f", "json"), ("-f", "text")), (True, False)):
        code, text = validated(sample_predictions("good"), *options, terminal=terminal)
        assert code == 0
        if "json" in options or not (options or terminal):
            assert json.loads(text) == {"valid": True, "problems": []}
        else:
            (line,) = text.splitlines()
            assert not line.startswith("{")


def without_states(keep: int = 0) -> Predictions:
    """Return the sample predictions with states in the first `keep` dialogues only."""
    predictions = sample_predictions("good")
    return without(predictions, "state") | dict(list(predictions.items())[:keep])


@pytest.fixture
def stateless() -> str:
    return write_json(Path("stateless.json"), without_states())


@pytest.mark.parametrize(
    ("metric", "keep", "kinds"),
    [("success", 0, ["gold-states"]), ("success", 5, ["partial-state"]), ("bleu", 0, [])],
)
def test_missing_states_cause_a_warning_if_a_score_uses_states(
    metric: str, keep: int, kinds: list[str]
) -> None:
    report = Evaluator(**{metric: True}).evaluate(without_states(keep))  # type: ignore[arg-type]
    assert [warning.kind for warning in report.warnings if warning.kind in CONDITIONS] == kinds
    if kinds:
        assert dict(report.score(metric).signature.choices)["state"] == "gold"


def test_every_format_shows_the_gold_state_warning(stateless: str, run: Run) -> None:
    (message,) = conditions(Evaluator(success=True).evaluate(without_states()).warnings)
    for form in ("text", "markdown", "latex", "csv", "jsonl", "html"):
        for file in (stateless, GOOD):
            code, out, _ = run("evaluate", "-s", file, "-f", form)
            assert (code, message in out) == (0, file == stateless), form
    for form in ("text", "csv", "json"):
        code, out, _ = run("compare", "-s", stateless, stateless, "-f", form, "--samples", "50")
        assert (code, message in out) == (0, True), form


def test_validate_lists_gold_states_and_strict_mode_rejects_them(stateless: str, run: Run) -> None:
    code, out, _ = run("validate", stateless)
    (problem,) = json.loads(out)["problems"]
    assert (code, problem["kind"], problem["severity"]) == (0, "gold-states", "warning")
    for file, expected in ((stateless, 2), (GOOD, 0)):
        assert run("evaluate", "-s", file, "--strict").code == expected


def test_references_without_the_default_set_cause_a_warning() -> None:
    for chosen, kinds in (("other",), ["other-references"]), (("sample", "other"), []):
        census = Census(turns=1, references=Counter(dict.fromkeys(chosen, 1)))
        sets = {name: References(name, "0", {"smp0021": ("hello",)}) for name in chosen}
        findings = Findings()
        check_references(census, sets, "sample", findings)
        assert [found.kind for found in findings.warnings if found.kind in CONDITIONS] == kinds


def test_strict_mode_ignores_warnings_caused_by_options() -> None:
    arguments = Namespace(strict=True, quiet=True, output="-")
    document = Document((), (), (), (), {})
    warnings = [Problem(kind, "…", "warning") for kind in ("other-references", "gold-states")]
    assert finish(arguments, document, warnings[:1], ()) == 0
    with pytest.raises(InputError) as refused:
        finish(arguments, document, warnings, ())
    assert [problem.kind for problem in refused.value.problems] == ["gold-states"]


def test_crosswoz_states_conditioned_on_gold_acts_cause_a_warning(run: Run) -> None:
    predictions = read_json(ROOT / "predictions" / "crosswoz-sample-dst.json")
    for conditioning, kinds in (("gold_previous_state", []), ("gold_acts", ["gold-acts"])):
        predictions["_meta"]["conditioning"] = conditioning
        file = write_json(Path("dst.json"), predictions)
        code, out, _ = run("evaluate", "--benchmark", "crosswoz", file, "-o", "-")
        assert code == 0
        assert [warning["kind"] for warning in json.loads(out)["meta"]["warnings"]] == kinds
