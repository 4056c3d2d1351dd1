"""What takes part in a simulation: users, systems, and what turns acts into words and back.

Any class with these methods takes part; it need not inherit from anything here. A new user and a
new system are made for every dialogue.

What simulators and goal generators leave to chance, behind one small door.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Literal, Protocol, TypeVar

from mwzeval.crosswoz.corpus.acts import Act, Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal

Item = TypeVar("Item")


class Draws(Protocol):
    """A source of chance; tests put a fixed one in its place."""

    def choose(self, items: Sequence[Item]) -> Item:
        """Return one of the items, each as likely as the others."""
        ...

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order."""
        ...

    def weighted(self, items: Sequence[Item], weights: Sequence[float]) -> Item:
        """Return one of the items, each as likely as its weight says."""
        ...

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        ...


class RandomDraws:
    """Chance from a seed: the same seed gives the same draws, whatever runs beside it.

    Python's generator, because single draws are what is needed, and NumPy's cost ten times as much.
    """

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def choose(self, items: Sequence[Item]) -> Item:
        """Return one of the items."""
        return items[int(self._random.random() * len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order."""
        draw = self._random.random
        return sorted(items, key=lambda _: draw())

    def weighted(self, items: Sequence[Item], weights: Sequence[float]) -> Item:
        """Return one of the items by weight."""
        sums = _sums(tuple(weights))
        place = bisect_right(sums, self._random.random() * sums[-1])
        return items[min(place, len(items) - 1)]

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random.random() < probability


@lru_cache(maxsize=256)
def _sums(weights: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(accumulate(weights))


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
