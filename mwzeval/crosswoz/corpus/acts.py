"""Dialogue acts as values: intent, domain, slot, value; and the keys of what turns say.

The canonical spelling joins the four with `+`. Never with `-`, which occurs inside slots
(`酒店设施-叫醒服务`). Turns whose acts have the same keys say the same kind of thing: templates and
references are grouped by them.
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
    """One dialogue act. A General act has its kind (`thank`) in place of the domain."""

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
    """Return a General act such as `thank`."""
    return Act(GENERAL, kind, NONE, NONE)


def parse_act(raw: Any) -> Act:
    """Return an act from a list of four texts or from its canonical spelling.

    Only the first three `+` of a spelling separate: a value may hold more. Raises `ValueError` with
    what was found instead.
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
    """Return acts in their order. Raises `ValueError` as `parse_act` does."""
    return tuple(parse_act(act) for act in raw)


def ordered(acts: Iterable[Act]) -> Acts:
    """Return acts without repetition in the order of the corpus: by code point."""
    return tuple(sorted(set(acts)))


TOGETHER = "*"
FREE_TICKET = Act(INFORM, ATTRACTION, TICKET, FREE)
Key = tuple[str, ...]
"""The keys of all acts of a turn, sorted: a multiset, in which their order does not matter."""
_OPENINGS = {GENERAL: 0, NO_OFFER: 1, INFORM: 3, RECOMMEND: 4, SELECT: 4, REQUEST: 5}
_NOTHING_FOUND = 2
_CLOSINGS = {"reqmore": 7, "thank": 8, "bye": 9}


class Mention(NamedTuple):
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
    return TOGETHER.join(map(act_key, in_turn_order(acts)))


def in_turn_order(acts: Iterable[Act]) -> Acts:
    """Return acts in the order of a turn: greetings first, offers, requests, farewell last."""
    return tuple(sorted(acts, key=lambda act: (_place(act), act_key(act))))


def _place(act: Act) -> int:
    if act.value == NOTHING:
        return _NOTHING_FOUND
    if act.intent == GENERAL:
        return _CLOSINGS.get(act.domain, 0)
    return _OPENINGS.get(act.intent, _OPENINGS[INFORM])


def mentions_of(acts: Iterable[Act]) -> tuple[Mention, ...]:
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
        if value and has_mention(act):
            number = str(seen[key]) if counts[key] > 1 else ""
            said.append(Mention(f"[{key}{number}]", value))
    return tuple(said)


def has_mention(act: Act) -> bool:
    """Return whether a sentence should say the act's value, or the service that it is about."""
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
