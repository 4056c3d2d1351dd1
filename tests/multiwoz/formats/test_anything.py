"""Arbitrary input in any format is scored or refused with a message."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.errors import InputError, Problem
from mwzeval.multiwoz import INPUT_FORMATS
from mwzeval.multiwoz.evaluator import Evaluator
from tests.multiwoz.formats.rendering import call, calls, to_messages, to_sgd, to_unified
from tests.places import sample_predictions

KEYS = st.sampled_from(
    [
        *("role", "content", "tool_calls", "tool_call_id", "function_call", "function", "id"),
        *("name", "arguments", "type", "text", "input", "tool_use_id", "messages", "turns"),
        *("dialogue_id", "original_id", "speaker", "utterance", "state", "predictions", "frames"),
        *("service", "slot_values", "response", "bookings", "domain", "slots", "hotel", "area"),
        *("active_domains", "smp0021", "hotel-area", "book stay", "ü"),
    ]
)
TEXTS = st.sampled_from(
    [
        *("user", "assistant", "tool", "system", "USER", "SYSTEM", "find_hotel", "book_train"),
        *("tool_use", "tool_result", "text", '{"area": "north"}', "{", "", "SMP0021.json", "hotel"),
        *("[hotel_name]", "smp0021", "\ud800", "a|b"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 9) | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
GOOD = {name: sample_predictions("good")[name] for name in ("smp0021", "smp0022", "smp0023")}
WRITTEN: dict[str, Any] = {
    "mwzeval": GOOD,
    "messages": to_messages(GOOD),
    "unified": to_unified(GOOD),
    "sgd": to_sgd(GOOD),
}
EVALUATORS = {
    name: Evaluator(success=True, dst=True, corpus="sample", input_format=name)
    for name in INPUT_FORMATS
}


def refusals(call: Callable[[], object]) -> list[Problem]:
    try:
        call()
    except InputError as error:
        return list(error.problems)
    return []


def scored_or_refused(input_format: str, raw: Any) -> None:
    evaluator = EVALUATORS[input_format]
    before = copy.deepcopy(raw)
    errors = [p.message for p in evaluator.validate(raw, file="in.json") if p.severity == "error"]
    assert [problem.message for problem in refusals(lambda: evaluator.evaluate(raw))] == errors
    for name, turns in raw.items() if isinstance(raw, dict) else ():
        refusals(partial(evaluator.evaluate_dialogue, name, turns))
    assert raw == before


@pytest.mark.parametrize("input_format", INPUT_FORMATS)
@given(raw=st.dictionaries(KEYS, VALUES, max_size=3) | st.lists(VALUES, max_size=3) | VALUES)
def test_random_inputs_are_scored_or_rejected(input_format: str, raw: Any) -> None:
    scored_or_refused(input_format, raw)


@st.composite
def spoiled(draw: st.DrawFn, written: str) -> Any:
    """Draw predictions in which parts are replaced, removed or repeated."""
    raw = copy.deepcopy(WRITTEN[written])
    for _ in range(draw(st.integers(1, 3))):
        part, depth = raw, draw(st.integers(0, 7))
        while isinstance(part, dict | list) and part:
            indices = sorted(part) if isinstance(part, dict) else range(len(part))
            index = draw(st.sampled_from(list(indices)))
            if depth and isinstance(part[index], dict | list) and part[index]:
                part, depth = part[index], depth - 1
                continue
            action = draw(st.sampled_from(["replace", "remove", "repeat"]))
            if action == "remove":
                del part[index]
            elif action == "repeat" and isinstance(part, list):
                part.insert(index, copy.deepcopy(part[index]))
            else:
                part[index] = draw(VALUES)
            break
    return raw


@pytest.mark.parametrize("said", [False, True], ids=["auto", "said"])
@pytest.mark.parametrize("written", WRITTEN)
@given(data=st.data())
def test_corrupted_predictions_are_scored_or_rejected(
    written: str, said: bool, data: st.DataObject
) -> None:
    scored_or_refused(written if said else "auto", data.draw(spoiled(written)))


@given(arguments=st.text(max_size=20) | VALUES.map(json.dumps))
def test_calls_with_random_arguments_are_scored_or_rejected(arguments: str) -> None:
    made = call("find_hotel")
    made["function"]["arguments"] = arguments
    messages = [{"role": "user", "content": "a"}, calls(made, content="[hotel_name]")]
    scored_or_refused("messages", {"smp0021": messages})
