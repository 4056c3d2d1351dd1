"""The turns of a dialogue: their order, how a dialogue ends, and dialogues that a harness runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mwzeval.conversation.loop import Episode, ToolSession, converse
from mwzeval.conversation.protocols import Ending, InfrastructureError, LimitError
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError
from tests.conversation.toy import GOALS, Adder, Messages, ToyUser, call_of

Errors = Mapping[int, BaseException]


class Counting:
    """A user that says 1, 2, … up to `last`; `errors` are raised instead of some numbers."""

    def __init__(self, last: int, errors: Errors | None = None) -> None:
        self._last = last
        self._errors = errors or {}
        self._said = 0
        self.heard: list[int] = []

    def begin(self) -> int:
        self._said += 1
        if self._said in self._errors:
            raise self._errors[self._said]
        return self._said

    def answer(self, heard: int) -> int | None:
        self.heard.append(heard)
        return self.begin()

    @property
    def is_done(self) -> bool:
        return self._said == self._last


class Leaving(Counting):
    """A user that leaves without a message in its second turn."""

    def answer(self, heard: int) -> None:
        self.begin()


class Doubling:
    """An agent that doubles each number; `errors` are raised instead of some answers."""

    def __init__(self, errors: Errors | None = None) -> None:
        self._errors = errors or {}
        self.heard: list[int] = []

    def answer(self, said: int) -> int:
        self.heard.append(said)
        if said in self._errors:
            raise self._errors[said]
        return 2 * said


def unavailable() -> Doubling:
    raise RuntimeError("cannot be made")


def test_user_and_agent_alternate_and_the_last_message_is_answered() -> None:
    user, agent = Counting(3), Doubling()
    assert converse(lambda: user, lambda: agent) == Ending("user_stop", 3)
    assert (agent.heard, user.heard) == ([1, 2, 3], [2, 4])


def test_users_leaving_without_a_message_get_no_turn_or_answer() -> None:
    agent = Doubling()
    assert converse(lambda: Leaving(2), lambda: agent) == Ending("user_stop", 1)
    assert agent.heard == [1]


NO, RESET = ValueError("no"), InfrastructureError("reset")


@pytest.mark.parametrize(
    ("user", "agent", "expected"),
    [
        (Counting(9), Doubling, Ending("limit", 4, "4 user turns")),
        (Counting(9), lambda: Doubling({2: NO}), Ending("agent_error", 2, "ValueError: no")),
        (Counting(9, {3: NO}), Doubling, Ending("user_error", 2, "ValueError: no")),
        (Counting(2), lambda: Doubling({2: NO}), Ending("user_stop", 2)),
        (Counting(9), lambda: Doubling({2: RESET}), Ending("infrastructure", 2, "reset")),
        (Counting(9, {2: RESET}), Doubling, Ending("infrastructure", 1, "reset")),
        (Counting(9), lambda: Doubling({1: LimitError("9 s")}), Ending("limit", 1, "9 s")),
        (
            Counting(9),
            lambda: Doubling({1: SystemExit(2)}),
            Ending("agent_error", 1, "SystemExit: 2"),
        ),
        (Counting(9), unavailable, Ending("agent_error", 0, "RuntimeError: cannot be made")),
    ],
)
def test_endings_name_the_failed_side(
    user: Counting, agent: Callable[[], Doubling], expected: Ending
) -> None:
    assert converse(lambda: user, agent, user_turns=4) == expected


def test_interrupts_and_unexpected_exceptions_are_propagated() -> None:
    with pytest.raises(KeyboardInterrupt):
        converse(lambda: Counting(3), lambda: Doubling({1: KeyboardInterrupt()}))
    with pytest.raises(ValueError, match="no"):
        converse(lambda: Counting(2, {1: NO}), Doubling, failures=())


def test_preliminary_endings_are_noted_before_each_call() -> None:
    noted: list[Ending] = []
    converse(lambda: Counting(2), Doubling, note=noted.append)
    assert noted == [
        Ending("user_error", 0),
        Ending("agent_error", 0),
        Ending("user_error", 0),
        Ending("agent_error", 1),
        Ending("user_error", 1),
        Ending("user_stop", 2),
    ]


def adds_twice(messages: Messages) -> Any:
    last = messages[-1]
    if last["role"] == "user":
        calls = [call_of("add", '{"terms": [1, 2]}', call_id) for call_id in "xy"]
        return {"content": None, "tool_calls": calls}
    return f"that was call {json.loads(last['content'])['call']}"


AGENTS: list[Callable[[Messages], Any]] = [
    adds_twice,
    lambda messages: {"content": "", "tool_calls": [call_of("add", "{}")]},
    lambda messages: {"content": "", "tool_calls": [call_of("add", '{"terms": []}')]},
    lambda messages: "",
    lambda messages: 7,
    lambda messages: "well" if messages[-1]["content"] == "one" else "",
]


def episode_of(item: str, **limits: Any) -> Episode:
    return Episode(Planned(item, GOALS[item]), lambda: ToyUser(GOALS[item]), Adder(), **limits)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("item", ["a", "c", "d"])
@pytest.mark.parametrize("limits", [{}, {"user_turns": 2}])
def test_episodes_equal_dialogues_of_a_run(
    agent: Callable[[Messages], Any], item: str, limits: dict[str, Any]
) -> None:
    record = Record()
    ending = converse(
        lambda: ToyUser(GOALS[item]),
        lambda: ToolSession(agent, Adder(), record.message),
        record=record,
        **limits,
    )
    episode = episode_of(item, **limits)
    messages = episode.begin()
    while not episode.is_over:
        assert episode.messages == messages
        answer = agent(messages)
        received = episode.answer(answer)
        messages = episode.messages
        results = [message for message in received if message["role"] == "tool"]
        if results:  # they have the call ids of the agent, and the record has new ids
            ids = [call["id"] for call in answer["tool_calls"]]
            assert [result["tool_call_id"] for result in results] == ids
        contents = [(message["role"], message["content"]) for message in messages]
        last = [(message["role"], message["content"]) for message in received]
        assert contents[len(messages) - len(received) :] == last
    expected = record.trajectory(episode.planned, ending)
    assert episode.trajectory().to_json() == expected.to_json()


def test_a_harness_may_execute_calls_itself() -> None:
    episode = episode_of("b")
    assert episode.begin() == [{"role": "user", "content": "one"}]
    result = episode.call("add", {"terms": [1]})
    assert result == {"sum": 1, "call": 1, "session": ""}
    calling = {"role": "assistant", "tool_calls": [call_of("add", '{"terms": [1]}', "mine")]}
    returned = {"role": "tool", "tool_call_id": "mine", "content": json.dumps(result)}
    assert episode.answer([calling, returned]) == []
    assert not episode.is_over
    assert episode.answer("one") == [{"role": "user", "content": "two"}]
    assert episode.answer([calling, returned, {"role": "assistant", "content": "two"}]) == []
    trajectory = episode.trajectory()
    assert (trajectory.end, trajectory.turns) == ("user_stop", 2)
    roles = [message["role"] for message in trajectory.messages]
    assert roles == ["user", "assistant", "tool", "assistant"] * 2
    assert trajectory.more["user"] == {"heard": ["one"]}


def test_too_many_wrong_calls_of_a_harness_end_the_dialogue() -> None:
    episode = episode_of("b", tool_errors=2)
    episode.begin()
    for _ in range(3):
        assert not episode.is_over
        assert "error" in episode.call("buy", {})
    assert episode.is_over
    assert episode.answer("one") == []
    assert episode.trajectory().end == "agent_error"


def test_harness_can_stop_a_dialogue_only_once() -> None:
    episode = episode_of("b")
    episode.begin()
    episode.stop("5 tokens")
    episode.stop("6 tokens")
    trajectory = episode.trajectory()
    assert (trajectory.end, trajectory.problem, trajectory.turns) == ("limit", "5 tokens", 1)


def test_user_creation_failures_end_the_dialogue() -> None:
    def no_user() -> ToyUser:
        raise InfrastructureError("no server")

    episode = Episode(Planned("b", ""), no_user, Adder())
    assert episode.begin() == []
    assert episode.trajectory().end == "infrastructure"


def test_episodes_begin_once_and_provide_a_trajectory_at_the_end() -> None:
    episode = episode_of("b")
    with pytest.raises(UsageError, match="begin"):
        episode.answer("one")
    episode.begin()
    with pytest.raises(UsageError, match="once"):
        episode.begin()
    with pytest.raises(UsageError, match="not ended"):
        episode.trajectory()
