"""Agents with and without tools: what they may answer, what is recorded, and where they end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.loop import Respond, ToolSession
from mwzeval.conversation.messages import MOST_CHARACTERS, Message
from mwzeval.conversation.protocols import AnswerError


class Adder:
    """Tools with one function."""

    schema: Sequence[Mapping[str, Any]] = ()

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        if name != "add":
            return {"error": f'there is no function "{name}"'}
        return {"sum": sum(arguments["terms"])}


def _call(name: str, arguments: Any, id_: str | None = "x") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def _session(respond: Respond, **limits: int) -> tuple[ToolSession, list[Message]]:
    recorded: list[Message] = []
    return ToolSession(respond, Adder(), recorded.append, **limits), recorded


def _scripted(*answers: Any) -> Respond:
    left = iter(answers)
    return lambda messages: next(left)


@pytest.mark.parametrize(
    "answer", ["hello", {"content": [{"type": "text", "text": "hello"}], "reasoning": "none"}]
)
def test_text_is_an_answer_and_what_the_user_has_paid_is_not_told(answer: Any) -> None:
    seen: list[Message] = []
    message = {"role": "user", "content": "hi", "usage": {"in": 7}}

    def respond(messages: list[Message]) -> Any:
        seen.extend(messages)
        return answer

    session, recorded = _session(respond)
    turn = session.answer(message)
    assert turn.text == "hello"
    assert seen == [{"role": "user", "content": "hi"}]
    assert recorded == [message, {"role": "assistant", "content": "hello"}]
    assert turn.messages == (recorded[1],)


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ('{"terms": [1, 2]}', {"sum": 3}),
        ({"terms": [1, 2, 3]}, {"sum": 6}),
        ("{", {"error": ""}),
        ("[1]", {"error": ""}),
    ],
)
def test_calls_are_executed_and_their_results_given_back(arguments: Any, result: Any) -> None:
    seen: list[list[Message]] = []

    def respond(messages: list[Message]) -> Any:
        seen.append(messages)
        if messages[-1]["role"] == "tool":
            return {"content": "done"}
        return {"role": "assistant", "content": None, "tool_calls": [_call("add", arguments)]}

    session, recorded = _session(respond)
    assert session.answer("add").text == "done"
    returned = json.loads(seen[1][-1]["content"])
    assert returned.keys() == result.keys()
    for key, value in result.items():
        assert str(returned[key]).startswith(str(value))
    assert [message["role"] for message in recorded] == ["user", "assistant", "tool", "assistant"]
    assert recorded[2]["tool_call_id"] == recorded[1]["tool_calls"][0]["id"] == "call_1"


def test_calls_get_ids_of_their_own_over_the_whole_dialogue() -> None:
    both = {"tool_calls": [_call("add", '{"terms": []}', None), _call("add", '{"terms": [1]}')]}
    session, recorded = _session(_scripted(both, "one", both, "two"))
    session.answer("a")
    session.answer("b")
    answered = [message["tool_call_id"] for message in recorded if message["role"] == "tool"]
    assert answered == ["call_1", "call_2", "call_3", "call_4"]


def test_an_agent_may_call_functions_of_its_own() -> None:
    answer = [
        {"role": "assistant", "content": "", "tool_calls": [_call("own", "{}", "a")]},
        {"role": "tool", "tool_call_id": "a", "content": '{"found": 3}'},
        {"role": "assistant", "content": "three"},
    ]
    session, recorded = _session(_scripted(answer))
    assert session.answer("how many?").text == "three"
    assert [m["content"] for m in recorded if m["role"] == "tool"] == ['{"found": 3}']


@pytest.mark.parametrize(
    "answer",
    [
        None,
        3,
        "",
        "  \n",
        [],
        b"bytes",
        {"role": "user", "content": "hi"},
        {"content": 3},
        {"content": "x", "tool_calls": "add"},
        {"content": "x", "tool_calls": [{"name": "add"}]},
        [{"role": "tool", "tool_call_id": "unasked", "content": "1"}],
        {"content": "x", "usage": {1, 2}},
        "x" * (MOST_CHARACTERS + 1),
    ],
)
def test_what_is_no_answer_is_said_so(answer: Any) -> None:
    session, _ = _session(_scripted(answer))
    with pytest.raises(AnswerError):
        session.answer("hi")


@pytest.mark.parametrize(
    ("name", "limits", "rounds", "told"),
    [("add", {"tool_rounds": 3}, 4, "3"), ("subtract", {"tool_errors": 2}, 3, "subtract")],
)
def test_an_agent_that_goes_on_calling_or_calls_wrongly_too_often_ends(
    name: str, limits: dict[str, int], rounds: int, told: str
) -> None:
    call = {"tool_calls": [_call(name, '{"terms": []}')]}
    session, recorded = _session(lambda messages: call, **limits)
    with pytest.raises(AnswerError, match=told):
        session.answer("hi")
    assert sum(message["role"] == "tool" for message in recorded) == rounds


def test_calls_of_a_client_of_its_own_are_recorded_as_if_they_were_asked_for() -> None:
    """From whichever thread they come, and before the agent has answered or failed."""
    results: list[Any] = []
    texts = ('{"terms": [1, 2]}', "{")

    def respond(messages: list[Message]) -> Any:
        with ThreadPoolExecutor(1) as pool:
            results.extend(pool.map(lambda text: session.execute("add", text), texts))
        if len(results) > 2:
            raise ValueError("no")
        return "3"

    session, recorded = _session(respond)
    turn = session.answer("hi")
    first, second = (_call("add", text, f"call_{n}") for n, text in enumerate(texts, start=1))
    assert recorded == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [first]},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"sum": 3}'},
        {"role": "assistant", "content": "", "tool_calls": [second]},
        {"role": "tool", "tool_call_id": "call_2", "content": json.dumps(results[1])},
        {"role": "assistant", "content": "3"},
    ]
    assert turn.messages == tuple(recorded[1:])
    with pytest.raises(ValueError, match="no"):
        session.answer("and?")
    assert [message["role"] for message in recorded[6:]] == ["user", *["assistant", "tool"] * 2]


def test_functions_are_not_called_while_it_is_the_turn_of_the_user() -> None:
    session, recorded = _session(_scripted("hello"))
    assert session.execute("add", "{}").keys() == {"error"}
    session.answer("hi")
    assert session.execute("add", "{}").keys() == {"error"}
    assert len(recorded) == 2


def test_a_client_that_calls_wrongly_too_often_or_tells_its_calls_again_ends() -> None:
    results: list[Any] = []

    def errs(messages: list[Message]) -> str:
        results.extend(session.execute("subtract", "{}") for _ in range(5))
        return "hello"

    def tells(messages: list[Message]) -> Any:
        session.execute("add", '{"terms": []}')
        own = {"tool_calls": [_call("add", '{"terms": []}')]}
        return [own, {"role": "tool", "tool_call_id": "x", "content": "0"}, {"content": "0"}]

    session, recorded = _session(errs, tool_errors=2)
    with pytest.raises(AnswerError, match="2"):
        session.answer("hi")
    assert sum(message["role"] == "tool" for message in recorded) == 3
    assert all("2" in result["error"] for result in results[2:])
    session, _ = _session(tells)
    with pytest.raises(AnswerError, match="add"):
        session.answer("hi")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["assistant", "tool", "user"]) | _VALUES,
        "content": _VALUES,
        "tool_calls": st.lists(st.builds(_call, st.just("add"), _VALUES)) | _VALUES,
        "tool_call_id": _VALUES,
    },
)


@given(_VALUES | _MESSAGES | st.lists(_MESSAGES, max_size=3))
def test_whatever_an_agent_answers_is_an_answer_or_its_error(answer: Any) -> None:
    session, recorded = _session(_scripted(answer, "end"))
    try:
        turn = session.answer("hi")
    except (AnswerError, KeyError, TypeError, StopIteration):
        pass  # the adder's own errors are not what is tested
    else:
        assert turn.text.strip()
    json.dumps(recorded).encode()
