"""One evaluator, used again and by many at once: the same predictions get the same scores."""

from __future__ import annotations

import pickle
from collections.abc import Callable
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
from mwzeval.text import to_json
from mwzeval.version import __version__
from tests.examples import examples
from tests.places import SAMPLE_SYSTEMS, sample_predictions

Predictions = dict[str, list[dict[str, Any]]]


def fresh() -> Evaluator:
    return Evaluator(True, True, True, True, corpus="sample")


def test_the_evaluator_is_found_where_people_look_for_it() -> None:
    assert mwzeval.Evaluator is Evaluator
    with pytest.raises(AttributeError, match="Evaluators"):
        _ = mwzeval.Evaluators


@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_evaluating_never_changes_the_predictions(evaluator: Evaluator, system: str) -> None:
    predictions = sample_predictions(system)
    before = deepcopy(predictions)
    evaluator.evaluate(predictions)
    evaluator.validate(predictions)
    for name, turns in predictions.items():
        evaluator.evaluate_dialogue(name, turns)
    assert predictions == before
    assert list(predictions) == list(before)


def test_using_an_evaluator_again_gives_the_same_report(evaluator: Evaluator) -> None:
    systems = ("good", "lexicalized", "policy-only")
    expected = {
        name: to_json(fresh().evaluate(sample_predictions(name)).to_dict()) for name in systems
    }
    for name in (*systems, *reversed(systems)):
        assert to_json(evaluator.evaluate(sample_predictions(name)).to_dict()) == expected[name]


@pytest.mark.integration
def test_many_threads_may_share_an_evaluator(evaluator: Evaluator) -> None:
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


@pytest.mark.parametrize("used", [False, True])
def test_an_evaluator_pickles_before_and_after_use(evaluator: Evaluator, used: bool) -> None:
    original = fresh()
    predictions = sample_predictions("weak-tracker")
    if used:
        original.evaluate(predictions)
    copy = pickle.loads(pickle.dumps(original))
    assert copy.evaluate(predictions).to_dict() == evaluator.evaluate(predictions).to_dict()
    assert copy.evaluate(predictions).to_dict() == original.evaluate(predictions).to_dict()


@examples(30)
@given(st.sampled_from(SAMPLE_SYSTEMS), st.data())
def test_rows_of_a_part_are_those_of_the_whole(
    evaluator: Evaluator, system: str, data: st.DataObject
) -> None:
    predictions = sample_predictions(system)
    some = st.lists(st.sampled_from(list(predictions)), min_size=1, max_size=9, unique=True)
    names = data.draw(some)
    whole = evaluator.evaluate(predictions).table
    part = evaluator.evaluate({name: predictions[name] for name in names}).table
    assert part.columns == whole.columns
    assert part.units == tuple(names)
    # Windows of words go on from one dialogue into the next.
    of_dialogue = [not column.startswith("richness.window") for column in part.columns]
    expected = whole.select(names).values[:, of_dialogue]
    assert part.values[:, of_dialogue].tolist() == expected.tolist()


@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_one_dialogue_alone_ends_as_it_does_among_all(evaluator: Evaluator, system: str) -> None:
    predictions = sample_predictions(system)
    table = evaluator.evaluate(predictions).table
    for name, numbers in zip(table.units, table.values.tolist(), strict=True):
        row = dict(zip(table.columns, numbers, strict=True))
        outcome = evaluator.evaluate_dialogue(name, predictions[name])
        assert (outcome.inform, outcome.success) == (row["inform.total"], row["success.total"])
        for domain, result in outcome.domains.items():
            assert row[f"goals.{domain}"] == 1
            assert result.inform == row[f"inform.{domain}"]
            assert bool(result.success) == row[f"success.{domain}"]
        assert sum(row[c] for c in row if c.startswith("goals.")) == 1 + len(outcome.domains)


def test_one_dialogue_is_judged_whichever_metrics_were_chosen(evaluator: Evaluator) -> None:
    name, turns = next(iter(sample_predictions("good").items()))
    expected = evaluator.evaluate_dialogue(name, turns)
    for options in ({}, {"dst": True}, {"bleu": True}, {"success": True}):
        alone = Evaluator(**options, corpus="sample")  # type: ignore[arg-type]
        assert alone.evaluate_dialogue(name, turns) == expected
        assert alone.evaluate_dialogue(name, tuple(turns)) == expected


@pytest.mark.parametrize(
    ("name", "turns", "kind"),
    [
        ("smp0021", [{}], "missing-response"),
        ("smp0021", [], "empty"),
        ("smp0021", [{"response": "a"}] * 4, "too-many-turns"),
        ("smp9999", [{"response": "a"}], "unknown-dialogue"),
    ],
)
def test_a_bad_dialogue_is_refused(
    evaluator: Evaluator, name: str, turns: list[dict[str, str]], kind: str
) -> None:
    with pytest.raises(InputError) as caught:
        evaluator.evaluate_dialogue(name, turns)
    assert [problem.kind for problem in caught.value.problems] == [kind]


