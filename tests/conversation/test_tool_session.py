"""Messages of agents and their tools: valid answers, their record, and their limits."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.loop import Respond, ToolSession
from mwzeval.conversation.messages import MOST_CHARACTERS, Message
from mwzeval.conversation.protocols import AnswerError
from mwzeval.conversation.trajectory import MOST_MESSAGES, Record
from tests.conversation.toy import Adder, Messages, call_of


def session_of(respond: Respond, **limits: int) -> tuple[ToolSession, Messages]:
    record = Record()
    return ToolSession(respond, Adder(), record.message, **limits), record.messages


def scripted(*answers: Any) -> Respond:
    left = iter(answers)
    return lambda messages: next(left)


def roles_of(messages: Messages) -> list[str]:
    return [message["role"] for message in messages]


@pytest.mark.parametrize(
    "answer", ["hello", {"content": [{"type": "text", "text": "hello"}], "reasoning": "none"}]
)
def test_text_is_an_answer_and_the_agent_does_not_see_the_usage_of_the_user(answer: Any) -> None:
    seen: list[Message] = []
    message = {"role": "user", "content": "hi", "usage": {"in": 7}}

    def respond(messages: Messages) -> Any:
        seen.extend(messages)
        return answer

    session, recorded = session_of(respond)
    turn = session.answer(message)
    assert turn.text == "hello"
    assert seen == [{"role": "user", "content": "hi"}]
    assert recorded == [message, {"role": "assistant", "content": "hello"}]
    assert turn.messages == (recorded[1],)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"terms": [1, 2]}', {"sum": 3}),
        ({"terms": [1, 2, 3]}, {"sum": 6}),
        ("{", {"error": "the arguments are not JSON"}),
        ("[1]", {"error": "the arguments must be an object"}),
    ],
)
def test_calls_are_executed_and_the_agent_receives_their_results(
    arguments: Any, expected: dict[str, Any]
) -> None:
    seen: list[Messages] = []

    def respond(messages: Messages) -> Any:
        seen.append(messages)
        if messages[-1]["role"] == "tool":
            return {"content": "done"}
        return {"role": "assistant", "content": None, "tool_calls": [call_of("add", arguments)]}

    session, recorded = session_of(respond)
    assert session.answer("add").text == "done"
    result = json.loads(seen[1][-1]["content"])
    for key, value in expected.items():
        assert str(result[key]).startswith(str(value))
    assert roles_of(recorded) == ["user", "assistant", "tool", "assistant"]
    assert recorded[2]["tool_call_id"] == recorded[1]["tool_calls"][0]["id"] == "call_1"


def test_an_agent_may_report_calls_of_its_own_functions() -> None:
    returned = {"role": "tool", "tool_call_id": "x", "content": '{"found": 3}'}
    answer = [{"tool_calls": [call_of("own", "{}")]}, returned, {"content": "three"}]
    session, recorded = session_of(scripted(answer))
    assert session.answer("how many?").text == "three"
    assert [m["content"] for m in recorded if m["role"] == "tool"] == ['{"found": 3}']


def test_calls_have_numbers_in_the_whole_dialogue() -> None:
    both = {"tool_calls": [call_of("add", '{"terms": []}', None), call_of("add", "{}")]}
    session, recorded = session_of(scripted(both, "one", both, "two"))
    session.answer("a")
    session.answer("b")
    answered = [message["tool_call_id"] for message in recorded if message["role"] == "tool"]
    assert answered == ["call_1", "call_2", "call_3", "call_4"]


@pytest.mark.parametrize(
    "answer",
    [
        *(None, 3, "", "  \n", [], b"bytes", ["x"] * 10),
        "x" * (MOST_CHARACTERS + 1),
        {"role": "user", "content": "hi"},
        {"content": 3},
        {"content": "x", "tool_calls": "add"},
        {"content": "x", "tool_calls": [{"name": "add"}]},
        {"tool_calls": [call_of("f" * (MOST_CHARACTERS + 1), "{}")]},
        [{"role": "tool", "tool_call_id": "unasked", "content": "1"}],
        {"content": "x", "usage": {1, 2}},
        [{"content": "x"}] * MOST_MESSAGES,
        [{"content": "x" * MOST_CHARACTERS}] * 101,
    ],
)
def test_an_invalid_answer_is_an_error_of_the_agent(answer: Any) -> None:
    session, _ = session_of(scripted(answer))
    with pytest.raises(AnswerError):
        session.answer("hi")


@pytest.mark.parametrize(
    ("name", "limits", "results", "message"),
    [("add", {"tool_rounds": 3}, 4, "3"), ("subtract", {"tool_errors": 2}, 3, "subtract")],
)
def test_too_many_calls_or_wrong_calls_are_an_error_of_the_agent(
    name: str, limits: dict[str, int], results: int, message: str
) -> None:
    call = {"tool_calls": [call_of(name, '{"terms": []}')]}
    session, recorded = session_of(lambda messages: call, **limits)
    with pytest.raises(AnswerError, match=message):
        session.answer("hi")
    assert roles_of(recorded).count("tool") == results


def test_direct_calls_are_recorded_like_calls_in_messages() -> None:
    """The calls come from any thread, and are recorded before the agent answers or fails."""
    results: list[Any] = []
    texts = ('{"terms": [1, 2]}', "{")

    def respond(messages: Messages) -> Any:
        with ThreadPoolExecutor(1) as pool:
            results.extend(pool.map(lambda text: session.execute("add", text), texts))
        if len(results) > 2:
            raise ValueError("no")
        return "3"

    session, recorded = session_of(respond)
    turn = session.answer("hi")
    assert results[0]["sum"] == 3
    assert results[1].keys() == {"error"}
    calls = [call_of("add", text, f"call_{n}") for n, text in enumerate(texts, start=1)]
    expected: Messages = [{"role": "user", "content": "hi"}]
    for call, result in zip(calls, results, strict=True):
        returned = {"tool_call_id": call["id"], "content": json.dumps(result)}
        expected += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", **returned},
        ]
    assert recorded == [*expected, {"role": "assistant", "content": "3"}]
    assert turn.messages == tuple(recorded[1:])
    with pytest.raises(ValueError, match="no"):
        session.answer("and?")
    assert roles_of(recorded[6:]) == ["user", *["assistant", "tool"] * 2]


def test_direct_calls_are_refused_in_the_turn_of_the_user() -> None:
    session, recorded = session_of(scripted("hello"))
    assert session.execute("add", "{}").keys() == {"error"}
    session.answer("hi")
    assert session.execute("add", "{}").keys() == {"error"}
    assert len(recorded) == 2


def test_too_many_wrong_or_repeated_direct_calls_are_an_error_of_the_agent() -> None:
    results: list[Any] = []

    def call_wrongly(messages: Messages) -> str:
        results.extend(session.execute("subtract", "{}") for _ in range(5))
        return "hello"

    def repeat(messages: Messages) -> Any:
        session.execute("add", '{"terms": []}')
        own = {"tool_calls": [call_of("add", '{"terms": []}')]}
        return [own, {"role": "tool", "tool_call_id": "x", "content": "0"}, {"content": "0"}]

    session, recorded = session_of(call_wrongly, tool_errors=2)
    with pytest.raises(AnswerError, match="2"):
        session.answer("hi")
    assert roles_of(recorded).count("tool") == 3
    assert all("2" in result["error"] for result in results[2:])
    session, _ = session_of(repeat)
    with pytest.raises(AnswerError, match="add"):
        session.answer("hi")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["assistant", "tool", "user"]) | VALUES,
        "content": VALUES,
        "tool_calls": st.lists(st.builds(call_of, st.just("add"), VALUES)) | VALUES,
        "tool_call_id": VALUES,
    },
)


@given(VALUES | MESSAGES | st.lists(MESSAGES, max_size=3))
def test_any_value_is_an_answer_or_an_error_of_the_agent(answer: Any) -> None:
    session, recorded = session_of(scripted(answer, "end"))
    try:
        turn = session.answer("hi")
    except (AnswerError, TypeError, StopIteration):
        pass  # the adder's own errors are not tested
    else:
        assert turn.text.strip()
    json.dumps(recorded).encode()
