"""The intents, domains and slots that exist and that predictions may use."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache

from mwzeval.crosswoz.corpus.acts import (
    GENERAL,
    INFORM,
    INTENTS,
    NO_OFFER,
    NONE,
    RECOMMEND,
    REQUEST,
    SELECT,
    SERVICE_PREFIX,
    SYSTEM_GENERAL,
    SYSTEM_INTENTS,
    USER_GENERAL,
    USER_INTENTS,
    Act,
    parse_act,
)
from mwzeval.crosswoz.corpus.names import (
    ADDRESS,
    ATTRACTION,
    CAR_PLATE,
    CAR_TYPE,
    DEPARTURE_STATION,
    DESTINATION_STATION,
    DOMAINS,
    HOTEL,
    METRO,
    NAME,
    OPEN_HOURS,
    PHONE,
    RESTAURANT,
    SERVICES,
    SOURCE_DOMAIN,
    STATE_SLOTS,
    TAXI,
    VENUE_DOMAINS,
)
from mwzeval.errors import did_you_mean, shorten

NOT_AN_ACT = "not-an-act"
REQUESTABLE = {
    ATTRACTION: (ADDRESS, PHONE),
    RESTAURANT: (ADDRESS, PHONE, OPEN_HOURS),
    HOTEL: (ADDRESS, PHONE),
    METRO: (DEPARTURE_STATION, DESTINATION_STATION),
    TAXI: (CAR_TYPE, CAR_PLATE),
}
"""A mapping from each domain to slots that can be requested and reported but are not in a system
state."""
ACT_SLOTS = {domain: (*slots, *REQUESTABLE[domain]) for domain, slots in STATE_SLOTS.items()}
"""The slots of acts in each domain; each hotel service X also has its own slot `酒店设施-X`."""
SIDES = {
    "user": (USER_INTENTS, USER_GENERAL),
    "system": (SYSTEM_INTENTS, SYSTEM_GENERAL),
}
"""A mapping from each side to its intents and to the kinds of its General acts."""


@lru_cache(2**14)
def wrong_in(side: str, intent: str, domain: str, slot: str) -> tuple[str, str] | None:
    """Return the kind and a description of the mistake in an act; None if the act is valid.

    `side` is `user` or `system`; `intent`, `domain` and `slot` are those of the act. Intents of the
    other side are also accepted, because models that tag user and system utterances confuse the
    sides.
    """
    if intent not in INTENTS:
        of_side, _ = SIDES[side]
        return _unknown("intent", intent, (*of_side, *INTENTS))
    if intent == GENERAL:
        kinds = dict.fromkeys((*USER_GENERAL, *SYSTEM_GENERAL))
        return None if domain in kinds else _unknown("kind of General act", domain, kinds)
    if domain not in DOMAINS:
        return _unknown("domain", domain, DOMAINS)
    known = slots_of(intent, domain)
    if slot in known or (slot.startswith(SERVICE_PREFIX) and intent in (INFORM, REQUEST)):
        if slot.startswith(SERVICE_PREFIX) and domain != HOTEL:
            return "unknown-slot", f'only {HOTEL} has services, not {domain} ("{shorten(slot)}")'
        return None
    return _unknown("slot", slot, known, f' of {intent} in domain "{domain}"')


def slots_of(intent: str, domain: str) -> Collection[str]:
    """Return the slots that acts with this intent may have in a domain, without services."""
    if intent == SELECT:
        return (SOURCE_DOMAIN,) if domain in VENUE_DOMAINS else ()
    if intent == RECOMMEND:
        return (NAME,) if domain in VENUE_DOMAINS else ()
    if intent == NO_OFFER:
        return (NONE,)
    return tuple(slot for slot in ACT_SLOTS[domain] if slot != SERVICES)


def mistakes_in(side: str, raw: object) -> Iterator[tuple[str, str]]:
    """Yield the kind of each mistake in the acts of a file, and a sentence that describes it."""
    if not isinstance(raw, list | tuple):
        yield NOT_AN_ACT, "acts must be a list"
        return
    for item in raw:
        try:
            act = parse_act(item)
        except ValueError as error:
            yield NOT_AN_ACT, str(error)
            continue
        mistake = wrong_in(side, act.intent, act.domain, act.slot)
        if mistake is not None:
            yield mistake


def wrong_slot(domain: str, slot: str | None = None) -> tuple[str, str] | None:
    """Return the kind of a mistake in a slot or domain of a state, and a description of it."""
    if domain not in STATE_SLOTS:
        return _unknown("domain", domain, STATE_SLOTS)
    if slot is None or slot in STATE_SLOTS[domain]:
        return None
    return _unknown("slot", slot, STATE_SLOTS[domain], f' of a state in domain "{domain}"')


def parts_of(act: Act) -> tuple[str, ...]:
    """Return the scopes of an act: its intent and domain, or only `General`."""
    return (GENERAL,) if act.intent == GENERAL else (act.intent, act.domain)


def _unknown(what: str, name: str, known: Collection[str], where: str = "") -> tuple[str, str]:
    code = "unknown-" + what.split(" ")[-1 if what == "slot" else 0]
    listed = ", ".join(dict.fromkeys(known))
    hint = did_you_mean(name, known)
    message = f'unknown {what} "{shorten(name)}"{where}{hint} (known: {listed})'
    return code, message
