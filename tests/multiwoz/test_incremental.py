"""Parts, however they are cut and merged, get the bytes that the whole input gets."""

from __future__ import annotations

import pickle
from collections.abc import Callable
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
from tests.places import SAMPLE_SYSTEMS, sample_predictions

Change = Callable[[Predictions, int], None]
EVERY_RULE = ("exact", "trade")


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
def test_any_updates_and_merges_in_order_are_one_evaluation(
    evaluator: Evaluator, system: str, data: st.DataObject
) -> None:
    predictions = sample_predictions(system)
    places = data.draw(st.lists(st.integers(0, len(predictions)), max_size=6))
    parts = [(updated(evaluator, part), part) for part in cut(predictions, places)]
    while len(parts) > 1:
        left = data.draw(st.integers(0, len(parts) - 2))
        (one, own), (later, others) = parts[left], parts.pop(left + 1)
        one.merge(later)
        parts[left] = one, {**own, **others}
        for incremental, seen in (parts[left], (later, others)):
            if seen:  # what comes later stays as it was, and scores may be asked for in between
                assert computed(incremental) == whole(evaluator, seen)
    in_updates = updated(evaluator, *cut(predictions, places))
    assert computed(in_updates) == whole(evaluator, predictions)


def drop_state(predictions: Predictions, place: int) -> None:
    list(predictions.values())[place][-1].pop("state", None)


def drop_domains(predictions: Predictions, place: int) -> None:
    list(predictions.values())[place][0].pop("active_domains", None)


def drop_both(predictions: Predictions, place: int) -> None:
    drop_state(predictions, place)
    drop_domains(predictions, -place)


def lexicalize_all_but_one(predictions: Predictions, place: int) -> None:
    spoken = sample_predictions("lexicalized")
    for number, (name, turns) in enumerate(predictions.items()):
        for turn, said in zip(turns, spoken[name], strict=True):
            if number != place:
                turn["response"] = said["response"]


def misspell(predictions: Predictions, place: int) -> None:
    turns = list(predictions.values())[place]
    turns[0]["state"] = {"hotell": {"area": "north"}, "hotel": {"aera": "north"}}
    turns[0]["response"] = "[hotl_name] and [b] and [a]"
    turns[-1]["remark"] = "x"


@pytest.mark.parametrize(
    "change", [drop_state, drop_domains, drop_both, lexicalize_all_but_one, misspell]
)
@pytest.mark.parametrize(
    "place", [20, *(pytest.param(place, marks=pytest.mark.integration) for place in (0, 61))]
)
def test_what_all_turns_decide_together_is_decided_at_the_end(
    evaluator: Evaluator, change: Change, place: int
) -> None:
    predictions = sample_predictions("good")
    change(predictions, place)
    expected = whole(evaluator, predictions)
    parts = cut(predictions, [1, 20, 21, 40, 61])
    assert computed(updated(evaluator, *parts)) == expected
    first, second = updated(evaluator, *parts[:3]), updated(evaluator, *parts[3:])
    first.merge(second)
    assert computed(first) == expected


def test_further_rules_of_state_tracking_come_with_their_confusions() -> None:
    evaluator = Evaluator(dst=True, dst_rules=EVERY_RULE, corpus="sample")
    predictions = sample_predictions("weak-tracker")
    found = computed(updated(evaluator, *cut(predictions, [3, 30])))
    assert found == whole(evaluator, predictions)


def test_after_a_reset_nothing_is_left(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    incremental = updated(evaluator, predictions)
    incremental.reset()
    with pytest.raises(InputError):
        incremental.compute()
    incremental.update(predictions)
    assert computed(incremental) == whole(evaluator, predictions)


def test_a_dialogue_that_comes_again_is_refused_and_changes_nothing(evaluator: Evaluator) -> None:
    first, second = cut(sample_predictions("good"), [30])
    name = next(iter(first))
    incremental = updated(evaluator, first)
    before = computed(incremental)
    with pytest.raises(InputError) as caught:
        incremental.update({**second, name: first[name]})
    assert {problem.dialogue for problem in caught.value.problems} == {name}
    with pytest.raises(InputError):
        incremental.merge(updated(evaluator, {name: first[name]}))
    assert computed(incremental) == before
    incremental.update(second)
    assert computed(incremental) == whole(evaluator, {**first, **second})


def test_a_bad_part_is_refused_and_changes_nothing(evaluator: Evaluator) -> None:
    first, second = cut(sample_predictions("good"), [30])
    incremental = updated(evaluator, first)
    bad: dict[str, Any] = {**second, "smp9999": [{}], "x": []}
    with pytest.raises(InputError) as caught:
        incremental.update(bad, file="second.json")
    assert {problem.dialogue for problem in caught.value.problems} == {"smp9999", "x"}
    assert {problem.file for problem in caught.value.problems} == {"second.json"}
    incremental.update(second)
    assert computed(incremental) == whole(evaluator, {**first, **second})


@pytest.mark.parametrize(
    "declared",
    [
        {"states": "predicted", "active_domains": "predicted"},
        {"states": "predicted"},
        {"active_domains": "predicted"},
    ],
)
def test_a_true_declaration_changes_no_score(
    evaluator: Evaluator, declared: dict[str, str]
) -> None:
    predictions = sample_predictions("good")
    parts = cut(predictions, [7, 30])
    assert computed(updated(evaluator, *parts, **declared)) == whole(evaluator, predictions)


def test_gold_states_can_be_declared(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    parts = cut(predictions, [7, 30])
    found = (
        updated(evaluator, *parts, states="gold", active_domains="estimated").compute().to_dict()
    )
    for turns in predictions.values():
        for turn in turns:
            del turn["state"], turn["active_domains"]
    expected = evaluator.evaluate(predictions).to_dict()
    assert [found[name] for name in ("bleu", "success", "richness", "dst")] == [
        expected[name] for name in ("bleu", "success", "richness", "dst")
    ]


def test_a_false_declaration_is_refused(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    drop_state(predictions, 0)
    with pytest.raises(InputError, match="1 of 452"):
        updated(evaluator, predictions, states="predicted")
    first, second = cut(sample_predictions("good"), [30])
    predicted = updated(evaluator, first, states="predicted")
    with pytest.raises(UsageError):
        predicted.merge(updated(evaluator, second, states="gold"))
    with pytest.raises(UsageError, match="predicted"):
        evaluator.incremental(states="predict")


def test_what_needs_single_dialogues_is_refused() -> None:
    with pytest.raises(UsageError):
        Evaluator(success=True, confidence=0.95).incremental()
    with pytest.raises(UsageError):
        Evaluator().incremental()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Evaluator(True, True, True, True, corpus="sample", rules="2023"), "rules"),
        (Evaluator(True, True, True, True, corpus="sample", fold="dev"), "fold"),
    ],
)
def test_what_was_scored_differently_does_not_add_up(
    evaluator: Evaluator, other: Evaluator, message: str
) -> None:
    first = sample_predictions("good")
    gold = other.scorer("sample").gold.dialogues
    name = next(name for name in gold if name not in first or other.fold == "test")
    turns = [{"response": "[hotel_name]"} for _ in gold[name].states]
    remaining = {key: turns for key, turns in first.items() if key != name}
    with pytest.raises(UsageError, match=message):
        updated(evaluator, remaining).merge(updated(other, {name: turns}))


