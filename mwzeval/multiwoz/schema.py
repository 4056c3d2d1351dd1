"""The ontology of MultiWOZ: domains, slots, bookings, days, times, and "no value" spellings."""

from __future__ import annotations

import re
from collections.abc import Mapping

ALL_DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")
FIVE_DOMAINS = ALL_DOMAINS[:5]
"""The domains whose states are scored."""
DATABASE_DOMAINS = ("restaurant", "attraction", "hotel", "train")
SERVICES = ("police", "hospital")
"""Domains with a database but without a choice of venues by constraints."""
VENUE_DOMAINS = ("restaurant", "hotel", "attraction")
"""Domains with venues; an ambiguous value is assigned to the first domain with this value."""
JOURNEYS = ("train", "taxi")
PLACE_DOMAINS = ("attraction", "hospital", "hotel", "police", "restaurant")
"""Domains whose venues can be the departure or destination of a taxi."""

SEARCH_SLOTS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("area", "food", "name", "pricerange"),
    "hotel": ("area", "internet", "name", "parking", "pricerange", "stars", "type"),
    "attraction": ("area", "name", "type"),
    "train": ("arrive", "day", "departure", "destination", "leave"),
    "taxi": ("arrive", "departure", "destination", "leave"),
    "hospital": ("department",),
    "police": ("name",),
    "bus": ("arrive", "day", "departure", "destination", "leave"),
}
"""The search slots of each domain in normalized states."""
BOOKING_SLOTS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("people", "day", "time"),
    "hotel": ("people", "day", "stay"),
    "train": ("people",),
}
"""The booking slots of each domain in goals. In `BOOKING_SLOTS`, the day of a train is missing,
because it is a search slot."""
STATE_BOOKING_SLOTS: Mapping[str, tuple[str, ...]] = {
    domain: tuple(f"book{slot}" for slot in slots)
    for domain, slots in {**BOOKING_SLOTS, "bus": ("people",)}.items()
}
"""The booking slots of each domain in states."""
ACT_BOOKING_SLOTS: Mapping[str, frozenset[str]] = {
    domain: frozenset(map(str.capitalize, slots)) for domain, slots in BOOKING_SLOTS.items()
}
"""The booking slots of each domain in dialogue acts."""
ALL_BOOKING_SLOTS = frozenset(slot for slots in BOOKING_SLOTS.values() for slot in slots)
NAMED_BY = {"restaurant": "name", "hotel": "name", "attraction": "name", "train": "trainid"}
"""The slot that identifies a venue or train."""
OFFERED_BY = {domain: slot.upper() for domain, slot in NAMED_BY.items()}
"""The placeholder with which a turn offers a venue, by domain."""
PROVIDABLE = {
    "PHONE": "phone",
    "ADDRESS": "address",
    "POST": "postcode",
    "REFERENCE": "reference",
    "TRAINID": "trainid",
}
"""The slots that can be requested and provided, by placeholder."""
BOOKED_BY = {domain: NAMED_BY[domain] for domain in BOOKING_SLOTS}
"""The slot that identifies the venue or train in a booking, for each domain."""

SHORT_SLOTS = {"leaveat": "leave", "arriveby": "arrive"}
"""Maps slots in placeholders and states to slots in normalized states and database columns."""
GOAL_SLOT_OF_ACT = {
    "addr": "address",
    "arrive": "arriveBy",
    "car": "car type",
    "depart": "departure",
    "dest": "destination",
    "fee": "entrance fee",
    "id": "trainID",
    "leave": "leaveAt",
    "post": "postcode",
    "price": "pricerange",
    "ticket": "price",
}
"""Maps slots of acts to slots of goals if the names differ."""
PLACEHOLDER_OF_ACT = {"open": "openhours"} | {
    slot: goal.lower().replace(" ", "")
    for slot, goal in GOAL_SLOT_OF_ACT.items()
    if slot not in ("car", "price")
}
"""Maps slots of acts to names of placeholders if the names differ."""
LONG_SLOTS = {short: slot for slot, short in SHORT_SLOTS.items()}
OTHER_END = {"leaveat": "arriveby", "arriveby": "leaveat"}
"""Maps each time slot of a train to the other time slot, which an ambiguous time may mean."""
NAME_SLOTS = frozenset({"name", "destination", "departure"})
TIME_SLOTS = frozenset({"arrive", "leave", "arriveby", "leaveat", "time"})
FLAG_SLOTS = frozenset({"parking", "internet"})

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

