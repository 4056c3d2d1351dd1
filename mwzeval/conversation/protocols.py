"""Protocols for users, agents and tools, and the ways in which a conversation ends.

Any class with these methods can be used; inheritance is not required. Each dialogue has a new user,
a new partner and new tools. The type of a turn depends on the benchmark: utterances, or dialogue
acts.
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
"""The endings of a dialogue: the user has finished, a limit was reached, or the user or agent has
failed.

Dialogues with an infrastructure error (such as an unreachable server) are not scored.
"""
FAILURES = (Exception, SystemExit)
"""Exceptions of a user or agent that end only one dialogue; other exceptions stop the run."""
MOST_CHARACTERS_OF_PROBLEM = 500
"""The maximum length of an error message, because a server may answer with a whole web page."""


class ConversationError(Exception):
    """An error that ends a dialogue; its text is shown without the class name."""


class InfrastructureError(ConversationError):
    """An error that neither user nor agent has caused. The dialogue can be repeated."""


class LimitError(ConversationError):
    """A dialogue has reached its time limit."""


class AnswerError(ConversationError):
    """The answer of an agent is invalid."""


class Ending(NamedTuple):
    """How a dialogue has ended, its number of user turns, and the problem (if any)."""

    end: End
    user_turns: int
    problem: str | None = None


def failed(side: End, turns: int, error: BaseException) -> Ending:
    """Return the ending of a dialogue in which one side raised an error."""
    if isinstance(error, InfrastructureError):
        side = INFRASTRUCTURE
    elif isinstance(error, LimitError):
        side = LIMIT
    return Ending(side, turns, described(error))


def described(error: BaseException) -> str:
    """Return an error as one line; the class name is omitted for `ConversationError`."""
    try:
        text = str(error)
    except FAILURES:
        text = ""
    if not isinstance(error, ConversationError):
        text = f"{type(error).__name__}: {text}".removesuffix(": ")
    return shorten(text, MOST_CHARACTERS_OF_PROBLEM)


class User(Protocol):
    """A user with a goal, for a single dialogue.

    A user may have a method `report()` that returns its final state as a JSON object.
    """

    def begin(self) -> Any:
        """Return the first utterance."""

    def answer(self, heard: Any, /) -> Any:
        """Return the user's reply to an agent's turn; None if the user leaves without a reply."""

    @property
    def is_done(self) -> bool:
        """Whether the user has ended the dialogue with the last utterance."""


class Partner(Protocol):
    """The agent's side of a dialogue."""

    def answer(self, said: Any, /) -> Any:
        """Return the agent's turn."""


class Tools(Protocol):
    """The functions that an agent may call in one dialogue."""

    @property
    def schema(self) -> Sequence[Mapping[str, Any]]:
        """One JSON Schema per function, in the form of `tools` in OpenAI's chat completions."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the result of a call as JSON. Errors are `{"error": "…"}`, not exceptions."""
