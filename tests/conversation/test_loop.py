"""One dialogue: who is asked when, and whose fault it is when it ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mwzeval.conversation.loop import converse
from mwzeval.conversation.protocols import Ending, InfrastructureError


class Counting:
    """A user that says 1, 2, … and stops after so many turns."""

    def __init__(self, last: int, fails_at: int = 0, error: BaseException | None = None) -> None:
        self._last = last
        self._fails_at = fails_at
        self._error = error or ValueError("no")
        self._said = 0
        self.heard: list[int] = []

    def begin(self) -> int:
        return self._next()

    def answer(self, heard: int) -> int:
        self.heard.append(heard)
        return self._next()

    def _next(self) -> int:
        self._said += 1
        if self._said == self._fails_at:
            raise self._error
        return self._said

    @property
    def is_done(self) -> bool:
        return self._said == self._last


class Doubling:
    """An agent that doubles what it hears, and fails at a number."""

    def __init__(self, fails_at: int = 0, error: BaseException | None = None) -> None:
        self._fails_at = fails_at
        self._error = error or KeyError("x")
        self.heard: list[int] = []

    def answer(self, said: int) -> int:
        self.heard.append(said)
        if said == self._fails_at:
            raise self._error
        return 2 * said


class Leaving(Counting):
    """A user that leaves without a word in its second turn."""

    def answer(self, heard: int) -> None:  # type: ignore[override]
        self._next()


def _raises() -> Doubling:
    raise RuntimeError("cannot be made")


def test_who_leaves_without_a_word_has_said_nothing_and_is_not_answered() -> None:
    agent = Doubling()
    assert converse(lambda: Leaving(2), lambda: agent) == Ending("user_stop", 1)
    assert agent.heard == [1]


def test_user_and_agent_take_turns_and_the_last_message_is_answered() -> None:
    user, agent = Counting(3), Doubling()
    assert converse(lambda: user, lambda: agent) == Ending("user_stop", 3)
    assert agent.heard == [1, 2, 3]
    assert user.heard == [2, 4]


@pytest.mark.parametrize(
    ("user", "agent", "expected"),
    [
        (lambda: Counting(9), Doubling, Ending("limit", 4, "4 user turns")),
        (lambda: Counting(9), lambda: Doubling(2), Ending("agent_error", 2, "KeyError: 'x'")),
        (lambda: Counting(9, 3), Doubling, Ending("user_error", 2, "ValueError: no")),
        (lambda: Counting(2), lambda: Doubling(2), Ending("user_stop", 2)),
        (
            lambda: Counting(9),
            lambda: Doubling(2, InfrastructureError("503")),
            Ending("infrastructure", 2, "503"),
        ),
        (
            lambda: Counting(9, 2, InfrastructureError("reset")),
            Doubling,
            Ending("infrastructure", 1, "reset"),
        ),
        (
            lambda: Counting(9),
            lambda: Doubling(1, SystemExit(2)),
            Ending("agent_error", 1, "SystemExit: 2"),
        ),
        (
            lambda: Counting(9),
            _raises,
            Ending("agent_error", 0, "RuntimeError: cannot be made"),
        ),
    ],
)
def test_every_end_has_a_name(
    user: Callable[[], Counting], agent: Callable[[], Doubling], expected: Ending
) -> None:
    assert converse(user, agent, user_turns=4) == expected


def test_an_interrupt_from_the_keyboard_is_no_failure_of_a_side() -> None:
    with pytest.raises(KeyboardInterrupt):
        converse(lambda: Counting(3), lambda: Doubling(1, KeyboardInterrupt()))


def test_before_each_call_it_is_told_what_the_dialogue_comes_to_without_an_answer() -> None:
    told: list[Ending] = []
    converse(lambda: Counting(2), Doubling, note=told.append)
    assert told == [
        Ending("user_error", 0),
        Ending("agent_error", 0),
        Ending("user_error", 0),
        Ending("agent_error", 1),
        Ending("user_error", 1),
        Ending("user_stop", 2),
    ]


def test_only_failures_end_a_dialogue() -> None:
    assert converse(lambda: Counting(2, 1), Doubling).end == "user_error"
    with pytest.raises(ValueError, match="no"):
        converse(lambda: Counting(2, 1), Doubling, failures=())
