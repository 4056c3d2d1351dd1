"""Evaluation in parts gives exactly the report of the whole input."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.errors import InputError, UsageError
from mwzeval.multiwoz.evaluator import Evaluator, IncrementalEvaluator
from mwzeval.scores.findings import MORE_WARNINGS, MOST_WARNINGS
from mwzeval.scores.table import Table
from mwzeval.text import to_json
from tests.examples import examples
from tests.parts import Predictions, cut, rollouts
from tests.places import SAMPLE_SYSTEMS, sample_predictions, without


def whole(evaluator: Evaluator, predictions: Predictions) -> str:
    return to_json(evaluator.evaluate(predictions).to_dict())


def updated(evaluator: Evaluator, *parts: Predictions, **declared: str) -> IncrementalEvaluator:
    incremental = evaluator.incremental(**declared)
    for part in parts:
        if part:
            incremental.update(part)
    return incremental


def computed(incremental: IncrementalEvaluator) -> str:
    return to_json(incremental.compute().to_dict())


@examples(18)
@given(st.sampled_from(SAMPLE_SYSTEMS), st.data())
def test_ordered_updates_and_merges_equal_a_single_evaluation(
    evaluator: Evaluator, system: str, data: st.DataObject
) -> None:
    predictions = sample_predictions(system)
    places = data.draw(st.lists(st.integers(0, len(predictions)), max_size=6))
    parts = [(updated(evaluator, part), part) for part in cut(predictions, places)]
    while len(parts) > 1:
        left = data.draw(st.integers(0, len(parts) - 2))
        (first, own), (later, others) = parts[left], parts.pop(left + 1)
        first.merge(later)
        parts[left] = first, {**own, **others}
        for incremental, seen in (parts[left], (later, others)):
            if seen:  # merging does not modify `later`; `compute` may be called at any time
                assert computed(incremental) == whole(evaluator, seen)
    in_updates = updated(evaluator, *cut(predictions, places))
    assert computed(in_updates) == whole(evaluator, predictions)


def changed(change: str, place: int) -> Predictions:
    """Return predictions in which one dialogue determines the sources of all dialogues."""
    predictions = sample_predictions("good")
    names = list(predictions)
    turns = predictions[names[place]]
    match change:
        case "no state":
            del turns[-1]["state"]
        case "no domains":
            del turns[0]["active_domains"]
        case "neither":
            del turns[-1]["state"], predictions[names[-place]][0]["active_domains"]
        case "other responses":
            return sample_predictions("lexicalized") | {names[place]: turns}
        case "misspelt":
            turns[0]["state"] = {"hotell": {"area": "north"}, "hotel": {"aera": "north"}}
            turns[0]["response"] = "[hotl_name] and [b] and [a]"
            turns[-1]["remark"] = "x"
    return predictions


@pytest.mark.parametrize(
    "change", ["no state", "no domains", "neither", "other responses", "misspelt"]
)
@pytest.mark.parametrize(
    "place", [20, *(pytest.param(place, marks=pytest.mark.integration) for place in (0, 61))]
)
def test_state_and_domain_sources_depend_on_all_turns(
    evaluator: Evaluator, change: str, place: int
) -> None:
    predictions = changed(change, place)
    expected = whole(evaluator, predictions)
    parts = cut(predictions, [1, 20, 21, 40, 61])
    assert computed(updated(evaluator, *parts)) == expected
    first = updated(evaluator, *parts[:3])
    first.merge(updated(evaluator, *parts[3:]))
    assert computed(first) == expected


def test_incremental_scores_include_confusions_of_additional_dst_rules() -> None:
    evaluator = Evaluator(dst=True, dst_rules=("exact", "trade"), corpus="sample")
    predictions = sample_predictions("weak-tracker")
    found = computed(updated(evaluator, *cut(predictions, [3, 30])))
    assert found == whole(evaluator, predictions)


def test_reset_removes_all_dialogues(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    incremental = updated(evaluator, predictions)
    incremental.reset()
    with pytest.raises(InputError):
        incremental.compute()
    incremental.update(predictions)
    assert computed(incremental) == whole(evaluator, predictions)


def test_invalid_updates_do_not_change_the_scores(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    first, second = cut(predictions, [30])
    name, turns = next(iter(first.items()))
    incremental = updated(evaluator, first)
    invalid: list[dict[str, Any]] = [{name: turns}, {"smp9999": [{}], "x": []}]
    for bad in invalid:
        with pytest.raises(InputError) as caught:
            incremental.update({**second, **bad}, file="second.json")
        assert {problem.dialogue for problem in caught.value.problems} == {*bad}
        assert {problem.file for problem in caught.value.problems} == {"second.json"}
    with pytest.raises(InputError):
        incremental.merge(updated(evaluator, {name: turns}))
    assert computed(incremental) == whole(evaluator, first)
    incremental.update(second)
    assert computed(incremental) == whole(evaluator, predictions)


@pytest.mark.parametrize(
    ("declared", "keys"),
    [
        ({"states": "predicted", "active_domains": "predicted"}, ()),
        ({"states": "predicted"}, ()),
        ({"active_domains": "predicted"}, ()),
        ({"states": "gold", "active_domains": "estimated"}, ("state", "active_domains")),
    ],
)
def test_declared_sources_are_used(
    evaluator: Evaluator, declared: dict[str, str], keys: tuple[str, ...]
) -> None:
    predictions = sample_predictions("good")
    found = updated(evaluator, *cut(predictions, [7, 30]), **declared).compute()
    assert found.metrics == evaluator.evaluate(without(predictions, *keys)).metrics


def test_wrong_source_declarations_and_invalid_options_are_errors(evaluator: Evaluator) -> None:
    first, second = cut(sample_predictions("good"), [30])
    with pytest.raises(InputError, match="1 of 452"):
        updated(evaluator, changed("no state", 0), states="predicted")
    with pytest.raises(UsageError):
        updated(evaluator, first, states="predicted").merge(
            updated(evaluator, second, states="gold")
        )
    with pytest.raises(UsageError, match="predicted"):
        evaluator.incremental(states="predict")
    for other in (Evaluator(success=True, confidence=0.95), Evaluator()):
        with pytest.raises(UsageError):
            other.incremental()


@pytest.mark.parametrize("options", [{"rules": "2023"}, {"fold": "dev"}])
def test_merging_parts_with_different_options_is_an_error(
    evaluator: Evaluator, options: dict[str, Any]
) -> None:
    other = Evaluator(True, True, True, True, corpus="sample", **options)
    first = sample_predictions("good")
    gold = other.scorer("sample").gold.dialogues
    name = next(name for name in gold if name not in first or other.fold == "test")
    turns = [{"response": "[hotel_name]"} for _ in gold[name].states]
    first.pop(name, None)
    with pytest.raises(UsageError, match=next(iter(options))):
        updated(evaluator, first).merge(updated(other, {name: turns}))


def test_pickles_contain_no_gold_data_and_can_be_updated(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    first, second = cut(predictions, [30])
    sent = pickle.dumps(updated(evaluator, first))
    assert b"GoldFold" in pickle.dumps(evaluator)
    assert b"GoldFold" not in sent
    received = pickle.loads(sent)
    received.update(second)
    assert computed(received) == whole(evaluator, predictions)


def test_folding_a_table_with_fractional_values_is_an_error() -> None:
    table = Table(("a", "b"), ("n", "share"), np.array([[1.0, 0.5], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="share"):
        table.folded_into("all")


@pytest.fixture(scope="module")
def of_rollouts() -> Evaluator:
    return Evaluator(True, True, True, True, corpus="sample", rollouts=True)


def test_each_rollout_counts_as_a_dialogue(of_rollouts: Evaluator, evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    expected = evaluator.evaluate(predictions)
    report = of_rollouts.evaluate(rollouts(predictions, 3))
    assert report.table.sums()["inform.total"] == 3 * expected.table.sums()["inform.total"]
    assert report.metrics["success"] == expected.metrics["success"]
    for metric in ("bleu", "dst"):
        assert report.metrics[metric] == pytest.approx(expected.metrics[metric], rel=1e-9)
    coverage: Any = report.meta["coverage"]
    assert coverage["rollouts"] == {"scored": 186}
    assert coverage["dialogues"] == {"scored": 62, "of": 62}
    assert coverage["turns"] == {"scored": 3 * 452, "of": 3 * 452}
    assert report.warnings == ()
    assert all("|n:186|turns:1356|rollouts:yes|" in str(s.signature) for s in report.scores)


def test_missing_turns_of_rollouts_are_reported(of_rollouts: Evaluator) -> None:
    predictions = rollouts(sample_predictions("good"), 2)
    predictions[next(iter(predictions))].pop()
    kinds = [problem.kind for problem in of_rollouts.evaluate(predictions).warnings]
    assert kinds == ["fewer-turns"]


def test_rollouts_require_the_option_and_a_number(
    of_rollouts: Evaluator, evaluator: Evaluator
) -> None:
    turns = sample_predictions("good")["smp0021"]
    with pytest.raises(InputError) as caught:
        of_rollouts.evaluate({"smp0021": turns, "smp0021#x": turns})
    assert [(p.kind, p.dialogue) for p in caught.value.problems] == [
        ("unknown-dialogue", "smp0021#x")
    ]
    with pytest.raises(InputError, match="shards --rollouts"):
        evaluator.evaluate({"smp0021#4": turns})
    with pytest.raises(UsageError):
        Evaluator(success=True, rollouts=True, confidence=0.9)


@pytest.mark.integration
def test_memory_is_independent_of_the_number_of_dialogues(of_rollouts: Evaluator) -> None:
    predictions = rollouts(sample_predictions("good"), 24)
    incremental = of_rollouts.incremental()
    sizes = []
    for part in cut(predictions, range(62, len(predictions), 62)):
        incremental.update(part)
        incremental.compute()  # also counts postponed dialogues
        sizes.append(len(pickle.dumps(incremental)))
    assert sizes[-1] < 1.02 * sizes[1]
    assert computed(incremental) == whole(of_rollouts, predictions)


@pytest.mark.integration
def test_the_number_of_warnings_is_limited(of_rollouts: Evaluator) -> None:
    incremental = of_rollouts.incremental(states="predicted")
    turns = sample_predictions("good")["smp0021"]
    for number in range(0, MOST_WARNINGS + 1000, 100):
        slots = {f"slot{number + more}": "x" for more in range(100)}
        odd = {"hotel": slots, "inn": {"name": "y"}}
        turns[0] = {"response": f"[odd{number}]", "state": odd, "active_domains": ["hotel"]}
        incremental.update({f"smp0021#{number}": turns})
    warnings = {problem.message: problem.count for problem in incremental.compute().warnings}
    assert warnings['unknown domain "inn"'] == (MOST_WARNINGS + 1000) / 100
    kept = [message for message in warnings if message.startswith('unknown slot "slot')]
    assert len(warnings) <= MOST_WARNINGS + 10
    assert warnings[MORE_WARNINGS.message] + len(kept) >= MOST_WARNINGS + 1000
