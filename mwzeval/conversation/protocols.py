"""Who takes part in a conversation: users, agents, and the tools that agents call.

Any class with these methods will do; it need not inherit from anything here. A new user, a new
partner and new tools are made for every dialogue. What turns are made of is open: utterances in
words, acts in benchmarks that talk in acts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

from mwzeval.errors import shorten

Said = TypeVar("Said")
"""A turn of the user."""
Heard = TypeVar("Heard")
"""A turn of the agent, as the user gets it."""
Said_co = TypeVar("Said_co", covariant=True)
Said_contra = TypeVar("Said_contra", contravariant=True)
Heard_co = TypeVar("Heard_co", covariant=True)
Heard_contra = TypeVar("Heard_contra", contravariant=True)

End = Literal["user_stop", "limit", "agent_error", "user_error", "infrastructure"]
USER_STOP: End = "user_stop"
LIMIT: End = "limit"
AGENT_ERROR: End = "agent_error"
USER_ERROR: End = "user_error"
INFRASTRUCTURE: End = "infrastructure"
ENDS: tuple[End, ...] = (USER_STOP, LIMIT, AGENT_ERROR, USER_ERROR, INFRASTRUCTURE)
"""How a dialogue ends: the user has said its last, a limit was met, or a side failed.

What is nobody's fault (`infrastructure`: a server that cannot be reached) is not scored.
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


def described(error: BaseException) -> str:
    """Return what was raised in one line, with its class unless it is a sentence without it."""
    try:
        said = str(error)
    except FAILURES:
        said = ""
    if not isinstance(error, ConversationError):
        said = f"{type(error).__name__}: {said}".removesuffix(": ")
    return shorten(said, MOST_CHARACTERS_OF_PROBLEM)


class User(Protocol[Said_co, Heard_contra]):
    """A user with a goal, one dialogue long.

    It may have a method `report()` that returns what it holds in the end, as a JSON object.
    """

    def begin(self) -> Said_co:
        """Return what the user says first."""

    def answer(self, heard: Heard_contra, /) -> Said_co | None:
        """Return what the user says to a turn of the agent; None to leave without a word."""

    @property
    def is_done(self) -> bool:
        """Whether the user has said its last."""


class Partner(Protocol[Said_contra, Heard_co]):
    """The agent's side of one dialogue."""

    def answer(self, said: Said_contra, /) -> Heard_co:
        """Return the agent's turn."""


class Tools(Protocol):
    """The functions that an agent may call in one dialogue."""

    @property
    def schema(self) -> Sequence[Mapping[str, Any]]:
        """One JSON Schema a function, in the form of `tools` of OpenAI's chat completions."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return what a call gives, a JSON value. It never raises: `{"error": "…"}`."""
