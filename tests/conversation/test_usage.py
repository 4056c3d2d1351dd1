"""The token usage of models in one dialogue, and files of prices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation.trajectory import Trajectory, trajectory_of
from mwzeval.conversation.usage import AGENT, USER, Usage, read_prices, usage_of, usages_of
from mwzeval.errors import InputError

SAID = {"role": "user", "content": "a hotel"}
ANSWER = {"role": "assistant", "content": "x"}
RESULT = {"role": "user", "content": [{"type": "tool_result", "content": "{}"}]}
GREETING = {**ANSWER, "usage": None}
FLAT = {"prompt_tokens": 500, "completion_tokens": 20}
SIDES = {"agent": {"in": 5, "out": 2, "calls": 7}, "user": {"in": 1, "out": 1}}
INVALID: list[Any] = [{"in": 3}, {}, [], "5", None, {"agent": 4}]
DETAILS = {"prompt_tokens_details": {"cached_tokens": 12}}


def user_message(usage: Any, **more: Any) -> dict[str, Any]:
    return {**SAID, "usage": usage, **more}


def agent_message(usage: Any, **more: Any) -> dict[str, Any]:
    return {**ANSWER, "usage": usage, **more}


def dialogue(*messages: dict[str, Any], **keys: Any) -> Trajectory:
    return trajectory_of({"dialogue": "x", "messages": list(messages), **keys})


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            [
                user_message({"in": 1000, "out": 1, "ms": 7, "cached": 600}),
                agent_message({"in": 10, "out": 2, "ms": 100, "retries": 3}),
                {"role": "tool", "tool_call_id": "1", "content": "{}"},
                agent_message({"in": 20, "out": 4, "ms": 250}, finish_reason="length"),
                user_message({"in": 2000, "out": 2, "ms": 9}, finish_reason="stop"),
                agent_message({"in": 40, "out": 8, "ms": 400}),
            ],
            {
                AGENT: Usage(3, 0, 70, 14, 0, 3, 1, (350, 400)),
                USER: Usage(2, 0, 3000, 3, 600, 0, 0, (7, 9)),
            },
        ),
        # Servers use other names, and do not count all tokens.
        ([GREETING, SAID, agent_message(FLAT | DETAILS)], {AGENT: Usage(1, 0, 500, 20, 12)}),
        (
            [SAID, agent_message({"input_tokens": 30, "output_tokens": 4})],
            {AGENT: Usage(1, 0, 30, 4)},
        ),
        (
            [SAID, agent_message({"ms": 5}), SAID, agent_message({"in": 3, "out": 1, "ms": 5})],
            {AGENT: Usage(2, 1, 3, 1, turns=(5, 5))},
        ),
        # A result with the role of the user belongs to the same turn.
        (
            [SAID, agent_message({"ms": 100}), RESULT, agent_message({"ms": 50})],
            {AGENT: Usage(2, 2, turns=(150,))},
        ),
        *(
            ([SAID, agent_message({"in": bad, "out": 1, "ms": bad})], {AGENT: Usage(1, 1)})
            for bad in (-1, True, "3", None, 10**400, float("inf"))
        ),
        (
            [SAID, agent_message({"in": 1.5, "out": 1, "ms": 1.5})],
            {AGENT: Usage(1, 1, turns=(1.5,))},
        ),
    ],
)
def test_the_usage_of_a_dialogue_is_the_sum_of_its_messages(
    messages: list[dict[str, Any]], expected: dict[str, Usage]
) -> None:
    assert usage_of(dialogue(*messages)) == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (FLAT, {AGENT: Usage(1, 0, 500, 20)}),
        (SIDES, {AGENT: Usage(7, 0, 5, 2), USER: Usage(2, 0, 1, 1)}),
        *((invalid, {}) for invalid in INVALID),
    ],
)
def test_usage_of_the_line_is_used_for_messages_without_usage(
    usage: Any, expected: dict[str, Usage]
) -> None:
    assert usage_of(dialogue(SAID, ANSWER, SAID, usage=usage)) == expected
    known = dialogue(agent_message({"in": 1, "out": 1}), usage=usage)
    assert usage_of(known)[AGENT] == Usage(1, 0, 1, 1)


def test_messages_without_usage_are_not_counted_if_other_dialogues_have_usage() -> None:
    found = usages_of(
        {
            "a": dialogue(SAID, agent_message({"in": 1, "out": 1})),
            "b": dialogue(SAID, ANSWER, SAID, ANSWER),
            "c": dialogue(SAID),
        }
    )
    assert found == {AGENT: {"a": Usage(1, 0, 1, 1), "b": Usage(2, 2), "c": Usage()}}
    known = {name: (usage.is_counted, usage.is_known) for name, usage in found[AGENT].items()}
    assert known == {"a": (True, True), "b": (False, False), "c": (True, True)}
    partial = Usage(2, 1)
    assert (partial.is_counted, partial.is_known) == (False, True)
    assert usages_of({"b": dialogue(SAID, ANSWER)}) == {}


def write(folder: Path, content: Any) -> Path:
    path = folder / "prices.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_costs_are_computed_from_the_price_file(tmp_path: Path) -> None:
    raw = {"small": {"in": 0.5, "out": 2}, "large": {"in": 3, "out": 15, "cached_in": 0.3}}
    prices = read_prices(write(tmp_path, raw))
    used = Usage(9, 0, tokens_in=1_000_000, tokens_out=200_000, cached=400_000)
    assert prices.models["small"].of(used) == pytest.approx(0.5 + 0.4)
    assert prices.models["large"].of(used) == pytest.approx(1.8 + 0.12 + 3)
    reordered = {name: dict(reversed(raw[name].items())) for name in reversed(raw)}
    assert read_prices(write(tmp_path, reordered)).sha == prices.sha
    assert read_prices(write(tmp_path, {"small": {"in": 0, "out": 2}})).sha != prices.sha


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("{", None),
        ([], None),
        ({}, None),
        ({"m": 3}, "m"),
        ({"m": {"in": 1}}, "m"),
        ({"m": {"in": 1, "out": -1}}, "m.out"),
        ({"m": {"in": 1, "out": True}}, "m.out"),
        ({"m": {"in": "1", "out": 1}}, "m.in"),
        ({"m": {"in": 1, "out": 1, "cached": 1}}, "m"),
        ('{"m": {"in": 1, "out": 1}, "m": {"in": 2, "out": 1}}', None),
        ('{"m": {"in": 1, "out": NaN}}', None),
    ],
)
def test_problems_in_price_files_are_reported_with_file_and_key(
    content: Any, key: str | None, tmp_path: Path
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(InputError) as raised:
        read_prices(path)
    assert [(problem.file, problem.key) for problem in raised.value.problems] == [(str(path), key)]
