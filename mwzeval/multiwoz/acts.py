"""Dialogue acts of MultiWOZ, as ConvLab-2 writes them, their slots in goals, and random choices."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from mwzeval.conversation.messages import MOST_CHARACTERS
from mwzeval.conversation.protocols import AnswerError
from mwzeval.errors import shorten
from mwzeval.multiwoz.schema import BOOKING_SLOTS, GOAL_SLOT_OF_ACT

MOST_ACTS = 1_000
"""Acts of a turn: an answer may be a generator, and that may never end."""


class Act(NamedTuple):
    """A dialogue act, such as `Act("Inform", "Hotel", "Area", "north")`."""

    intent: str
    domain: str
    slot: str
    value: str


GENERAL = "general"
NONE = "none"
"""The slot and the value of an act that has none."""
INFORM, REQUEST = "inform", "request"
"""Intents of agendas, in which slots are called as in goals."""
INFORMING = frozenset({INFORM, "recommend", "offerbook", "offerbooked"})
"""Intents, in lower case, of the acts with which a system informs of values."""
BOOKING = frozenset({"book", "offerbooked"})
"""Intents, in lower case, of the acts with which a system books."""
SAME = 0.3
"""How often a user says "the same day" for a value that it has said before."""
BYE = Act("bye", GENERAL, NONE, NONE)

# Acts of the user of live dialogues that the public simulator lacks. All are general, so that
# systems of acts that do not know them are not disturbed.
REPEAT = Act("repeat", GENERAL, NONE, NONE)
"""What follows was said before."""
CORRECT = Act("correct", GENERAL, NONE, NONE)
"""What follows is put right."""
CHANGE = Act("change", GENERAL, NONE, NONE)
"""What follows is wanted instead, because the first wish cannot be had."""
THANK = Act("thank", GENERAL, NONE, NONE)
GIVE_UP = "giveup"
"""The intent of giving up; the value is the domain that is given up."""


def giving_up(domain: str) -> Act:
    """Return the act that gives a domain up."""
    return Act(GIVE_UP, GENERAL, NONE, domain)


_VENUE = f"addr area choice name phone post price {NONE}"
_JOURNEY = f"arrive depart dest leave {NONE}"
_SERVICE = f"addr phone post {NONE}"
SYSTEM_SLOTS: Mapping[str, Mapping[str, str]] = {
    domain: {
        # The time of a train is that which it takes.
        slot: "duration"
        if (domain, slot) == ("train", "time")
        else GOAL_SLOT_OF_ACT.get(slot, slot)
        for slot in slots.split()
    }
    for domain, slots in {
        "attraction": f"{_VENUE} fee type",
        "hotel": f"{_VENUE} internet parking ref stars type",
        "restaurant": f"{_VENUE} food ref",
        "train": f"{_JOURNEY} choice day id people ref time ticket",
        "taxi": f"{_JOURNEY} car phone",
        "booking": f"day name people ref stay time {NONE}",
        "hospital": f"{_SERVICE} department",
        "police": _SERVICE,
    }.items()
}
"""Domain → slot of a system's act (both in lower case) → slot of a goal. No others are known."""

_NOT_OF_USERS = frozenset({"choice", "ref", NONE})
_OF_USERS_ONLY: Mapping[str, tuple[str, ...]] = {**BOOKING_SLOTS, "police": ("name",)}
USER_SLOTS: Mapping[str, Mapping[str, str]] = {
    domain: {
        **{
            goal: slot.capitalize()
            for slot, goal in slots.items()
            if goal not in _NOT_OF_USERS and (domain, slot) != ("attraction", "price")
        },
        **{slot: slot.capitalize() for slot in _OF_USERS_ONLY.get(domain, ())},
    }
    for domain, slots in SYSTEM_SLOTS.items()
    if domain != "booking"
}
"""Domain → slot of a goal → slot of a user's act. What is not here is never said."""


def _by_column(slots: Mapping[str, str]) -> dict[str, str]:
    return {slot.lower().replace(" ", ""): act for slot, act in slots.items()}


ACT_SLOTS: Mapping[str, Mapping[str, str]] = {
    domain: _by_column({slot: act.capitalize() for act, slot in slots.items()})
    for domain, slots in SYSTEM_SLOTS.items()
}
"""Domain → slot of the database → slot of a system's act."""
USER_ACT_SLOTS: Mapping[str, Mapping[str, str]] = {
    domain: _by_column(slots) for domain, slots in USER_SLOTS.items()
}
"""Domain → slot of a state, without `book` → slot of a user's act."""


@lru_cache(maxsize=2**12)
def goal_slot(domain: str, slot: str) -> str | None:
    """Return what goals call the slot of a system's act, in any case; None for unknown ones."""
    return SYSTEM_SLOTS.get(domain.lower(), {}).get(slot.lower())


def user_act(act: Act) -> Act | None:
    """Return an act of an agenda as the user says it; None for what it has no word for.

    In an agenda, intents and domains are in lower case, and slots are called as in goals.
    """
    intent, domain, slot, value = act
    if domain == GENERAL:
        return act
    if (slot, value) == ("choice", "any"):
        word: str | None = "Choice"
    elif (slot, value) in ((NONE, NONE), ("NotBook", NONE)):
        word = slot
    else:
        word = USER_SLOTS[domain].get(slot)
    return None if word is None else Act(intent.capitalize(), domain.capitalize(), word, value)


def checked_acts(said: Iterable[Any] | None) -> list[Act]:
    """Return what was said as acts; None is nothing.

    Raises `AnswerError` for what are no acts: sequences of four texts, intent, domain, slot, value.
    """
    if said is None:
        return []
    if isinstance(said, str | bytes | Mapping) or not isinstance(said, Iterable):
        raise AnswerError(f"expected a list of acts, found {shorten(repr(said))}")
    acts = []
    for raw in islice(said, MOST_ACTS + 1):
        if not isinstance(raw, list | tuple) or len(raw) != len(Act._fields):
            raise AnswerError(f"an act is four texts, found {shorten(repr(raw))}")
        acts.append(raw if type(raw) is Act else Act(*raw))
    if len(acts) > MOST_ACTS:
        raise AnswerError(f"more than {MOST_ACTS:,} acts in one turn")
    try:
        # What is no text, and halves of surrogate pairs, could not be kept in a file.
        length = sum(len("".join(act).encode()) for act in acts)
    except (TypeError, UnicodeEncodeError):
        raise AnswerError("an act is four texts that can be written to a file") from None
    if length > MOST_CHARACTERS:
        raise AnswerError(f"acts of {length:,} characters: more than {MOST_CHARACTERS:,}")
    return acts


class Draws:
    """The random choices of one side, `user` or `system`, of a dialogue.

    They follow from seed, goal and trial alone, whatever runs at the same time.
    """

    def __init__(self, seed: int, goal_id: str, trial: int, side: str) -> None:
        # The goal's id comes last: it may hold any character.
        self._rng = random.Random(f"{seed}/{side}/{trial}/{goal_id}")

    def random(self) -> float:
        """Return a number from 0 to below 1."""
        return self._rng.random()

    def pick(self, n: int) -> int:
        """Return one of 0, …, n - 1."""
        return int(self._rng.random() * n)

    def shuffle(self, names: Collection[str]) -> list[str]:
        """Return the names in random order."""
        return sorted(names, key=lambda _: self._rng.random())
