"""Agents and users of one's own, as they take part in dialogues in words.

An agent is a function `respond(messages)` or `respond(messages, tools)` that returns text, a
message or a list of messages; or a class, of which an object is made for each dialogue, that is
called with the messages, or has a method `respond(utterance)` that returns text; each of these may
be asynchronous. A user is a class with `begin()`, `answer(turn)` and `is_done`. Both get what they
name among `tools` (the schema), `goal` (users only), `seed` (a number of 31 bits) and `dialogue`
(its name). Where tools are served, an agent that has a client of its own also gets their address,
`tools_url`, and what it calls there is recorded as if it had asked for it in a message.

They get copies: what they change of a message does not change the record.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from inspect import isawaitable, isclass
from typing import TYPE_CHECKING, Any

from mwzeval.conversation.messages import MOST_CHARACTERS, AgentTurn, Message, plain_text
from mwzeval.conversation.own_code import check_call, given, imported
from mwzeval.conversation.protocols import AnswerError, ConversationError, Tools
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.tool_session import TOOL_ROUNDS, ToolSession
from mwzeval.errors import UsageError, shorten

if TYPE_CHECKING:
    from mwzeval.conversation.mcp import AgentServer

TOOLS, GOAL, SEED, DIALOGUE, TOOLS_URL = "tools", "goal", "seed", "dialogue", "tools_url"
RESPOND, BOOKINGS, REPORT = "respond", "bookings", "report"
AN_AGENT = (
    "an agent is respond(messages), respond(messages, tools), or a class whose objects are called "
    "like that or have respond(utterance); tools_url is given with --serve-tools"
)
A_USER = "a user is a class whose objects have begin(), answer(turn) and is_done"


class NotAUserError(ConversationError):
    """What a user says is nothing that can be said."""


@dataclass(frozen=True, slots=True)
class OwnAgent:
    """Somebody's own agent: a function, or a class of which one is made for each dialogue.

    `name` is what messages call it; `server` has the tools for agents with a client of their own.
    Raises `UsageError` for what cannot be called like that.
    """

    name: str
    made: Callable[..., Any]
    tool_rounds: int = TOOL_ROUNDS
    server: AgentServer | None = None

    def __post_init__(self) -> None:
        served = (TOOLS_URL,) if self.server is not None else ()
        if not isclass(self.made):
            check_call(self.name, self.made, 1, (TOOLS, *served), AN_AGENT)
            return
        check_call(self.name, self.made, 0, (TOOLS, SEED, DIALOGUE, *served), AN_AGENT)
        if not (hasattr(self.made, RESPOND) or _has_call(self.made)):
            raise UsageError(f'"{self.name}" cannot be called with messages: {AN_AGENT}')

    @classmethod
    def named(
        cls, name: str, tool_rounds: int = TOOL_ROUNDS, server: AgentServer | None = None
    ) -> OwnAgent:
        """Return the agent `package.module:Name` or `file.py:Name`. Raises `UsageError`."""
        return cls(name, imported(name), tool_rounds, server)

    def partner(self, planned: Planned, tools: Tools | None, record: Record) -> ToolSession:
        """Return the agent's side of a dialogue, whose messages go to the `record`.

        Raises whatever the agent raises when it is made.
        """
        offered = {
            TOOLS: [] if tools is None else deepcopy(tools.schema),
            SEED: planned.number,
            DIALOGUE: planned.name,
        }
        if self.server is not None:
            offered[TOOLS_URL] = self.server.url_of(planned.name)
        session = self._session(given(self.made, offered), tools, record)
        if self.server is not None:
            self.server.hold(planned.name, session.execute)
        return session

    def _session(self, more: Mapping[str, Any], tools: Tools | None, record: Record) -> ToolSession:
        if not isclass(self.made):
            return self._calling(lambda messages: self.made(messages, **more), tools, record)
        agent: Any = self.made(**more)
        if hasattr(agent, RESPOND):
            # It calls no tools in messages, as it only says text.
            return ToolSession(_TextAgent(agent, record), tools, record.message, tool_rounds=0)
        return self._calling(agent, tools, record)

    def _calling(
        self, respond: Callable[[list[Message]], Any], tools: Tools | None, record: Record
    ) -> ToolSession:
        return ToolSession(
            lambda messages: _awaited(respond(deepcopy(messages))),
            tools,
            record.message,
            tool_rounds=self.tool_rounds,
        )


class _TextAgent:
    """An agent that answers text with text, and keeps its own tools and bookings."""

    def __init__(self, agent: Any, record: Record) -> None:
        self._agent = agent
        self._record = record

    def __call__(self, messages: list[Message]) -> str:
        answer = _awaited(self._agent.respond(messages[-1]["content"]))
        bookings = getattr(self._agent, BOOKINGS, None)
        if bookings is not None:
            self._record.keep({BOOKINGS: _checked_bookings(bookings)})
        if not isinstance(answer, str):
            raise AnswerError(f"expected text, found {shorten(repr(answer))}")
        return answer


def _awaited(answer: Any) -> Any:
    """Return an answer, or what is awaited of an asynchronous agent."""
    if not isawaitable(answer):
        return answer

    async def wait() -> Any:
        return await answer

    return _event_loop().run_until_complete(wait())


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this process: what an agent has opened in one turn serves the next."""
    return asyncio.new_event_loop()


