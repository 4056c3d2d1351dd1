"""Dialogue acts (intent, domain, slot, value), and the keys of turns.

The canonical spelling joins the four parts with `+`; `-` occurs in slots (`酒店设施-叫醒服务`).
Turns whose acts have equal keys share templates and references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from mwzeval.crosswoz.corpus.names import ATTRACTION, FREE, HOTEL, NOTHING, SERVICES, TICKET
from mwzeval.scores.findings import found

GENERAL, INFORM, REQUEST = "General", "Inform", "Request"
RECOMMEND, NO_OFFER, SELECT = "Recommend", "NoOffer", "Select"
INTENTS = (GENERAL, INFORM, REQUEST, RECOMMEND, NO_OFFER, SELECT)
USER_INTENTS = (GENERAL, INFORM, REQUEST, SELECT)
SYSTEM_INTENTS = (GENERAL, INFORM, RECOMMEND, NO_OFFER)
USER_GENERAL = ("greet", "thank", "bye")
SYSTEM_GENERAL = ("greet", "welcome", "thank", "bye", "reqmore")
NONE = "none"
SERVICE_PREFIX = f"{SERVICES}-"
SEPARATOR = "+"
PARTS = 4


class Act(NamedTuple):
    """One dialogue act. The domain of a General act is its kind (`thank`)."""

    intent: str
    domain: str
    slot: str
    value: str

    @property
    def service(self) -> str | None:
        """The hotel service that the slot names, None for any other slot."""
        return self.slot.removeprefix(SERVICE_PREFIX) if self.is_service else None

    @property
    def is_service(self) -> bool:
        """Whether the act is about one service of a hotel."""
        return self.slot.startswith(SERVICE_PREFIX)

    def __str__(self) -> str:
        return SEPARATOR.join(self)


Acts = tuple[Act, ...]


def general(kind: str) -> Act:
    """Return an act with the intent General, such as `thank`."""
    return Act(GENERAL, kind, NONE, NONE)


def parse_act(raw: Any) -> Act:
    """Return an act from a list of four texts or from its canonical spelling.

    A text is split at its first three `+` only, because a value may contain `+`. Raises
    `ValueError` if the act is invalid.
    """
    parts: Any = raw.split(SEPARATOR, PARTS - 1) if isinstance(raw, str) else raw
    if not isinstance(parts, list | tuple):
        what = found(raw)
    elif len(parts) != PARTS:
        what = f"found {len(parts)} parts"
    elif others := [part for part in parts if not isinstance(part, str)]:
        what = found(others[0])
    else:
        return Act(*parts)
    raise ValueError(f"an act must have four strings: intent, domain, slot and value; {what}")


def parse_acts(raw: Iterable[Any]) -> Acts:
    """Return acts in their order. Raises `ValueError` like `parse_act`."""
    return tuple(parse_act(act) for act in raw)


def ordered(acts: Iterable[Act]) -> Acts:
    """Return acts without repeats, sorted by code point as in the corpus."""
    return tuple(sorted(set(acts)))


TOGETHER = "*"
FREE_TICKET = Act(INFORM, ATTRACTION, TICKET, FREE)
Key = tuple[str, ...]
"""The sorted keys of all acts of a turn, as a multiset."""
_OPENINGS = {GENERAL: 0, NO_OFFER: 1, INFORM: 3, RECOMMEND: 4, SELECT: 4, REQUEST: 5}
_NOTHING_FOUND = 2
_CLOSINGS = {"reqmore": 7, "thank": 8, "bye": 9}


class Mention(NamedTuple):
    """A value in a sentence, and its placeholder in templates."""

    placeholder: str
    value: str


def act_key(act: Act) -> str:
    """Return the key of one act: intent, domain and slot, without the name of a hotel service.

    The key also includes the value of Select acts, `无` (no such thing) and a free ticket.
    """
    if act.value == NOTHING or act == FREE_TICKET:
        return str(act)
    if act.is_service and act.intent == INFORM:
        return SEPARATOR.join((INFORM, HOTEL, SERVICES, act.value))
    if act.is_service and act.intent == REQUEST:
        return SEPARATOR.join((REQUEST, HOTEL, SERVICES))
    if act.intent == SELECT:
        return str(act)
    return SEPARATOR.join(act[:3])


def turn_key(acts: Iterable[Act]) -> Key:
    """Return the template key of a turn."""
    return tuple(sorted(map(act_key, acts)))


def parse_key(text: str) -> Key:
    """Return the act key for the text of a key in a template file; the parts can have any order."""
    return tuple(sorted(text.split(TOGETHER))) if text else ()


def spelled_key(acts: Iterable[Act]) -> str:
    """Return the key of a turn in template files: the act keys in the usual order of acts."""
    return TOGETHER.join(map(act_key, in_turn_order(acts)))


def in_turn_order(acts: Iterable[Act]) -> Acts:
    """Return acts in their usual order: greetings, offers, requests, farewell."""
    return tuple(sorted(acts, key=lambda act: (_place(act), act_key(act))))


def _place(act: Act) -> int:
    if act.value == NOTHING:
        return _NOTHING_FOUND
    if act.intent == GENERAL:
        return _CLOSINGS.get(act.domain, 0)
    return _OPENINGS.get(act.intent, _OPENINGS[INFORM])


def mentions_of(acts: Iterable[Act]) -> tuple[Mention, ...]:
    """Return the values that a sentence for the acts should contain, in order.

    A sentence should contain the values of Inform and Recommend acts except `无` (no such thing),
    and the reported or requested services. If several acts of a turn have the same key, their
    placeholders are numbered.
    """
    listed = [(act_key(act), act) for act in acts]
    counts = Counter(key for key, _ in listed)
    seen: Counter[str] = Counter()
    said = []
    for key, act in listed:
        seen[key] += 1
        value = value_of(act)
        if value and has_mention(act):
            number = str(seen[key]) if counts[key] > 1 else ""
            said.append(Mention(f"[{key}{number}]", value))
    return tuple(said)


def has_mention(act: Act) -> bool:
    """Return whether a sentence should contain the act's value or service."""
    if act.value == NOTHING:
        return False
    return act.intent in (INFORM, RECOMMEND) or (act.intent == REQUEST and act.is_service)


def value_of(act: Act) -> str:
    """Return the text for an act's placeholder: the name of the service, or the value."""
    return act.service or act.value


def lowered(acts: Iterable[Act]) -> Acts:
    """Return acts with values in lower case, as in templates."""
    return tuple(
        act if act.value.islower() else act._replace(value=act.value.lower()) for act in acts
    )