def test_it_pickles_without_gold_data_and_goes_on(evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    first, second = cut(predictions, [30])
    sent = pickle.dumps(updated(evaluator, first))
    assert b"GoldFold" in pickle.dumps(evaluator)
    assert b"GoldFold" not in sent
    received = pickle.loads(sent)
    received.update(second)
    assert computed(received) == whole(evaluator, predictions)


def test_folded_tables_need_whole_numbers() -> None:
    table = Table(("a", "b"), ("n", "share"), np.array([[1.0, 0.5], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="share"):
        table.folded_into("all")
    counts = Table(("a", "b"), ("n",), np.array([[1.0], [2.0]]))
    folded = (counts.folded_into("all") + counts).folded_into("all")
    assert (folded.count, folded.units, folded.sums()) == (4, ("all",), {"n": 6.0})


@pytest.fixture(scope="module")
def of_rollouts() -> Evaluator:
    return Evaluator(True, True, True, True, corpus="sample", rollouts=True)


def test_rollouts_are_dialogues_of_their_own(of_rollouts: Evaluator, evaluator: Evaluator) -> None:
    predictions = sample_predictions("good")
    once = evaluator.evaluate(predictions)
    report = of_rollouts.evaluate(rollouts(predictions, 3))
    assert report.table.sums()["inform.total"] == 3 * once.table.sums()["inform.total"]
    assert report.metrics["success"] == once.metrics["success"]
    for metric in ("bleu", "dst"):
        assert report.metrics[metric] == pytest.approx(once.metrics[metric], rel=1e-9)
    assert report.meta["coverage"]["rollouts"] == {"scored": 186}
    assert report.meta["coverage"]["dialogues"] == {"scored": 62, "of": 62}
    assert report.meta["coverage"]["turns"] == {"scored": 3 * 452, "of": 3 * 452}
    assert report.warnings == ()
    assert all("|n:186|turns:1356|rollouts:yes|" in str(s.signature) for s in report.scores)


def test_a_missing_rollout_is_noticed_by_its_turns(of_rollouts: Evaluator) -> None:
    predictions = rollouts(sample_predictions("good"), 2)
    predictions[next(iter(predictions))].pop()
    kinds = [problem.kind for problem in of_rollouts.evaluate(predictions).warnings]
    assert kinds == ["fewer-turns"]


@pytest.mark.parametrize("odd", ["smp0021#x", "smp0021#-1", "smp0021#01", "smp0021#1000000", "#1"])
def test_odd_rollouts_are_unknown_dialogues(of_rollouts: Evaluator, odd: str) -> None:
    turns = sample_predictions("good")["smp0021"]
    with pytest.raises(InputError) as caught:
        of_rollouts.evaluate({"smp0021": turns, odd: turns})
    assert [(p.kind, p.dialogue) for p in caught.value.problems] == [("unknown-dialogue", odd)]


def test_rollouts_must_be_asked_for(evaluator: Evaluator) -> None:
    turns = sample_predictions("good")["smp0021"]
    with pytest.raises(InputError, match="shards --rollouts"):
        evaluator.evaluate({"smp0021#4": turns})
    with pytest.raises(UsageError):
        Evaluator(success=True, rollouts=True, confidence=0.9)


@pytest.mark.integration
def test_what_is_kept_does_not_grow_with_the_number_of_dialogues(of_rollouts: Evaluator) -> None:
    predictions = rollouts(sample_predictions("good"), 24)
    incremental = of_rollouts.incremental()
    sizes = []
    for part in cut(predictions, range(62, len(predictions), 62)):
        incremental.update(part)
        incremental.compute()  # also what was put aside to be counted
        sizes.append(len(pickle.dumps(incremental)))
    assert sizes[-1] < 1.02 * sizes[1]
    assert computed(incremental) == whole(of_rollouts, predictions)


@pytest.mark.integration
def test_garbage_in_every_part_does_not_fill_the_memory(of_rollouts: Evaluator) -> None:
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
