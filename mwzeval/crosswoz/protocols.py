"""The interfaces of a simulation: users, systems, NLU and NLG, and their random choices.

Any class with these methods can be used; it does not have to inherit from a protocol. A new user
and a new system are made for every dialogue. The simulation checks all values that users and
systems return.
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
    """Random choices that depend only on a seed, even if dialogues run in parallel.

    This class uses Python's random generator, because NumPy's generator is ten times as slow for
    single numbers.
    """

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def choose(self, items: Sequence[Item]) -> Item:
        """Return one of the items with equal probabilities."""
        return items[int(self._random.random() * len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order."""
        draw = self._random.random
        return sorted(items, key=lambda _: draw())

    def weighted(self, items: Sequence[Item], weights: Sequence[float]) -> Item:
        """Return one of the items, with probabilities that are proportional to the weights."""
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
"""The maximum number of previous utterances that an NLU gets."""


class UserSimulator(Protocol):
    """A user with a goal, for a single dialogue."""

    def begin(self) -> Iterable[Act]:
        """Return the acts of the user's first turn."""
        ...

    def answer(self, system_acts: Acts, /) -> Iterable[Act]:
        """Return the user's answer to the system's acts."""
        ...

    @property
    def terminated(self) -> bool:
        """Whether the dialogue is finished: all lines of the goal were expressed and answered."""
        ...


class System(Protocol):
    """A system that receives and returns dialogue acts.

    A system may have the attributes `state` (domain → slot → value) and `selected` (domain →
    selected names), which are logged after each answer.
    """

    def answer(self, user_acts: Acts, /) -> Iterable[Act]:
        """Return the system's answer to the user's acts."""
        ...


class TextSystem(Protocol):
    """A system that receives and returns text; the attributes `state` and `selected` are optional.

    If the system has the attribute `said`, the log includes these acts of its last answer.
    """

    def respond(self, utterance: str, /) -> str:
        """Return the system's answer to an utterance."""
        ...


class Nlu(Protocol):
    """Maps the utterances of one side to acts."""

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Iterable[Act]:
        """Return the acts of an utterance of the side.

        `context` has the previous utterances, oldest first, at most `CONTEXT`.
        """
        ...


class Nlg(Protocol):
    """Maps the acts of one side to text."""

    def say(self, acts: Acts, side: Side, rng: Rng) -> str | None:
        """Return a text that expresses the acts; None if the generator cannot express them."""
        ...


MakeUser = Callable[[Goal, Rng], UserSimulator]
MakeSystem = Callable[[Database], System]
MakeTextSystem = Callable[[Database], TextSystem]

MOST_ACTS = 1000
"""The maximum number of acts of a turn, because a returned generator may never end."""
Slots = Mapping[str, Mapping[str, str]]
Selected = Mapping[str, tuple[str, ...]]


def as_acts(said: Iterable[Any] | None, who: str) -> Acts:
    """Return the acts that a user or system has returned; None means no acts.

    Raises `ValueError` or `TypeError` if the value is not a list of acts (`Act`, lists of four
    texts, or texts such as `Inform+餐馆+名称+…`) or has more than `MOST_ACTS` acts.
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
    """Return the text that a user or system has returned; None is converted to an empty text.

    Raises `TypeError` if the value is not text, and `ValueError` if the text cannot be encoded.
    """
    if said is None:
        return ""
    if not isinstance(said, str):
        kind = type(said).__name__
        raise TypeError(f"{who} returned a value of type {kind} instead of text")
    _check_texts((said,))
    return said


def _check_texts(texts: Iterable[str]) -> None:
    """Raise `TypeError` if a value is not text, and `ValueError` if it has a lone surrogate.

    Otherwise these errors would only occur when the log is written or read.
    """
    "".join(texts).encode()


def state_of(system: object) -> Slots:
    """Return the state of a system without empty slots; {} if the system has no state.

    Raises `TypeError` if the system has an attribute `state` that is not a belief state.
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
    """Return the names that a system has selected; {} if it has no attribute `selected`.

    Raises `TypeError` if the attribute `selected` has another type.
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
