"""Evaluators are reusable and thread-safe; reports contain options and coverage."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from importlib.metadata import version
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mwzeval
from mwzeval.errors import InputError, UsageError
from mwzeval.multiwoz import SCORING_REVISION
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.score import Signature
from mwzeval.version import __version__
from tests.examples import examples
from tests.places import SAMPLE_SYSTEMS, sample_predictions, without

Predictions = dict[str, list[dict[str, Any]]]


def fresh() -> Evaluator:
    return Evaluator(True, True, True, True, corpus="sample")


def test_package_exports_the_evaluator() -> None:
    assert mwzeval.Evaluator is Evaluator
    with pytest.raises(AttributeError, match="Evaluators"):
        _ = mwzeval.Evaluators


@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_shared_evaluators_give_equal_reports_and_keep_inputs_unchanged(
    evaluator: Evaluator, system: str
) -> None:
    predictions = sample_predictions(system)
    before = deepcopy(predictions)
    original = fresh()
    copies = [pickle.loads(pickle.dumps(original))]
    expected = original.evaluate(predictions).to_dict()
    copies.append(pickle.loads(pickle.dumps(original)))
    assert len(pickle.dumps(original.unloaded())) < 10_000  # workers receive no gold data
    for other in (evaluator, original, *copies):
        assert other.evaluate(predictions).to_dict() == expected
    evaluator.validate(predictions)
    assert predictions == before
    assert list(predictions) == list(before)


@pytest.mark.integration
def test_threads_can_share_an_evaluator(evaluator: Evaluator) -> None:
    systems = [SAMPLE_SYSTEMS[index % len(SAMPLE_SYSTEMS)] for index in range(8)]
    inputs = [sample_predictions(system) for system in systems]
    expected = [evaluator.evaluate(predictions).to_dict() for predictions in inputs]
    shared, start = fresh(), Barrier(len(inputs))

    def evaluate(predictions: Predictions) -> list[dict[str, Any]]:
        start.wait()
        return [shared.evaluate(predictions).to_dict() for _ in range(2)]

    with ThreadPoolExecutor(len(inputs)) as pool:
        results = list(pool.map(evaluate, inputs))
    assert results == [[report, report] for report in expected]


@examples(30)
@given(st.sampled_from(SAMPLE_SYSTEMS), st.data())
def test_rows_of_a_subset_equal_rows_of_the_full_evaluation(
    evaluator: Evaluator, system: str, data: st.DataObject
) -> None:
    predictions = sample_predictions(system)
    some = st.lists(st.sampled_from(list(predictions)), min_size=1, max_size=9, unique=True)
    names = data.draw(some)
    whole = evaluator.evaluate(predictions).table
    part = evaluator.evaluate({name: predictions[name] for name in names}).table
    assert part.columns == whole.columns
    assert part.units == tuple(names)
    # Windows of words span dialogues, so they differ in a part.
    columns = [not column.startswith("richness.window") for column in part.columns]
    expected = whole.select(names).values[:, columns]
    assert part.values[:, columns].tolist() == expected.tolist()


@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_dialogue_outcome_equals_its_table_row(evaluator: Evaluator, system: str) -> None:
    predictions = sample_predictions(system)
    before = deepcopy(predictions)
    table = evaluator.evaluate(predictions).table
    without_metrics = Evaluator(corpus="sample")
    for name, numbers in zip(table.units, table.values.tolist(), strict=True):
        row = dict(zip(table.columns, numbers, strict=True))
        outcome = evaluator.evaluate_dialogue(name, predictions[name])
        assert without_metrics.evaluate_dialogue(name, tuple(predictions[name])) == outcome
        assert (outcome.inform, outcome.success) == (row["inform.total"], row["success.total"])
        for domain, result in outcome.domains.items():
            found = (1, result.inform, bool(result.success))
            assert found == tuple(row[f"{c}.{domain}"] for c in ("goals", "inform", "success"))
        assert sum(row[c] for c in row if c.startswith("goals.")) == 1 + len(outcome.domains)
    assert predictions == before


@pytest.mark.parametrize(
    ("name", "turns", "kind"),
    [
        ("smp0021", [{}], "missing-response"),
        ("smp0021", [], "empty"),
        ("smp0021", [{"response": "a"}] * 4, "too-many-turns"),
        ("smp9999", [{"response": "a"}], "unknown-dialogue"),
    ],
)
def test_invalid_dialogues_are_errors(
    evaluator: Evaluator, name: str, turns: list[dict[str, str]], kind: str
) -> None:
    with pytest.raises(InputError) as caught:
        evaluator.evaluate_dialogue(name, turns)
    assert [problem.kind for problem in caught.value.problems] == [kind]


def test_single_metric_evaluation_equals_the_full_evaluation(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    full = evaluator.evaluate(predictions).metrics
    for metric in full:
        options: dict[str, Any] = {metric: True}
        alone = Evaluator(**options, corpus="sample").evaluate(predictions).metrics
        assert alone == {**dict.fromkeys(full), metric: full[metric]}
    with pytest.raises(UsageError):
        Evaluator(corpus="sample").evaluate(predictions)


def test_signatures_name_the_versions_of_libraries(evaluator: Evaluator) -> None:
    levenshtein = {"levenshtein": version("python-Levenshtein")}
    moses = {"moses": version("sacremoses")}
    expected = {
        "inform": levenshtein,
        "success": levenshtein,
        "bleu.sample": {**moses, "sacrebleu": version("sacrebleu")},
        "richness.msttr": {**moses, "lexdiv": version("lexical-diversity")},
        "dst.slot_f1": levenshtein,
    }
    report = evaluator.evaluate(sample_predictions("good")).to_dict()
    for score, libraries in expected.items():
        text = report["meta"]["signatures"][score]
        signature = Signature.parse(text)
        assert str(signature) == text
        assert signature.metric == score.partition(".")[0]
        named = {"version": __version__, "rev": str(SCORING_REVISION), **libraries}
        choices = dict(signature.choices)
        assert choices["corpus"] == f"sample@{report['meta']['sources']}"
        keys = {"version", "rev", "levenshtein", "moses", "sacrebleu", "lexdiv"}
        assert {key: choices[key] for key in keys & choices.keys()} == named


@pytest.mark.parametrize(
    ("keys", "kinds"),
    [
        ((), []),
        (("state",), ["gold-states", "no-states"]),
        (("active_domains",), []),
        (("state", "active_domains", "bookings"), ["gold-states", "no-states"]),
    ],
)
def test_missing_states_are_reported(keys: tuple[str, ...], kinds: list[str]) -> None:
    predictions = without(sample_predictions("good"), *keys)
    report = Evaluator(success=True, dst=True, corpus="sample").evaluate(predictions)
    assert [warning.kind for warning in report.warnings] == kinds
    assert (report.metrics["dst"] is None) == bool(kinds)


def test_coverage_is_counted_by_dialogue_turn_and_domain(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    kept = dict(list(predictions.items())[:20])
    report = evaluator.evaluate(kept)
    sums = report.table.sums()
    whole = evaluator.evaluate(predictions).table.sums()
    assert report.meta["coverage"] == {
        "dialogues": {"scored": 20, "of": 62},
        "turns": {"scored": sum(map(len, kept.values())), "of": 452},
        "domains": {
            domain: {"scored": sums[f"goals.{domain}"], "of": whole[f"goals.{domain}"]}
            for domain in ("attraction", "hotel", "restaurant", "taxi", "train")
        },
    }
    kinds = [problem.kind for problem in report.warnings]
    assert kinds == ["fewer-dialogues", "fewer-turns"]