# The spellings of "no value" differ between sources. Scores depend on the lists below.
DONTCARE, NONE, NOT_MENTIONED = "dontcare", "none", "not mentioned"
DONTCARE_SPELLINGS = frozenset({DONTCARE, "don't care", "dont care", "do n't care", "do not care"})
NO_CONSTRAINT = DONTCARE_SPELLINGS | {NOT_MENTIONED}
"""Values of states and goals that all venues satisfy."""
CONVLAB_NO_CONSTRAINT = NO_CONSTRAINT - {"do not care"} | {""}
"""The values that all venues satisfy in ConvLab-2."""
UNSTATED = frozenset({"", NOT_MENTIONED, NONE})
"""The annotation of slots for which the user has not stated a value."""
UNFILLED = frozenset(
    {
        *("", "-", "?", NONE, "null", "nil", "nan", "n/a", "empty", "missing", "undefined"),
        *("unknown", "unspecified", "unfilled", "no value", NOT_MENTIONED, "not given"),
        *("not known", "not specified", "not provided", "not stated", "not set", "not filled"),
    }
)
"""Spellings, in lower case, with which systems mark unfilled slots. These spellings are no values
of any slot.

The unified format always lists all slots, so slots with these values are unfilled by default.
"""
UNKNOWN = "?"
"""A value of the database that satisfies any constraint."""
UNKNOWN_VALUES = frozenset({UNKNOWN, ""})
NO_VALUES = UNKNOWN_VALUES | {"None"}
"""Spellings of unknown values in the database and in results of tools."""
UNINFORMATIVE = frozenset({"", "?", NONE, "unknown", DONTCARE, "not available", "n/a"})
"""Values, in lower case, that give the user no information."""
UNANSWERED = "?"
UNANSWERED_VALUES = frozenset({UNANSWERED, DONTCARE, NONE, "no"})
"""Values in `reqt` and `booked` of a goal that stand for a missing answer."""

ADDED_FIELDS: Mapping[str, Mapping[str, str]] = {
    "police": {"postcode": "cb11jg"},
    "hospital": {"address": "hills rd , cambridge", "postcode": "cb20qq"},
}
"""Slots that goals request although the corpus' database has no values for them."""


def id_column(domain: str) -> str:
    """Return the key of the id in the rows of a domain's database file."""
    return "trainID" if domain == "train" else "id"


def minutes(time: str) -> int:
    """Return minutes since midnight; 0 for a text that does not begin with `HH:MM`."""
    match = re.match(r"([0-9]{2}):([0-9]{2})", time)
    return int(match[1]) * 60 + int(match[2]) if match else 0


def time_fits(slot: str, value: object, wanted: str) -> bool | None:
    """Return whether a time is early or late enough; an unreadable time is accepted. For slots
    without a time, the result is None.

    As in ConvLab-2, hours and minutes may have any number of digits and any characters after them.
    """
    if slot not in ("leaveAt", "arriveBy"):
        return None
    try:
        at, limit = ([*map(int, str(text).split(":")[:2])] for text in (value, wanted))
    except ValueError:
        return True
    if not len(at) == len(limit) == 2:
        return True
    hundreds = at[0] * 100 + at[1] - limit[0] * 100 - limit[1]
    return hundreds >= 0 if slot == "leaveAt" else hundreds <= 0
