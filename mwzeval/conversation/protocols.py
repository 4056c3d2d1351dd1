"""Who takes part in a conversation: users, agents, and the tools that agents call; how it ends.

Any class with these methods will do; it need not inherit from anything here. A new user, a new
partner and new tools are made for every dialogue. What turns are made of is open: utterances in
words, acts in benchmarks that talk in acts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from mwzeval.errors import shorten

End = Literal["user_stop", "limit", "agent_error", "user_error", "infrastructure"]
USER_STOP: End = "user_stop"
LIMIT: End = "limit"
AGENT_ERROR: End = "agent_error"
USER_ERROR: End = "user_error"
INFRASTRUCTURE: End = "infrastructure"
ENDS: tuple[End, ...] = (USER_STOP, LIMIT, AGENT_ERROR, USER_ERROR, INFRASTRUCTURE)
"""How a dialogue ends: the user has finished, a limit was met, or a side failed.

An infrastructure error (`infrastructure`: a server that cannot be reached) is not scored.
"""
FAILURES = (Exception, SystemExit)
"""What may end a dialogue, and nothing else: a user or agent is somebody's research."""
MOST_CHARACTERS_OF_PROBLEM = 500
"""What a server answers may be a whole page."""


class ConversationError(Exception):
    """What ends a dialogue, in a sentence that needs no name of an exception before it."""


class InfrastructureError(ConversationError):
    """What is the fault of neither user nor agent. Such a dialogue can be held again."""


class LimitError(ConversationError):
    """A dialogue has taken as long as it may."""


class AnswerError(ConversationError):
    """What an agent does is no answer."""


class Ending(NamedTuple):
    """How a dialogue has ended, after how many turns of the user, and what was wrong."""

    end: End
    user_turns: int
    problem: str | None = None


def failed(side: End, turns: int, error: BaseException) -> Ending:
    """Return how a dialogue ends when something is raised by one side."""
    if isinstance(error, InfrastructureError):
        side = INFRASTRUCTURE
    elif isinstance(error, LimitError):
        side = LIMIT
    return Ending(side, turns, described(error))


def described(error: BaseException) -> str:
    """Return what was raised in one line, with its class unless it is a sentence without it."""
    try:
        text = str(error)
    except FAILURES:
        text = ""
    if not isinstance(error, ConversationError):
        text = f"{type(error).__name__}: {text}".removesuffix(": ")
    return shorten(text, MOST_CHARACTERS_OF_PROBLEM)


class User(Protocol):
    """A user with a goal, one dialogue long.

    It may have a method `report()` that returns its state at the end, as a JSON object.
    """

    def begin(self) -> Any:
        """Return the first utterance."""

    def answer(self, heard: Any, /) -> Any:
        """Return the utterance after a turn of the agent; None to leave without a word."""

    @property
    def is_done(self) -> bool:
        """Whether the last utterance was the final one."""


class Partner(Protocol):
    """The agent's side of one dialogue."""

    def answer(self, said: Any, /) -> Any:
        """Return the agent's turn."""


class Tools(Protocol):
    """The functions that an agent may call in one dialogue."""

    @property
    def schema(self) -> Sequence[Mapping[str, Any]]:
        """One JSON Schema a function, in the form of `tools` of OpenAI's chat completions."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the result of a call, a JSON value. It never raises: `{"error": "…"}`."""