def _checked_bookings(bookings: Any) -> Any:
    """Return a copy of what an agent says that it has booked. Raises `AnswerError`."""
    copy = _plain(bookings, BOOKINGS)
    if not isinstance(copy, list) or not all(isinstance(booking, dict) for booking in copy):
        raise AnswerError(
            f'{BOOKINGS} is a list of {{"domain": …, "slots": {{…}}}}, found '
            f"{shorten(repr(bookings))}"
        )
    return copy


def _plain(value: Any, what: str) -> Any:
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise AnswerError(f"{what} is no JSON value: {shorten(str(error))}") from None
    if len(text) > MOST_CHARACTERS:
        raise AnswerError(f"{what} is longer than {MOST_CHARACTERS:,} characters")
    return json.loads(text)


@dataclass(frozen=True, slots=True)
class OwnUser:
    """Somebody's own user: a class of which one is made for each dialogue.

    `name` is what messages call it. Raises `UsageError` for what cannot be called like that.
    """

    name: str
    made: Callable[..., Any]

    def __post_init__(self) -> None:
        check_call(self.name, self.made, 0, (GOAL, SEED, DIALOGUE), A_USER)
        lacks = [name for name in ("begin", "answer") if not hasattr(self.made, name)]
        if isclass(self.made) and lacks:
            raise UsageError(f'"{self.name}" has no {lacks[0]}(): {A_USER}')

    @classmethod
    def named(cls, name: str) -> OwnUser:
        """Return the user `package.module:Name` or `file.py:Name`. Raises `UsageError`."""
        return cls(name, imported(name))

    def user(self, planned: Planned) -> CheckedUser:
        """Return the user of a dialogue. Raises whatever it raises when it is made."""
        offered = {
            GOAL: deepcopy(planned.goal),
            SEED: planned.number,
            DIALOGUE: planned.name,
        }
        return CheckedUser(self.made(**given(self.made, offered)))


class CheckedUser:
    """A user whose turns are checked to be text, and who cannot change those of the agent."""

    def __init__(self, user: Any) -> None:
        self._user = user

    def begin(self) -> str:
        """Return what the user says first. Raises `NotAUserError` for what is no text."""
        return _said(self._user.begin())

    def answer(self, heard: AgentTurn, /) -> str:
        """Return what the user says. Raises `NotAUserError` for what is no text."""
        return _said(self._user.answer(deepcopy(heard)))

    @property
    def is_done(self) -> bool:
        """Whether the user has said its last."""
        return bool(self._user.is_done)

    def report(self) -> Any:
        """Return what the user holds in the end, None if it does not say.

        Raises whatever it raises, and `AnswerError` for what is no JSON.
        """
        report = getattr(self._user, REPORT, None)
        return None if report is None else _plain(report(), REPORT)


def _said(said: Any) -> str:
    if not isinstance(said, str):
        raise NotAUserError(f"expected text, found {shorten(repr(said))}")
    return plain_text(said)


def _has_call(made: Any) -> bool:
    """Tell whether objects of a class can be called; the class itself can be."""
    return any("__call__" in vars(base) for base in made.__mro__)
