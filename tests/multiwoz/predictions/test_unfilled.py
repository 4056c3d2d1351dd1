"""Warnings about values of unfilled slots and about values with unusual spelling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.errors import UsageError
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.normalization import ONTOLOGY
from mwzeval.multiwoz.predictions import parse_unfilled
from mwzeval.scores.score import Signature
from tests.command_lines import Run
from tests.parts import Predictions, cut
from tests.places import GOOD, sample_predictions, write_json

State = dict[str, dict[str, str]]
Change = Callable[[State], State]
TOLD = "--unfilled"
"""The option that the warning names."""
ZERO_WIDTH = "\u200b"


def changed(change: Change) -> Predictions:
    predictions = sample_predictions("good")
    for turns in predictions.values():
        for turn in turns:
            turn["state"] = change(turn["state"])
    return predictions


def all_slots(value: str) -> Change:
    """Return a function that adds all unfilled slots of all domains with this value."""
    return lambda state: {
        domain: dict.fromkeys(sorted(slots), value) | state.get(domain, {})
        for domain, slots in ONTOLOGY.items()
    }


def each_value(change: Callable[[str], str]) -> Change:
    return lambda state: {
        domain: {slot: change(value) for slot, value in slots.items()}
        for domain, slots in state.items()
    }


def scored(predictions: Predictions, **options: Any) -> dict[str, Any]:
    evaluator = Evaluator(success=True, dst=True, corpus="sample", **options)
    return evaluator.evaluate(predictions).to_dict()


@pytest.mark.parametrize("value", ["none", "", "NULL", "not given", f" NONE{ZERO_WIDTH}"])
def test_values_for_unfilled_slots_are_reported_and_can_be_ignored(value: str) -> None:
    predictions, as_it_is = changed(all_slots(value)), scored(sample_predictions("good"))
    plain = scored(predictions)
    assert plain["dst"]["joint_accuracy"] < 20
    (warning,) = plain["meta"]["warnings"]
    assert warning["kind"] == "unfilled-value"
    written = Counter(
        text
        for turns in predictions.values()
        for turn in turns
        for slots in turn["state"].values()
        for text in slots.values()
    )
    assert warning["count"] == written[value] > 18_000
    assert (warning["dialogue"], warning["turn"]) == ("smp0021", 0)

    read = scored(predictions, unfilled=value)
    assert (read["success"], read["dst"]) == (as_it_is["success"], as_it_is["dst"])
    assert read["meta"]["warnings"] == []


def test_signatures_contain_the_values_read_as_unfilled() -> None:
    evaluator = Evaluator(success=True, dst=True, corpus="sample", unfilled="None, not mentioned,")
    for score in evaluator.evaluate(changed(all_slots(""))).scores:
        parsed = dict(Signature.parse(str(score.signature)).choices)
        assert parsed["unfilled"] == '"",none,not mentioned'


@pytest.mark.parametrize(
    ("values", "read"),
    [
        ("", ("",)),
        ('""', ("",)),
        ("none,", ("", "none")),
        ("None, NONE ,none", ("none",)),
        (["not  given", "-"], ("-", "not  given")),
        ((), ()),
    ],
)
def test_unfilled_values_are_a_list_or_separated_by_commas(
    values: Any, read: tuple[str, ...]
) -> None:
    assert parse_unfilled(values) == read


@pytest.mark.parametrize("values", ["a|b", ["a,b"], "a\x1bb"])
def test_unfilled_values_that_signatures_cannot_contain_are_errors(values: Any) -> None:
    with pytest.raises(UsageError):
        Evaluator(success=True, unfilled=values)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (each_value(str.upper), "upper-case-value"),
        (each_value(str.title), "upper-case-value"),
        (each_value(lambda value: f" {value} "), "blanks-around-value"),
        (each_value(lambda value: value + ZERO_WIDTH), "invisible-characters"),
        (each_value(lambda value: "\ufeff" + value), "invisible-characters"),
        (lambda state: {}, "empty-states"),
        (lambda state: {domain: {} for domain in state}, "empty-states"),
    ],
)
def test_malformed_values_and_empty_states_are_reported(change: Change, kind: str) -> None:
    report = scored(changed(change))
    assert report["success"]["inform"]["total"] < 50
    (warning,) = report["meta"]["warnings"]
    assert warning["kind"] == kind
    if kind != "empty-states":
        assert (warning["dialogue"], warning["turn"]) == ("smp0021", 0)
        assert warning["key"].startswith("state.hotel.")


def test_harmless_capitals_and_blanks_are_not_reported() -> None:
    predictions = sample_predictions("good")
    for turns in predictions.values():
        for turn in turns:
            for slots in turn["state"].values():
                for slot in slots.keys() & {"name", "food"}:
                    slots[slot] = f" {slots[slot].title()} "
    report = scored(predictions)
    assert report["meta"]["warnings"] == []
    assert report["success"] == scored(sample_predictions("good"))["success"]


def test_incremental_and_whole_evaluation_treat_unfilled_values_alike() -> None:
    predictions = changed(all_slots("none")) | dict(list(changed(all_slots("")).items())[:9])
    for unfilled in ("none", "none,"):
        evaluator = Evaluator(success=True, dst=True, corpus="sample", unfilled=unfilled)
        incremental = evaluator.incremental()
        for part in cut(predictions, [3, 30]):
            incremental.update(part)
        assert incremental.compute().to_dict() == evaluator.evaluate(predictions).to_dict()


def test_evaluate_dialogue_ignores_unfilled_values() -> None:
    plain, evaluator = sample_predictions("good"), Evaluator(corpus="sample", unfilled="none")
    for name, turns in changed(all_slots("none")).items():
        expected = Evaluator.evaluate_dialogue(evaluator, name, plain[name])
        assert evaluator.evaluate_dialogue(name, turns) == expected


@pytest.mark.parametrize(
    "verb",
    [
        ["evaluate", "-s", "-o", "-"],
        ["validate", "-i"],
        ["compare", "-s", "-f", "json", GOOD],
        ["delexicalize", "-f", "json", "-o", "/dev/null"],
    ],
)
def test_every_command_reading_predictions_accepts_unfilled(
    tmp_path: Path, run: Run, verb: list[str]
) -> None:
    few = dict(list(changed(all_slots("none")).items())[:3])
    arguments = [*verb, write_json(tmp_path / "none.json", few)]
    before, after = run(*arguments), run(*arguments, "--unfilled", "none")
    assert TOLD in before.out + before.err
    assert TOLD not in after.out + after.err
