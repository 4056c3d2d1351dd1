"""What kind of thing an act says: the keys that templates and references are grouped by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from mwzeval.crosswoz.corpus.acts import (
    GENERAL,
    INFORM,
    NO_OFFER,
    RECOMMEND,
    REQUEST,
    SELECT,
    SEPARATOR,
    Act,
    Acts,
)
from mwzeval.crosswoz.corpus.names import ATTRACTION, HOTEL, NOTHING, SERVICES, TICKET
from mwzeval.crosswoz.corpus.normalization import FREE

TOGETHER = "*"
FREE_TICKET = Act(INFORM, ATTRACTION, TICKET, FREE)
Key = tuple[str, ...]
"""The keys of all acts of a turn, sorted: a multiset, in which their order does not matter."""
_OPENINGS = {GENERAL: 0, NO_OFFER: 1, INFORM: 3, RECOMMEND: 4, SELECT: 4, REQUEST: 5}
_NOTHING_FOUND = 2
_CLOSINGS = {"reqmore": 7, "thank": 8, "bye": 9}


class Said(NamedTuple):
    """A value that a sentence says, and the placeholder that stands for it in templates."""

    placeholder: str
    value: str


def act_key(act: Act) -> str:
    """Return the key of one act: intent, domain and slot, and the value where it is worded.

    A hotel's service stands without its name, "no such thing" and a free ticket with their value.
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
    """Return the key of a turn."""
    return tuple(sorted(map(act_key, acts)))


def parse_key(text: str) -> Key:
    """Return the key that a template file spells as one text, in whatever order."""
    return tuple(sorted(text.split(TOGETHER))) if text else ()


def spelled_key(acts: Iterable[Act]) -> str:
    """Return the key of a turn as template files spell it: in the order in which acts are said."""
    return TOGETHER.join(map(act_key, as_said(acts)))


def as_said(acts: Iterable[Act]) -> Acts:
    """Return acts in the order of a turn: greetings first, offers, requests, farewell last."""
    return tuple(sorted(acts, key=lambda act: (_place(act), act_key(act))))


def _place(act: Act) -> int:
    if act.value == NOTHING:
        return _NOTHING_FOUND
    if act.intent == GENERAL:
        return _CLOSINGS.get(act.domain, 0)
    return _OPENINGS.get(act.intent, _OPENINGS[INFORM])


def said_values(acts: Iterable[Act]) -> tuple[Said, ...]:
    """Return the values that a sentence for the acts should have, in their order.

    These are the values of Inform and Recommend acts, and the services that are told or asked for;
    "no such thing" is no value. Where a turn has a key several times, placeholders are numbered.
    """
    listed = [(act_key(act), act) for act in acts]
    counts = Counter(key for key, _ in listed)
    seen: Counter[str] = Counter()
    said = []
    for key, act in listed:
        seen[key] += 1
        value = value_of(act)
        if value and _is_said(act):
            number = str(seen[key]) if counts[key] > 1 else ""
            said.append(Said(f"[{key}{number}]", value))
    return tuple(said)


def _is_said(act: Act) -> bool:
    if act.value == NOTHING:
        return False
    return act.intent in (INFORM, RECOMMEND) or (act.intent == REQUEST and act.is_service)


def value_of(act: Act) -> str:
    """Return what an act's placeholder stands for: the service's name, or the value."""
    return act.service or act.value


def lowered(acts: Iterable[Act]) -> Acts:
    """Return acts with values as templates say them: in lower case."""
    return tuple(
        act if act.value.islower() else act._replace(value=act.value.lower()) for act in acts
    )
