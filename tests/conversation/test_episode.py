"""A dialogue that somebody else drives is the one that a run would hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from mwzeval.conversation.loop import Episode, ToolSession, converse
from mwzeval.conversation.protocols import InfrastructureError
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError
from tests.conversation.toy import GOALS, ToyUser

Messages = list[dict[str, Any]]


class Counter:
    """Counts its calls; a call without a word is an error."""

    schema: Sequence[Mapping[str, Any]] = (
        {"type": "function", "function": {"name": "count", "parameters": {}}},
    )

    def __init__(self) -> None:
        self.calls = 0

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        self.calls += 1
        if name != "count" or "word" not in arguments:
            return {"error": f"{name} counts a word"}
        return {"count": self.calls, "word": arguments["word"]}


def called(name: str, arguments: str, number: str = "x") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": number, "type": "function", "function": function}


def counts(messages: Messages) -> Any:
    """Counts each word of the user twice, then says the number."""
    last = messages[-1]
    if last["role"] == "user":
        word = json.dumps({"word": last["content"]})
        calls = [called("count", word), called("count", word, "y")]
        return {"content": None, "tool_calls": calls}
    return f"that makes {json.loads(last['content'])['count']}"


def errs(messages: Messages) -> Any:
    return {"content": "", "tool_calls": [called("count", "{}")]}


def never_ends(messages: Messages) -> Any:
    return {"content": "", "tool_calls": [called("count", '{"word": "a"}')]}


def nothing(messages: Messages) -> Any:
    return ""


def no_answer(messages: Messages) -> Any:
    return 7


def fails_at_the_end(messages: Messages) -> Any:
    return "well" if messages[-1]["content"] == "one" else ""


def driven(agent: Callable[[Messages], Any], item: str, **limits: Any) -> Episode:
    episode = Episode(Planned(item, GOALS[item]), lambda: ToyUser(GOALS[item]), Counter(), **limits)
    messages = episode.begin()
    while not episode.is_over:
        assert episode.messages == messages
        answer = agent(messages)
        got = episode.answer(answer)
        # The record numbers calls anew; the agent gets the ids that it has given to them.
        given = [
            call["id"] for call in (isinstance(answer, dict) and answer.get("tool_calls")) or ()
        ]
        assert [message["tool_call_id"] for message in got if message["role"] == "tool"] in (
            [],
            given,
        )
        messages = episode.messages
        contents = [(message["role"], message["content"]) for message in messages]
        assert contents[len(messages) - len(got) :] == [(m["role"], m["content"]) for m in got]
    return episode


@pytest.mark.parametrize("agent", [counts, errs, never_ends, nothing, no_answer, fails_at_the_end])
@pytest.mark.parametrize("item", ["a", "c", "d"])
@pytest.mark.parametrize("limits", [{}, {"user_turns": 2}])
def test_it_is_the_dialogue_that_a_run_holds(
    agent: Callable[[Messages], Any], item: str, limits: dict[str, Any]
) -> None:
    planned, record = Planned(item, GOALS[item]), Record()
    ending = converse(
        lambda: ToyUser(GOALS[item]),
        lambda: ToolSession(agent, Counter(), record.message),
        record=record,
        **limits,
    )
    expected = record.trajectory(planned, ending).to_json()
    assert driven(agent, item, **limits).trajectory().to_json() == expected


def test_a_harness_may_execute_calls_itself() -> None:
    episode = Episode(Planned("b", GOALS["b"]), lambda: ToyUser(GOALS["b"]), Counter())
    (said,) = episode.begin()
    assert said == {"role": "user", "content": "one"}
    result = episode.call("count", {"word": "one"})
    assert result == {"count": 1, "word": "one"}
    asks = {"role": "assistant", "tool_calls": [called("count", '{"word": "one"}', "mine")]}
    told = {"role": "tool", "tool_call_id": "mine", "content": json.dumps(result)}
    assert episode.answer([asks, told]) == []
    assert not episode.is_over
    assert episode.answer("one") == [{"role": "user", "content": "two"}]
    assert episode.answer([asks, told, {"role": "assistant", "content": "two"}]) == []
    assert episode.is_over
    trajectory = episode.trajectory()
    assert (trajectory.end, trajectory.turns) == ("user_stop", 2)
    assert [message["role"] for message in trajectory.messages] == [
        *("user", "assistant", "tool", "assistant"),
        *("user", "assistant", "tool", "assistant"),
    ]
    assert trajectory.more["user"] == {"heard": ["one"]}


def test_too_many_wrong_calls_of_a_harness_end_it() -> None:
    make_user = lambda: ToyUser(GOALS["b"])  # noqa: E731
    episode = Episode(Planned("b", GOALS["b"]), make_user, Counter(), tool_errors=2)
    episode.begin()
    for _ in range(3):
        assert not episode.is_over
        assert "error" in episode.call("buy", {})
    assert episode.is_over
    assert episode.answer("one") == []
    assert episode.trajectory().end == "agent_error"


def test_a_harness_may_stop_it() -> None:
    episode = Episode(Planned("b", GOALS["b"]), lambda: ToyUser(GOALS["b"]), Counter())
    episode.begin()
    episode.stop("5 tokens")
    episode.stop("6 tokens")
    trajectory = episode.trajectory()
    assert (trajectory.end, trajectory.problem, trajectory.turns) == ("limit", "5 tokens", 1)


def test_a_user_that_cannot_be_made_is_nobody_to_talk_to() -> None:
    def no_user() -> ToyUser:
        raise InfrastructureError("no server")

    episode = Episode(Planned("b", GOALS["b"]), no_user, Counter())
    assert episode.begin() == []
    assert (episode.trajectory().end, episode.trajectory().problem) == (
        "infrastructure",
        "no server",
    )


def test_what_comes_at_the_wrong_time_is_told() -> None:
    episode = Episode(Planned("b", GOALS["b"]), lambda: ToyUser(GOALS["b"]), Counter())
    with pytest.raises(UsageError, match="begin"):
        episode.answer("one")
    episode.begin()
    with pytest.raises(UsageError, match="once"):
        episode.begin()
    with pytest.raises(UsageError, match="not ended"):
        episode.trajectory()
