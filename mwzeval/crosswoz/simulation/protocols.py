"""What takes part in a simulation: users, systems, and what turns acts into words and back.

Any class with these methods takes part; it need not inherit from anything here. A new user and a
new system are made for every dialogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Protocol

from mwzeval.crosswoz.corpus.acts import Act, Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal
from mwzeval.crosswoz.draws import Draws

Side = Literal["user", "system"]
USER: Side = "user"
SYSTEM: Side = "system"


class UserSimulator(Protocol):
    """A user with a goal, one dialogue long."""

    def begin(self) -> Iterable[Act]:
        """Return what the user says first."""
        ...

    def answer(self, system_acts: Acts, /) -> Iterable[Act]:
        """Return what the user says to the acts of the system."""
        ...

    @property
    def terminated(self) -> bool:
        """Whether everything was said and answered: the dialogue is finished."""
        ...


class System(Protocol):
    """A system that hears and says dialogue acts.

    It may have a `state` (domain → slot → value) and what it has `selected` (domain → names): they
    are logged after each answer.
    """

    def answer(self, user_acts: Acts, /) -> Iterable[Act]:
        """Return what the system says to the acts of the user."""
        ...


class TextSystem(Protocol):
    """A system that hears and says text; `state` and `selected` as for `System`.

    It may also have `understood` and `said`, the acts that it heard and said last: they are logged.
    """

    def respond(self, utterance: str, /) -> str:
        """Return what the system says to an utterance."""
        ...


class Nlu(Protocol):
    """Turns what one side says into acts."""

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Iterable[Act]:
        """Return the acts of an utterance of the side.

        `context` are the utterances before it, oldest first, at most three.
        """
        ...


class Nlg(Protocol):
    """Turns the acts of one side into words."""

    def say(self, acts: Acts, side: Side, draws: Draws) -> str | None:
        """Return a text that says the acts, None when there are no words for them."""
        ...


MakeUser = Callable[[Goal, Draws], UserSimulator]
MakeSystem = Callable[[Database], System]
MakeTextSystem = Callable[[Database], TextSystem]
