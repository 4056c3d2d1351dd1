"""Messages of any program, cut into what the user says and what the agent does."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mwzeval.conversation.messages import ExecutedCall, Turn, read_messages, turns_of

HI = {"role": "user", "content": "hi"}
ANSWER = {"role": "assistant", "content": "hello"}
ARGUMENTS = {"area": "north"}
CALL = ExecutedCall("find_hotel", json.dumps(ARGUMENTS))


def call(arguments: Any) -> dict[str, Any]:
    return {
        "id": "1",
        "type": "function",
        "function": {"name": "find_hotel", "arguments": arguments},
    }


@pytest.mark.parametrize(
    ("calling", "remarks", "calls"),
    [
        ({"content": None, "tool_calls": [call(json.dumps(ARGUMENTS))]}, [], [CALL]),
        (
            {"content": "", "tool_calls": [call(ARGUMENTS), call("")]},
            [],
            [CALL, replace(CALL, arguments="")],
        ),
        ({"function_call": {"name": "find_hotel", "arguments": json.dumps(ARGUMENTS)}}, [], [CALL]),
        (
            {
                "content": [
                    {"type": "text", "text": "one moment"},
                    {"type": "tool_use", "name": "find_hotel", "input": ARGUMENTS},
                ]
            },
            ["one moment"],
            [CALL],
        ),
        ({"content": "one moment"}, ["one moment"], []),
    ],
)
def test_what_an_agent_does_before_it_answers(
    calling: dict[str, Any], remarks: list[str], calls: list[ExecutedCall]
) -> None:
    turns = turns_of(read_messages([HI, {"role": "assistant", **calling}, ANSWER]))
    assert turns == [Turn("hi", remarks, calls, "hello")]


@pytest.mark.parametrize(
    ("message", "result", "is_error"),
    [
        ({"role": "tool", "content": '{"count": 2}'}, '{"count": 2}', False),
        ({"role": "function", "content": '{"error": "no"}'}, '{"error": "no"}', True),
        ({"role": "tool", "content": 'there is no "error"'}, 'there is no "error"', False),
        ({"role": "tool", "content": '["error"]'}, '["error"]', False),
        (
            {
                "role": "user",
                "content": [{"type": "tool_result", "content": "x", "is_error": True}],
            },
            "x",
            True,
        ),
    ],
)
def test_what_tools_return(message: dict[str, Any], result: str, is_error: bool) -> None:
    turns = turns_of(read_messages([HI, message, ANSWER]))
    assert turns == [Turn("hi", [], [ExecutedCall(None, "", result, is_error)], "hello")]


def test_every_message_of_the_user_begins_a_turn_and_instructions_none() -> None:
    instruction = {"role": "system", "content": "be kind"}
    found = turns_of(read_messages([instruction, ANSWER, HI, HI, ANSWER, HI]))
    answered = Turn("hi", agent="hello")
    assert found == [Turn("", agent="hello"), Turn("hi"), answered, Turn("hi")]


def test_results_belong_to_calls_in_their_order() -> None:
    calls = {"role": "assistant", "tool_calls": [call("1"), call("2")]}
    results = [{"role": "tool", "content": text} for text in "ab"]
    (turn,) = turns_of(read_messages([HI, calls, *results, results[0]]))
    found = [(made.name, made.arguments, made.result) for made in turn.calls]
    assert found == [("find_hotel", "1", "a"), ("find_hotel", "2", "b"), (None, "", "a")]
