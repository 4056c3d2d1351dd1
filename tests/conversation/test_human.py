"""People as users and agents, on text streams."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mwzeval.conversation.agents import HumanAgent, HumanUser, Terminal
from mwzeval.conversation.loop import ToolSession, converse
from mwzeval.conversation.messages import Message
from mwzeval.conversation.protocols import Ending

SCHEMA = [
    {
        "type": "function",
        "function": {"name": "find_inn", "parameters": {"properties": {"area": {}, "name": {}}}},
    }
]


class Inns:
    """Tools with one function, which gives its arguments back."""

    schema: Sequence[Mapping[str, Any]] = SCHEMA

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return {"called": name, **arguments}


def _terminal(*typed: str) -> tuple[Terminal, io.StringIO]:
    shown = io.StringIO()
    return Terminal(io.StringIO("".join(f"{line}\n" for line in typed)), shown), shown


def _user_talks(*typed: str) -> tuple[Ending, str, list[Message]]:
    terminal, shown = _terminal(*typed)
    recorded: list[Message] = []
    ending = converse(
        lambda: HumanUser(["You want an inn.", "Ask for its phone."], terminal),
        lambda: ToolSession(lambda messages: "the number is \x1b[1m5", None, recorded.append),
    )
    return ending, shown.getvalue(), recorded


def test_a_person_is_shown_a_goal_and_talks_until_they_say_bye() -> None:
    ending, shown, recorded = _user_talks("", "an inn, please", "/goal", "/bye thanks")
    assert ending == Ending("user_stop", 2)
    assert shown.count("You want an inn.") == 2
    assert "\x1b" not in shown
    said = [message["content"] for message in recorded if message["role"] == "user"]
    assert said == ["an inn, please", "thanks"]


def test_a_person_may_leave() -> None:
    for typed in (("hello",), ("hello", "/quit")):
        with pytest.raises(KeyboardInterrupt):
            _user_talks(*typed)


def test_an_unknown_command_is_explained() -> None:
    _, shown, _ = _user_talks("/gaol", "/bye")
    assert '"/gaol"' in shown
    assert '"/goal"' in shown


def test_a_person_is_the_agent_and_calls_functions() -> None:
    terminal, shown = _terminal(
        "/tools",
        "/find_inn north",
        '/find_inn area=north name="the lodge',
        '/find_inn area=north name="the lodge"',
        "the lodge is in the north",
    )
    recorded: list[Message] = []
    tools = Inns()
    session = ToolSession(HumanAgent(tools.schema, terminal), tools, recorded.append)
    assert session.answer("an inn?").text == "the lodge is in the north"
    returned = [message["content"] for message in recorded if message["role"] == "tool"]
    assert [json.loads(content) for content in returned] == [
        {"called": "find_inn", "area": "north", "name": "the lodge"}
    ]
    text = shown.getvalue()
    assert "/find_inn  area, name" in text
    assert "name=value" in text
    assert "quotation" in text
    assert "user> an inn?" in text