def test_metrics_that_were_not_asked_for_are_none_and_the_others_unmoved(
    evaluator: Evaluator,
) -> None:
    predictions = sample_predictions("good")
    full = evaluator.evaluate(predictions).to_dict()
    metrics = ("bleu", "success", "richness", "dst")
    for metric in metrics:
        options = {metric: True}
        alone = Evaluator(**options, corpus="sample").evaluate(predictions).to_dict()  # type: ignore[arg-type]
        assert list(alone) == ["schema", *metrics, "meta"]
        assert {name: alone[name] for name in metrics if alone[name] is not None} == {
            metric: full[metric]
        }
    with pytest.raises(UsageError):
        Evaluator(corpus="sample").evaluate(predictions)


RESPONSES = {"responses": "delexicalized"}
LEVENSHTEIN = {"levenshtein": version("python-Levenshtein")}


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        *(
            (
                score,
                {"state": "predicted", "domains": "predicted", "rules": "2023", "fuzzy": "90"}
                | RESPONSES
                | LEVENSHTEIN,
            )
            for score in ("inform", "success")
        ),
        (
            "bleu.sample",
            {
                **RESPONSES,
                "nrefs": "1",
                "case": "mixed",
                "eff": "no",
                "tok": "13a",
                "smooth": "exp",
                "moses": version("sacremoses"),
                "sacrebleu": version("sacrebleu"),
            },
        ),
        (
            "richness.msttr",
            {
                **RESPONSES,
                "msttr": "50",
                "lexdiv": version("lexical-diversity"),
                "moses": version("sacremoses"),
            },
        ),
        ("dst.slot_f1", {"rules": "2023", "fuzzy": ">95"} | LEVENSHTEIN),
    ],
)
def test_a_signature_names_every_choice_that_moves_the_score(
    score: str, expected: dict[str, str]
) -> None:
    evaluator = Evaluator(True, True, True, True, corpus="sample", rules="2023")
    report = evaluator.evaluate(sample_predictions("good")).to_dict()
    text = report["meta"]["signatures"][score]
    signature = Signature.parse(text)
    assert str(signature) == text
    assert signature.metric == score.partition(".")[0]
    choices = dict(signature.choices)
    corpus = f"sample@{report['meta']['sources']}"
    assert choices.pop("corpus") == corpus
    assert choices.pop("references", corpus) == corpus
    assert (choices.pop("fold"), choices.pop("n"), choices.pop("turns")) == ("test", "62", "452")
    assert (choices.pop("rev"), choices.pop("version")) == (str(SCORING_REVISION), __version__)
    assert choices == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda turn: turn, ("predicted", "predicted")),
        (lambda turn: turn.pop("state"), ("gold", "predicted")),
        (lambda turn: turn.pop("active_domains"), ("predicted", "estimated")),
        (lambda turn: [turn.pop(key) for key in {*turn} - {"response"}], ("gold", "estimated")),
    ],
)
def test_a_signature_says_where_states_and_domains_come_from(
    change: Callable[[dict[str, Any]], Any], expected: tuple[str, str]
) -> None:
    predictions = sample_predictions("good")
    for turns in predictions.values():
        for turn in turns:
            change(turn)
    report = Evaluator(success=True, dst=True, corpus="sample").evaluate(predictions).to_dict()
    choices = dict(Signature.parse(report["meta"]["signatures"]["inform"]).choices)
    assert (choices["state"], choices["domains"]) == expected
    assert (report["dst"] is None) == (expected[0] == "gold")
    unscored = ["gold-states", "no-states"] if expected[0] == "gold" else []
    assert [warning["kind"] for warning in report["meta"]["warnings"]] == unscored


def test_coverage_is_counted_by_dialogue_turn_and_domain(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    kept = dict(list(predictions.items())[:20])
    report = evaluator.evaluate(kept)
    covered: Any = report.meta["coverage"]
    assert covered["dialogues"] == {"scored": 20, "of": 62}
    assert covered["turns"] == {"scored": sum(map(len, kept.values())), "of": 452}
    sums = report.table.sums()
    whole = evaluator.evaluate(predictions).table.sums()
    assert covered["domains"] == {
        domain: {"scored": sums[f"goals.{domain}"], "of": whole[f"goals.{domain}"]}
        for domain in ("attraction", "hotel", "restaurant", "taxi", "train")
    }
    kinds = [problem.kind for problem in report.warnings]
    assert kinds == ["fewer-dialogues", "fewer-turns"]
