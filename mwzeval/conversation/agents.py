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
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from inspect import isawaitable, isclass
from typing import TYPE_CHECKING, Any

from mwzeval.conversation.loop import TOOL_ROUNDS, ToolSession
from mwzeval.conversation.messages import (
    MOST_CHARACTERS,
    AgentTurn,
    Message,
    plain_text,
)
from mwzeval.conversation.own_code import check_call, given
from mwzeval.conversation.protocols import AnswerError, ConversationError, Tools, User
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError, shorten

if TYPE_CHECKING:
    from mwzeval.conversation.mcp import AgentServer

MakeAgent = Callable[[Planned, Tools | None, Record], ToolSession]
"""Returns the agent's side of a dialogue, whose messages go to the record."""
MakeUser = Callable[[Planned, Record], User]
"""Returns the user of a dialogue; messages that no agent hears go to the record."""

RESPOND, BOOKINGS = "respond", "bookings"
AN_AGENT = (
    "an agent is respond(messages), respond(messages, tools), or a class whose objects are called "
    "like that or have respond(utterance); tools_url is given with --serve-tools"
)
A_USER = "a user is a class whose objects have begin(), answer(turn) and is_done"


class NotAUserError(ConversationError):
    """What a user says is nothing that can be said."""


def own_agent(
    name: str,
    made: Any,
    tool_rounds: int = TOOL_ROUNDS,
    server: AgentServer | None = None,
) -> MakeAgent:
    """Return what makes an agent of one's own: a function, or a class.

    `name` is what messages call it; `server` has the tools for agents with a client of their own.
    Raises `UsageError` for what cannot be called like that.
    """
    is_class = isclass(made)
    offered = ["tools"] + ["seed", "dialogue"] * is_class + ["tools_url"] * (server is not None)
    check_call(name, made, 0 if is_class else 1, offered, AN_AGENT)
    is_called = not is_class or any("__call__" in vars(base) for base in made.__mro__)
    if not (is_called or hasattr(made, RESPOND)):
        raise UsageError(f'"{name}" cannot be called with messages: {AN_AGENT}')

    def partner(planned: Planned, tools: Tools | None, record: Record) -> ToolSession:
        values = {
            "tools": [] if tools is None else deepcopy(tools.schema),
            "seed": planned.number,
            "dialogue": planned.name,
        }
        if server is not None:
            values["tools_url"] = server.url_of(planned.name)
        more = given(made, values)
        agent = made(**more) if is_class else lambda messages: made(messages, **more)

        def answer(messages: list[Message]) -> Any:
            return _awaited(agent(deepcopy(messages)))

        def text(messages: list[Message]) -> str:
            return _text_answer(agent, messages[-1]["content"], record)

        # An agent that says only text calls no tools in messages.
        is_textual = is_class and hasattr(agent, RESPOND)
        session = ToolSession(
            text if is_textual else answer,
            tools,
            record.message,
            tool_rounds=0 if is_textual else tool_rounds,
        )
        if server is not None:
            server.hold(planned.name, session.execute)
        return session

    return partner


def _text_answer(agent: Any, utterance: str, record: Record) -> str:
    """Return what an agent with its own tools says, and keep its bookings."""
    answer = _awaited(agent.respond(utterance))
    bookings = getattr(agent, BOOKINGS, None)
    if bookings is not None:
        copy = _plain(bookings, BOOKINGS)
        if not isinstance(copy, list) or not all(isinstance(booking, dict) for booking in copy):
            raise AnswerError(
                f'{BOOKINGS} is a list of {{"domain": …, "slots": {{…}}}}, found '
                f"{shorten(repr(bookings))}"
            )
        record.keep({BOOKINGS: copy})
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


def _plain(value: Any, what: str) -> Any:
    """Return a copy of a JSON value. Raises `AnswerError`."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise AnswerError(f"{what} is no JSON value: {shorten(str(error))}") from None
    if len(text) > MOST_CHARACTERS:
        raise AnswerError(f"{what} is longer than {MOST_CHARACTERS:,} characters")
    return json.loads(text)


def own_user(name: str, made: Callable[..., Any]) -> MakeUser:
    """Return what makes a user of one's own, a class, which messages call by the `name`.

    Raises `UsageError` for what cannot be called like that.
    """
    check_call(name, made, 0, ("goal", "seed", "dialogue"), A_USER)
    missing = [method for method in ("begin", "answer") if not hasattr(made, method)]
    if isclass(made) and missing:
        raise UsageError(f'"{name}" has no {missing[0]}(): {A_USER}')

    def user(planned: Planned, record: Record) -> CheckedUser:
        goal = deepcopy(planned.goal)
        values = {"goal": goal, "seed": planned.number, "dialogue": planned.name}
        return CheckedUser(made(**given(made, values)))

    return user


class CheckedUser:
    """A user whose turns are checked to be text, and who cannot change those of the agent."""

    def __init__(self, user: Any) -> None:
        self._user = user

    def begin(self) -> str:
        """Return what the user says first. Raises `NotAUserError` for what is no text."""
        return _checked_text(self._user.begin())

    def answer(self, heard: AgentTurn, /) -> str:
        """Return what the user says. Raises `NotAUserError` for what is no text."""
        return _checked_text(self._user.answer(deepcopy(heard)))

    @property
    def is_done(self) -> bool:
        """Whether the user has said its last."""
        return bool(self._user.is_done)

    def report(self) -> Any:
        """Return what the user holds in the end, None if it does not say.

        Raises whatever it raises, and `AnswerError` for what is no JSON.
        """
        report = getattr(self._user, "report", None)
        return None if report is None else _plain(report(), "report")


def _checked_text(said: Any) -> str:
    if not isinstance(said, str):
        raise NotAUserError(f"expected text, found {shorten(repr(said))}")
    return plain_text(said)
