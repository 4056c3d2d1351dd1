"""Messages of any program, cut into what the user says and what the agent does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mwzeval.conversation.messages import Step, Turn, turns_of

HI = {"role": "user", "content": "hi"}
ANSWER = {"role": "assistant", "content": "hello"}
ARGUMENTS = {"area": "north"}
CALL = Step("called", "find_hotel", json.dumps(ARGUMENTS))


def call(arguments: Any) -> dict[str, Any]:
    return {
        "id": "1",
        "type": "function",
        "function": {"name": "find_hotel", "arguments": arguments},
    }


@pytest.mark.parametrize(
    ("calling", "expected"),
    [
        ({"content": None, "tool_calls": [call(json.dumps(ARGUMENTS))]}, [CALL]),
        (
            {"content": "", "tool_calls": [call(ARGUMENTS), call("")]},
            [CALL, CALL._replace(text="")],
        ),
        ({"function_call": {"name": "find_hotel", "arguments": json.dumps(ARGUMENTS)}}, [CALL]),
        (
            {
                "content": [
                    {"type": "text", "text": "one moment"},
                    {"type": "tool_use", "name": "find_hotel", "input": ARGUMENTS},
                ]
            },
            [Step("said", "", "one moment"), CALL],
        ),
        ({"content": "one moment"}, [Step("said", "", "one moment")]),
    ],
)
def test_what_an_agent_does_before_it_answers(
    calling: dict[str, Any], expected: list[Step]
) -> None:
    turns = turns_of([HI, {"role": "assistant", **calling}, ANSWER])
    assert turns == [Turn("hi", expected, "hello")]


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
    turns = turns_of([HI, message, ANSWER])
    assert turns == [Turn("hi", [Step("returned", "", result, is_error)], "hello")]


def test_every_message_of_the_user_begins_a_turn_and_instructions_none() -> None:
    found = turns_of([{"role": "system", "content": "be kind"}, ANSWER, HI, HI, ANSWER, HI])
    assert found == [
        Turn("", [], "hello"),
        Turn("hi"),
        Turn("hi", [], "hello"),
        Turn("hi"),
    ]
