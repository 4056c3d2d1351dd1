"""What a simulation calls: users, systems, NLU and NLG, and the random choices that they are given.

Any class with these methods will do; it need not inherit from anything here. A new user and a new
system are made for every dialogue. Whatever they return is checked where it is received.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, Literal, Protocol, TypeVar

from mwzeval.crosswoz.corpus.acts import Act, Acts, parse_act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal
from mwzeval.errors import shorten

Item = TypeVar("Item")


class Rng:
    """Random choices from a seed: the same ones, whatever runs in parallel.

    Python's generator, because single numbers are what is needed: NumPy's cost ten times as much.
    """

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def choose(self, items: Sequence[Item]) -> Item:
        """Return one of the items, each as likely as the others."""
        return items[int(self._random.random() * len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order."""
        draw = self._random.random
        return sorted(items, key=lambda _: draw())

    def weighted(self, items: Sequence[Item], weights: Sequence[float]) -> Item:
        """Return one of the items, each as likely as its weight says."""
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
CONTEXT = 3
"""How many utterances before one an NLU gets."""


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

    def say(self, acts: Acts, side: Side, rng: Rng) -> str | None:
        """Return a text that says the acts, None when there are no words for them."""
        ...


MakeUser = Callable[[Goal, Rng], UserSimulator]
MakeSystem = Callable[[Database], System]
MakeTextSystem = Callable[[Database], TextSystem]

MOST_ACTS = 1000
"""How many acts a turn has at most: an answer may be a generator, and that may never end."""
Slots = Mapping[str, Mapping[str, str]]
Selected = Mapping[str, tuple[str, ...]]


def as_acts(said: Iterable[Any] | None, who: str) -> Acts:
    """Return what a user or system said as acts; None is nothing.

    Raises `ValueError` or `TypeError` for anything but acts: `Act`s, lists of four texts, or texts
    such as `Inform+餐馆+名称+…`; and for more than `MOST_ACTS`.
    """
    if said is None:
        return ()
    if isinstance(said, str):
        raise TypeError(f'{who} returned the text "{shorten(said)}" instead of acts')
    acts: list[Act] = []
    for raw in islice(said, MOST_ACTS + 1):
        try:
            act = raw if type(raw) is Act else parse_act(raw)
            _check_texts(act)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{who} returned an invalid act: {error}") from None
        acts.append(act)
    if len(acts) > MOST_ACTS:
        raise ValueError(f"{who} returned more than {MOST_ACTS} acts in one turn")
    return tuple(acts)


def as_text(said: object, who: str) -> str:
    """Return what a user or system said in words; None is nothing.

    Raises `TypeError` for anything but text, `ValueError` for text that no file can hold.
    """
    if said is None:
        return ""
    if not isinstance(said, str):
        kind = type(said).__name__
        raise TypeError(f"{who} returned a value of type {kind} instead of text")
    _check_texts((said,))
    return said


def _check_texts(texts: Iterable[str]) -> None:
    """Raise `TypeError` for what is no text, `ValueError` for half of a surrogate pair.

    Both would only be noticed when the log is written, or read again.
    """
    "".join(texts).encode()


def state_of(system: object) -> Slots:
    """Return the state that a system has, without empty slots; {} when it has none.

    Raises `TypeError` when it has something else of that name.
    """
    state = getattr(system, "state", None) or {}
    try:
        kept = {
            domain: {
                slot: value if isinstance(value, str) else " ".join(value)
                for slot, value in slots.items()
                if value
            }
            for domain, slots in state.items()
            if any(slots.values())
        }
        for domain, slots in kept.items():
            _check_texts((domain, *slots, *slots.values()))
        return kept
    except (AttributeError, TypeError):
        raise TypeError("the state of the system must be domain → slot → value") from None


def selected_of(system: object) -> Selected:
    """Return the names that a system has selected; {} when it says nothing of it.

    Raises `TypeError` when it has something else of that name.
    """
    selected = getattr(system, "selected", None) or {}
    try:
        kept = {domain: tuple(names) for domain, names in selected.items()}
        for domain, names in kept.items():
            _check_texts((domain, *names))
        if not any(isinstance(names, str) for names in selected.values()):
            return kept
    except (AttributeError, TypeError):
        pass
    raise TypeError("the selection of the system must be domain → names")
