"""The ontology of MultiWOZ: domains, slots, bookings, days, times, values that say nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping

ALL_DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")
FIVE_DOMAINS = ALL_DOMAINS[:5]
"""The domains of which states are scored."""
DATABASE_DOMAINS = ("restaurant", "attraction", "hotel", "train")
SERVICES = ("police", "hospital")
"""Domains with a database of which nobody chooses a venue by constraints."""
VENUE_DOMAINS = ("restaurant", "hotel", "attraction")
"""In the order in which a value is taken for that of a venue."""
PLACE_DOMAINS = ("attraction", "hospital", "hotel", "police", "restaurant")
"""Domains that a taxi can go between."""

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
"""Domain → slots of its search in normalized states."""
BOOKING_SLOTS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("people", "day", "time"),
    "hotel": ("people", "day", "stay"),
    "train": ("people",),
}
"""Domain → slots of its bookings in goals; a train's day is that of the train."""
STATE_BOOKING_SLOTS: Mapping[str, tuple[str, ...]] = {
    domain: tuple(f"book{slot}" for slot in slots)
    for domain, slots in {**BOOKING_SLOTS, "bus": ("people",)}.items()
}
"""Domain → slots of its bookings in states."""
ACT_BOOKING_SLOTS: Mapping[str, frozenset[str]] = {
    domain: frozenset(map(str.capitalize, slots)) for domain, slots in BOOKING_SLOTS.items()
}
"""Domain → slots of its bookings in dialogue acts."""
ALL_BOOKING_SLOTS = frozenset(slot for slots in BOOKING_SLOTS.values() for slot in slots)
NAMED_BY = {"restaurant": "name", "hotel": "name", "attraction": "name", "train": "trainid"}
"""The slot that identifies a venue or train."""
OFFERED_BY = {domain: slot.upper() for domain, slot in NAMED_BY.items()}
"""The placeholder with which a turn offers a venue of the domain."""
PROVIDABLE = {
    "PHONE": "phone",
    "ADDRESS": "address",
    "POST": "postcode",
    "REFERENCE": "reference",
    "TRAINID": "trainid",
}
"""Placeholder of a slot that goals request and turns provide → the slot."""
BOOKED_BY = {domain: NAMED_BY[domain] for domain in BOOKING_SLOTS}
"""The slot that identifies what is booked."""

SHORT_SLOTS = {"leaveat": "leave", "arriveby": "arrive"}
"""Slot as placeholders and states call it → as normalized states and columns do."""
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
"""Slot of an act → slot of a goal, where they differ."""
PLACEHOLDER_OF_ACT = {"open": "openhours"} | {
    slot: goal.lower().replace(" ", "")
    for slot, goal in GOAL_SLOT_OF_ACT.items()
    if slot not in ("car", "price")
}
"""Slot of an act → name of its placeholder; the others are so as they stand."""
LONG_SLOTS = {short: slot for slot, short in SHORT_SLOTS.items()}
OTHER_END = {"leaveat": "arriveby", "arriveby": "leaveat"}
"""What a time of a train may be as well where no word tells."""
NAME_SLOTS = frozenset({"name", "destination", "departure"})
TIME_SLOTS = frozenset({"arrive", "leave", "arriveby", "leaveat", "time"})
FLAG_SLOTS = frozenset({"parking", "internet"})

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

# Values that say nothing, apart by who writes them: scores depend on which are read as such.
DONTCARE, NONE, NOT_MENTIONED = "dontcare", "none", "not mentioned"
DONTCARE_SPELLINGS = frozenset({DONTCARE, "don't care", "dont care", "do n't care", "do not care"})
NO_CONSTRAINT = DONTCARE_SPELLINGS | {NOT_MENTIONED}
"""Values of states and goals that any venue satisfies."""
CONVLAB_NO_CONSTRAINT = NO_CONSTRAINT - {"do not care"} | {""}
"""The same in ConvLab-2, whose list this is."""
UNSTATED = frozenset({"", NOT_MENTIONED, NONE})
"""What the annotation writes where the user has not stated a value."""
UNFILLED = frozenset(
    {
        *("", "-", "?", NONE, "null", "nil", "nan", "n/a", "empty", "missing", "undefined"),
        *("unknown", "unspecified", "unfilled", "no value", NOT_MENTIONED, "not given"),
        *("not known", "not specified", "not provided", "not stated", "not set", "not filled"),
    }
)
"""What systems write for a slot that is not filled, in lower case: no slot can have such a value.

The unified format always lists all slots; there they are read so without being told.
"""
UNKNOWN = "?"
"""A value of the database that satisfies any constraint."""
UNKNOWN_VALUES = frozenset({UNKNOWN, ""})
NO_VALUES = UNKNOWN_VALUES | {"None"}
"""What stands in the database, and in results of tools, where a value is not known."""
UNINFORMATIVE = frozenset({"", "?", NONE, "unknown", DONTCARE, "not available", "n/a"})
"""Values, in lower case, with which an agent informs of nothing."""
UNANSWERED = "?"
UNANSWERED_VALUES = frozenset({UNANSWERED, DONTCARE, NONE, "no"})
"""What `reqt` and `booked` of a goal hold as long as the user waits for an answer."""

ADDED_FIELDS: Mapping[str, Mapping[str, str]] = {
    "police": {"postcode": "cb11jg"},
    "hospital": {"address": "hills rd , cambridge", "postcode": "cb20qq"},
}
"""What goals ask for although the records of the corpus lack it."""


def id_column(domain: str) -> str:
    """Return the key of a row's id in the files of the database."""
    return "trainID" if domain == "train" else "id"


def minutes(time: str) -> int:
    """Return minutes since midnight; 0 for a text that does not begin with `HH:MM`."""
    match = re.match(r"([0-9]{2}):([0-9]{2})", time)
    return int(match[1]) * 60 + int(match[2]) if match else 0


def time_fits(slot: str, value: object, wanted: str) -> bool | None:
    """Return whether a time is early or late enough, or cannot be read; None for other slots.

    Hours and minutes may have any number of digits, and more may follow them, as in ConvLab-2.
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
