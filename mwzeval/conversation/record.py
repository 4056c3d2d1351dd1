"""What is kept of a dialogue while it is held, so that nothing is lost when a side fails."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from mwzeval.conversation.loop import USER_TURNS, Ending, converse, failed
from mwzeval.conversation.messages import Message
from mwzeval.conversation.protocols import (
    FAILURES,
    USER_ERROR,
    AnswerError,
    Heard,
    Partner,
    Said,
    User,
)
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.statistics.trials import trial_name

MOST_MESSAGES = 10_000
"""In a dialogue; an agent that floods it with more fails."""
MOST_CHARACTERS = 10_000_000
"""In the messages of a dialogue."""
_TALK = frozenset(("role", "content", "tool_call_id"))

USER = "user"
"""The key of a line under which a user's report is kept."""
Event = tuple[str, Any]
"""The name of a method of `Record`, and what it is called with."""


class Planned(NamedTuple):
    """A dialogue that is to be held: about which goal, for which time, in a run of which seed.

    `is_numbered` says whether its name has the number of the trial, which begins with 1.
    """

    item: str
    goal: Any
    trial: int = 1
    is_numbered: bool = False
    seed: int = 0

    @property
    def name(self) -> str:
        """What the dialogue is called in the file."""
        return trial_name(self.item, self.trial if self.is_numbered else None)

    @property
    def key(self) -> str:
        """What everything random in the dialogue is seeded with."""
        return f"{self.seed}/{self.item}/{self.trial}"

    @property
    def number(self) -> int:
        """The same as a number of 31 bits, as many generators and servers want it."""
        return _number(self.key)

    def number_of(self, side: str) -> int:
        """Return a number for a side that is not to draw the same as the other one."""
        return _number(f"{self.key}/{side}")


def _number(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1


class Record:
    """Messages or exchanges of acts, other keys of the line, and how the dialogue stands.

    `on_event` is told of everything that is kept, as soon as it is: `Record.add(event)` of another
    process keeps the same.
    """

    def __init__(self, on_event: Callable[[Event], object] | None = None) -> None:
        self.messages: list[Message] = []
        self.acts: list[Any] = []
        self.more: dict[str, Any] = {}
        self.ending = Ending(USER_ERROR, 0)
        self._characters = 0
        self._on_event = on_event

    @property
    def is_watched(self) -> bool:
        """Whether somebody is told, who may end the dialogue at any time."""
        return self._on_event is not None

    def message(self, message: Message) -> None:
        """Keep a message. Raises `AnswerError` when there are too many, or too long ones."""
        self._characters += _characters_in(message)
        if len(self.messages) >= MOST_MESSAGES or self._characters > MOST_CHARACTERS:
            raise AnswerError(
                f"more than {MOST_MESSAGES:,} messages or {MOST_CHARACTERS:,} characters in one "
                "dialogue"
            )
        self.messages.append(message)
        self._tell("message", message)

    def said(self, acts: Any) -> None:
        """Keep the acts of a turn of the user, with which an exchange begins."""
        self.acts.append([acts, []])
        self._tell("said", acts)

    def heard(self, acts: Any) -> None:
        """Keep the acts with which the agent answers what was said last."""
        self.acts[-1][1] = acts
        self._tell("heard", acts)

    def exchange(self, exchange: Any) -> None:
        """Keep an exchange of user and agent, in the form that the benchmark has for it."""
        self.acts.append(exchange)
        self._tell("exchange", exchange)

    def note(self, ending: Ending) -> None:
        """Keep what the dialogue comes to if the call that begins now never returns."""
        self.ending = ending
        self._tell("note", ending)

    def keep(self, more: Mapping[str, Any]) -> None:
        """Keep other keys of the line; a key that comes again replaces what it was before."""
        self.more.update(more)
        self._tell("keep", more)

    def add(self, event: Event) -> None:
        """Keep what the record of another process was told."""
        method, value = event
        getattr(self, method)(value)

    def trajectory(self, planned: Planned, ending: Ending) -> Trajectory:
        """Return the dialogue that has ended so."""
        return Trajectory(
            planned.item,
            planned.goal,
            tuple(self.messages),
            tuple(self.acts),
            ending.end,
            ending.problem,
            ending.user_turns,
            planned.trial,
            planned.is_numbered,
            dict(self.more),
        )

    def _tell(self, method: str, value: Any) -> None:
        if self._on_event is not None:
            self._on_event((method, value))


def _characters_in(message: Message) -> int:
    """Return how long a message is in the file, or nearly."""
    if _TALK.issuperset(message):
        return len(message.get("content") or "")
    return len(json.dumps(message))


def hold(
    make_user: Callable[[], User[Said, Heard]],
    make_partner: Callable[[], Partner[Said, Heard]],
    record: Record,
    *,
    user_turns: int = USER_TURNS,
) -> Ending:
    """Hold a dialogue as `converse` does; return how it has ended.

    What the user reports is kept: at the end, and before each turn of an agent that may not return.
    """
    users: list[User[Said, Heard]] = []

    def make() -> User[Said, Heard]:
        users.append(make_user())
        return users[0]

    def note(ending: Ending) -> None:
        if record.is_watched and ending.end != USER_ERROR and users:
            with suppress(*FAILURES):  # this is told at the end
                _keep_report(users[0], record)
        record.note(ending)

    ending = converse(make, make_partner, user_turns=user_turns, note=note)
    return reported(users[0], record, ending) if users else ending


def reported(user: object, record: Record, ending: Ending) -> Ending:
    """Keep what a user reports in the end; return how the dialogue has ended, also if it fails."""
    try:
        _keep_report(user, record)
    except FAILURES as error:
        return failed(USER_ERROR, ending.user_turns, error)
    return ending


def _keep_report(user: Any, record: Record) -> None:
    report = getattr(user, "report", None)
    if report is not None:
        record.keep({USER: report()})
