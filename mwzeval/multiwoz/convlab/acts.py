"""Dialogue acts, and how their slots are called in goals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Act(NamedTuple):
    """A dialogue act, such as `Act("Inform", "Hotel", "Area", "north")`."""

    intent: str
    domain: str
    slot: str
    value: str


GENERAL = "general"
NONE = "none"
"""The slot and the value of an act that has none."""

_VENUE = {
    "addr": "address",
    "area": "area",
    "choice": "choice",
    "name": "name",
    "phone": "phone",
    "post": "postcode",
    "price": "pricerange",
    NONE: NONE,
}
_SERVICE = {"addr": "address", "phone": "phone", "post": "postcode", NONE: NONE}

SYSTEM_SLOTS: Mapping[str, Mapping[str, str]] = {
    "attraction": {**_VENUE, "fee": "entrance fee", "type": "type"},
    "hotel": {
        **_VENUE,
        "internet": "internet",
        "parking": "parking",
        "ref": "ref",
        "stars": "stars",
        "type": "type",
    },
    "restaurant": {**_VENUE, "food": "food", "ref": "ref"},
    "train": {
        "arrive": "arriveBy",
        "choice": "choice",
        "day": "day",
        "depart": "departure",
        "dest": "destination",
        "id": "trainID",
        "leave": "leaveAt",
        "people": "people",
        "ref": "ref",
        "time": "duration",
        "ticket": "price",
        NONE: NONE,
    },
    "taxi": {
        "arrive": "arriveBy",
        "car": "car type",
        "depart": "departure",
        "dest": "destination",
        "leave": "leaveAt",
        "phone": "phone",
        NONE: NONE,
    },
    "booking": {
        "day": "day",
        "name": "name",
        "people": "people",
        "ref": "ref",
        "stay": "stay",
        "time": "time",
        NONE: NONE,
    },
    "hospital": {**_SERVICE, "department": "department"},
    "police": dict(_SERVICE),
}
"""Domain → slot of a system's act (both in lower case) → slot of a goal. No others are known."""

_ASKED = {"address": "Addr", "phone": "Phone", "postcode": "Post"}
_FOUND = {**_ASKED, "area": "Area", "name": "Name"}
_BOOKED = {"day": "Day", "people": "People"}
_JOURNEY = {
    "arriveBy": "Arrive",
    "departure": "Depart",
    "destination": "Dest",
    "leaveAt": "Leave",
}

USER_SLOTS: Mapping[str, Mapping[str, str]] = {
    "attraction": {**_FOUND, "entrance fee": "Fee", "type": "Type"},
    "hotel": {
        **_FOUND,
        **_BOOKED,
        "internet": "Internet",
        "parking": "Parking",
        "pricerange": "Price",
        "stars": "Stars",
        "stay": "Stay",
        "type": "Type",
    },
    "restaurant": {**_FOUND, **_BOOKED, "food": "Food", "pricerange": "Price", "time": "Time"},
    "train": {
        **_JOURNEY,
        **_BOOKED,
        "duration": "Time",
        "price": "Ticket",
        "trainID": "Id",
    },
    "taxi": {**_JOURNEY, "car type": "Car", "phone": "Phone"},
    "hospital": {**_ASKED, "department": "Department"},
    "police": {**_ASKED, "name": "Name"},
}
"""Domain → slot of a goal → slot of a user's act. What is not here is never said."""

_INTENTS = {"inform": "Inform", "request": "Request"}
_DOMAINS = {domain: domain.capitalize() for domain in USER_SLOTS}


def spoken(act: Act) -> Act | None:
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
    return None if word is None else Act(_INTENTS[intent], _DOMAINS[domain], word, value)
