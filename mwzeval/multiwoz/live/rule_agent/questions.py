"""What a sentence of the user asks about a venue, and whether it wants a booking."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from mwzeval.multiwoz.live.rule_agent import cues
from mwzeval.multiwoz.live.rule_agent.heard import Heard, Sentence, Wish, plain
from mwzeval.multiwoz.schema import STATE_BOOKING_SLOTS
from mwzeval.multiwoz.template_system.language import requested_slots, wants_booking
from mwzeval.multiwoz.template_system.policy import ANSWERS, MEANT_BY_PRICE

_REFERENCED = ("restaurant", "hotel", "train")
_SERVICE_ANSWERS = ("phone", "address", "postcode")
_TAXI_ANSWERS = ("car", "phone")
_PRICE = re.compile(r"\bprices?\b|cost|how much|\bfees?\b|entrance|admission|\bfare")
_PHONE = re.compile(r"phone|telephone|contact")


def asked_in(
    said: Sentence, wishes: Collection[Wish], spoken_of: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield domain and slot of what is asked; what the sentence itself tells is not asked.

    `spoken_of` are the domains that it may be about, the likeliest first.
    """
    if not cues.ASKS.search(said.low):
        return
    given = {plain(wish.slot) for wish in wishes}
    slots = requested_slots(said.low)
    for slot in slots:
        if slot in given or not _is_meant(slot, said, slots, given):
            continue
        domain = next((domain for domain in spoken_of if _answers(domain, slot)), None)
        if domain is not None:
            yield domain, MEANT_BY_PRICE.get(domain, "pricerange") if slot == "price" else slot


def _is_meant(slot: str, said: Sentence, slots: Collection[str], given: Collection[str]) -> bool:
    """Tell whether a word that may ask for a slot does so beside the others of its sentence."""
    if said.ride == "taxi" and slot not in _TAXI_ANSWERS:
        return False
    if slot == "price":
        return "pricerange" not in given and _PRICE.search(said.low) is not None
    if slot == "phone" and not {"reference", "trainid"}.isdisjoint(slots):
        return _PHONE.search(said.low) is not None
    if slot == "address" and "area" in given:
        return "address" in said.low
    return slot != "duration" or "stay" not in given


def _answers(domain: str, slot: str) -> bool:
    if slot == "reference":
        return domain in _REFERENCED
    if domain in ("police", "hospital"):
        return slot in _SERVICE_ANSWERS
    if domain == "taxi":
        return slot in _TAXI_ANSWERS
    return slot in ANSWERS[domain] or slot == "price"


def hear_booking(
    said: Sentence, wishes: Iterable[Wish], spoken_of: Sequence[str], heard: Heard
) -> None:
    """Add the domain in which the sentence wants a booking, or wants none."""
    if not wants_booking(said.low) or cues.HAS_BOOKED.search(said.low):
        return
    if cues.DECLINES.search(said.low):
        heard.declines += [domain for domain in spoken_of[:1] if domain in STATE_BOOKING_SLOTS]
    elif not cues.NO_BOOKING.search(said.low):
        booked = [wish.domain for wish in wishes if wish.slot.startswith("book")]
        for domain in (*booked, *spoken_of):
            if domain in STATE_BOOKING_SLOTS or domain == "taxi":
                heard.books.append(domain)
                return
