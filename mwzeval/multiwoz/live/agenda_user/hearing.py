"""What a user makes of a system's acts: domains and slots as in its goal, values compared truly."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mwzeval.multiwoz.convlab.acts import GENERAL, NONE, SYSTEM_SLOTS, Act
from mwzeval.multiwoz.convlab.wishes import violates
from mwzeval.multiwoz.normalization.normalize import normalize_slot, normalize_value
from mwzeval.multiwoz.schema import FLAG_SLOTS, VENUE_DOMAINS
from mwzeval.multiwoz.words.gazetteer import name_forms
from mwzeval.multiwoz.words.text import fold

BOOKING = "booking"
NO_OFFER = "nooffer"
CHOICE = "choice"
NO_VALUE = frozenset({"", "?", "none", "unknown", "dontcare", "not available", "n/a"})
"""Values that say nothing of a venue."""
_NOTHING = frozenset({"0", "zero", "no", "none"})


def heard_acts(system: Iterable[Act], domains: Collection[str], current: str | None) -> list[Act]:
    """Return the acts about a goal's domains, intents in lower case and slots as in goals.

    Acts about a booking are about the domain that was last spoken of, at first `current`. To have
    found nothing is `nooffer`. What has no meaning in the domain is left out.
    """
    acts = []
    for raw_intent, raw_domain, raw_slot, value in system:
        intent, domain = raw_intent.lower(), raw_domain.lower()
        named = SYSTEM_SLOTS.get(domain)
        if domain == GENERAL or named is None:
            continue
        word = raw_slot.lower()
        # A booking's slots may also be said of the domain itself.
        slot = named.get(word) or SYSTEM_SLOTS[BOOKING].get(word)
        value = value.strip()
        if slot == CHOICE and value.lower() in _NOTHING:
            intent, slot, value = NO_OFFER, NONE, NONE
        if slot is None:
            continue
        if domain in domains:
            current = domain
        if domain == BOOKING and current is not None:
            domain = current
        if domain in domains:
            if slot in FLAG_SLOTS and value.lower() == "none":
                value = "yes"  # A car park without a fee.
            acts.append(Act(intent, domain, slot, value))
    return acts


def fits(domain: str, slot: str, said: str, wanted: str) -> bool:
    """Return whether a said value is the wanted one, or says nothing against it.

    Times of trains are limits. Spelling does not count: neither in names, nor in types and times.
    """
    said, wanted = said.strip().lower(), wanted.strip().lower()
    if said == wanted or said in NO_VALUE or wanted in NO_VALUE:
        return True
    column = normalize_slot(slot)
    said, wanted = (normalize_value(column, value, "2023") for value in (said, wanted))
    if said == wanted:
        return True
    if slot == "name" and domain in VENUE_DOMAINS and fold(said) and fold(wanted):
        return not name_forms(said, domain).isdisjoint(name_forms(wanted, domain))
    if domain == "train" and slot in ("arriveBy", "leaveAt"):
        return not violates(slot, said, wanted)
    return False
