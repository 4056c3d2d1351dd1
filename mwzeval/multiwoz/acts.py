"""Dialogue acts of MultiWOZ in ConvLab-2's notation, the goal slots of acts, and random choices."""

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
"""Maximum number of acts in a turn; an agent may return an infinite generator."""


class Act(NamedTuple):
    """A dialogue act, such as `Act("Inform", "Hotel", "Area", "north")`."""

    intent: str
    domain: str
    slot: str
    value: str


GENERAL = "general"
NONE = "none"
"""The text that stands for the slot and the value in an act without slot and value."""
INFORM, REQUEST = "inform", "request"
"""Intents of acts in the user's agenda. Slots in the agenda have the names used in goals."""
INFORMING = frozenset({INFORM, "recommend", "offerbook", "offerbooked"})
"""Intents (in lower case) of system acts that state values."""
BOOKING = frozenset({"book", "offerbooked"})
"""Intents (in lower case) of system acts that make a booking."""
SAME = 0.3
"""The probability that a user says "the same day" instead of repeating an earlier value."""
BYE = Act("bye", GENERAL, NONE, NONE)

# User acts of live dialogues that the public simulator does not have. Their domain is `general`, so
# that act-level systems can ignore them.
REPEAT = Act("repeat", GENERAL, NONE, NONE)
"""The acts after this act repeat earlier acts."""
CORRECT = Act("correct", GENERAL, NONE, NONE)
"""The acts after this act correct a misunderstanding."""
CHANGE = Act("change", GENERAL, NONE, NONE)
"""The acts after this act replace constraints that no venue satisfies."""
CHANGE_OF_MIND = Act("mind", GENERAL, NONE, NONE)
"""The acts after this act replace constraints that the user no longer has."""
SLIP = Act("slip", GENERAL, NONE, NONE)
"""The acts after this act replace a constraint that the user has stated by mistake."""
THANK = Act("thank", GENERAL, NONE, NONE)
GIVE_UP = "giveup"
"""The intent of the act with which a user gives up a domain; the act's value is the domain."""
RETURN = "return"
"""The intent of returning to a domain; the act's value is the domain."""
ASIDE = "aside"
"""The intent of a request that no function can answer. The slot is a keyword, the value a text."""


def giving_up(domain: str) -> Act:
    """Return the act with which a user gives up a domain."""
    return Act(GIVE_UP, GENERAL, NONE, domain)


def returning_to(domain: str) -> Act:
    """Return the act with which a user comes back to an earlier domain."""
    return Act(RETURN, GENERAL, NONE, domain)


_VENUE = f"addr area choice name phone post price {NONE}"
_JOURNEY = f"arrive depart dest leave {NONE}"
_SERVICE = f"addr phone post {NONE}"
SYSTEM_SLOTS: Mapping[str, Mapping[str, str]] = {
    domain: {
        # The slot `time` of a train is its duration.
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
"""The goal slots by domain and slot of a system act (in lower case). All other slots of system acts
are unknown."""

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
"""The slots of user acts by domain and goal slot. All other slots never occur in user acts."""


def _by_column(slots: Mapping[str, str]) -> dict[str, str]:
    return {slot.lower().replace(" ", ""): act for slot, act in slots.items()}


ACT_SLOTS: Mapping[str, Mapping[str, str]] = {
    domain: _by_column({slot: act.capitalize() for act, slot in slots.items()})
    for domain, slots in SYSTEM_SLOTS.items()
}
"""The slots of system acts by domain and database slot."""
USER_ACT_SLOTS: Mapping[str, Mapping[str, str]] = {
    domain: _by_column(slots) for domain, slots in USER_SLOTS.items()
}
"""The slots of user acts by domain and slot of a state (without `book`)."""
STATE_SLOTS: Mapping[str, Mapping[str, str]] = {
    domain: {act: slot for slot, act in slots.items()} for domain, slots in USER_ACT_SLOTS.items()
}
"""The slots of a state (without `book`) by domain and slot of a user act."""


@lru_cache(maxsize=2**12)
def goal_slot(domain: str, slot: str) -> str | None:
    """Return the goal slot for a slot of a system act, ignoring case, or None if it is unknown."""
    return SYSTEM_SLOTS.get(domain.lower(), {}).get(slot.lower())


def user_act(act: Act) -> Act | None:
    """Return the user act for an act of an agenda, or None if there is no such user act.

    In an agenda, intents and domains are in lower case, and slots have their names in goals.
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
    """Return the dialogue acts in an agent's answer. If the answer is None, there are no acts.

    Raises `AnswerError` unless every act consists of four texts: intent, domain, slot, value.
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
        # Values that are not text, and unpaired surrogates, cannot be written to a file.
        length = sum(len("".join(act).encode()) for act in acts)
    except (TypeError, UnicodeEncodeError):
        raise AnswerError("an act is four texts that can be written to a file") from None
    if length > MOST_CHARACTERS:
        raise AnswerError(f"acts of {length:,} characters: more than {MOST_CHARACTERS:,}")
    return acts


class Draws:
    """The random choices that the `user` or the `system` makes in a dialogue.

    The choices depend only on seed, goal and trial, and not on other dialogues that run at the same
    time.
    """

    def __init__(self, seed: int, goal_id: str, trial: int, side: str) -> None:
        # The goal id is last because it may contain any character.
        self._rng = random.Random(f"{seed}/{side}/{trial}/{goal_id}")

    def random(self) -> float:
        """Return a number of at least 0 and below 1."""
        return self._rng.random()

    def pick(self, n: int) -> int:
        """Return a random integer from 0 to n - 1."""
        return int(self._rng.random() * n)

    def shuffle(self, names: Collection[str]) -> list[str]:
        """Return the names of a list in random order."""
        return sorted(names, key=lambda _: self._rng.random())
