"""Scores of the gold annotation, alone and next to a system."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.multiwoz.ceiling import gold_predictions, with_placeholders
from mwzeval.multiwoz.corpus import GoldFold, corpus_root, load_fold
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.placeholders import normalize_response
from tests.command_lines import Run
from tests.places import GOOD, ROOT, read_json, sample_predictions, shared, write_json

LEXICALIZED = ROOT / "predictions" / "sample-lexicalized.json"
REPORT = Path("report.json")


@pytest.fixture(scope="module")
def gold() -> GoldFold:
    return load_fold("sample", "test", corpus_root("sample", None, offline=True))


@pytest.fixture
def report(run: Run, elsewhere: Path) -> Any:
    """Return a function that returns the report and the printed tables of a system."""

    def ceiling(*words: str) -> tuple[Any, str]:
        code, out, err = run("ceiling", *words, "-o", str(REPORT))
        assert code == 0, err
        return read_json(REPORT), out

    return ceiling


def plain(metrics: Any) -> Any:
    return json.loads(json.dumps(metrics))


def test_normalization_keeps_references_with_placeholders_unchanged(gold: GoldFold) -> None:
    for dialogue in gold.dialogues.values():
        for reference in dialogue.references:
            assert normalize_response(with_placeholders(reference)) == reference
    text = "TRAINID leaves at TIME, NAME is in the AREA, my id is ID"
    expected = "[trainid] leaves at [booktime], [name] is in the [area], my id is [hospital_id]"
    assert with_placeholders(text) == expected


def test_gold_responses_and_states_get_maximum_scores(evaluator: Evaluator, gold: GoldFold) -> None:
    report = evaluator.evaluate(gold_predictions(gold))
    assert report.metrics["bleu"] == {"sample": pytest.approx(100)}
    assert report.metrics["dst"]["joint_accuracy"] == pytest.approx(100)
    assert report.warnings == ()


@pytest.mark.integration
def test_ceiling_of_the_test_fold_equals_the_documented_scores(report: Any) -> None:
    found, _ = report("--data", str(shared("data", "multiwoz")))
    assert found["success"]["inform"]["total"] == 92.5
    assert found["success"]["success"]["total"] == 88.8
    assert found["bleu"]["mwz22"] == pytest.approx(100)


def test_fold_ceiling_reports_all_metrics_and_intervals(
    report: Any, evaluator: Evaluator, gold: GoldFold
) -> None:
    found, _ = report("--corpus", "sample", "--ci")
    human = gold_predictions(gold, in_words=True)
    grounded = Evaluator(grounded=True, corpus="sample", responses="lexicalized").evaluate(human)
    expected = {**evaluator.evaluate(gold_predictions(gold)).metrics}
    expected["grounded"] = grounded.metrics["grounded"]
    assert {name: found[name] for name in expected} == plain(expected)
    scores = found["meta"]["scores"]
    assert all(score["low"] is not None for score in scores if score["score"] == "inform")
    assert found["meta"]["signatures"]["inform"].endswith("|predictions:gold")


def test_ceiling_is_reported_next_to_the_scores(
    report: Any, evaluator: Evaluator, gold: GoldFold
) -> None:
    found, out = report("-bsrd", "-i", GOOD)
    expected = evaluator.evaluate(gold_predictions(gold)).metrics
    assert found["meta"].pop("ceiling") == plain(expected)
    assert found == evaluator.evaluate(sample_predictions("good")).to_dict()
    lines = out.splitlines()
    inform = next(index for index, line in enumerate(lines) if line.startswith("Inform"))
    rates = [f"{rate:.1f}" for rate in expected["success"]["inform"].values()]
    assert lines[inform + 1].split() == ["ceiling", *rates]


def test_ceiling_covers_only_predicted_dialogues_and_turns(report: Any, gold: GoldFold) -> None:
    some = dict(list(sample_predictions("good").items())[:7])
    some = {name: turns[:-1] or turns for name, turns in some.items()}
    found, _ = report("-sr", "-i", write_json(Path("some.json"), some))
    same = gold_predictions(gold, some)
    assert {name: len(turns) for name, turns in same.items()} == {
        name: len(turns) for name, turns in some.items()
    }
    expected = Evaluator(success=True, richness=True).evaluate(same).metrics
    assert found["meta"]["ceiling"] == plain(expected)


@pytest.mark.integration
def test_grounded_ceiling_is_reported_next_to_system_scores(report: Any, gold: GoldFold) -> None:
    words = LEXICALIZED.read_text(encoding="utf-8").replace("moderate", "cheap")
    Path("cheap.json").write_text(words, encoding="utf-8")
    found, out = report("-sg", "-i", "cheap.json")
    responses = gold_predictions(gold, in_words=True)
    assert not any("[" in turn["response"] for turns in responses.values() for turn in turns)
    grounded = Evaluator(grounded=True, corpus="sample", responses="lexicalized").evaluate(
        responses
    )
    classic = Evaluator(success=True, corpus="sample").evaluate(gold_predictions(gold))
    ceiling = found["meta"]["ceiling"]
    assert ceiling["grounded"] == plain(grounded.metrics["grounded"])
    assert ceiling["success"] == plain(classic.metrics["success"])

    values = {(score.name, score.scope): f"{score.value:.1f}" for score in grounded.scores}
    tables = {table.split()[0]: table.splitlines() for table in out.split("\n\n")}
    for name in ("Hallucination", "Consistency"):
        header, *rows = tables[name]
        assert header.split() == [name, "ceiling", "n"]
        shown = {scope: (own, human) for scope, own, human, _ in map(str.split, rows)}
        assert {scope: rates[1] for scope, rates in shown.items()} == {
            scope: values[name.lower(), scope] for scope in shown
        }
    assert any(own != human for own, human in shown.values())
