"""The ontology of MultiWOZ: domains, slots, bookings, days, and values that say nothing."""

from __future__ import annotations

from collections.abc import Mapping

ALL_DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")
FIVE_DOMAINS = ALL_DOMAINS[:5]
"""The domains of which states are scored."""
DATABASE_DOMAINS = ("restaurant", "attraction", "hotel", "train")
SERVICES = ("police", "hospital")
"""Domains with a database of which nobody chooses a venue by constraints."""
VENUE_DOMAINS = ("attraction", "restaurant", "hotel")
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
"""Domain → slots of its search in normalised states."""
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
BOOKED_BY = {domain: NAMED_BY[domain] for domain in BOOKING_SLOTS}
"""The slot that identifies what is booked."""

SHORT_SLOTS = {"arriveby": "arrive", "leaveat": "leave"}
NAME_SLOTS = frozenset({"name", "destination", "departure"})
TIME_SLOTS = frozenset({"arrive", "leave", "arriveby", "leaveat", "time"})
FLAG_SLOTS = frozenset({"parking", "internet"})

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

DONTCARE = "dontcare"
DONTCARE_SPELLINGS = frozenset({DONTCARE, "don't care", "dont care", "do n't care", "do not care"})
NOT_MENTIONED = "not mentioned"
NONE = "none"
NO_CONSTRAINT = DONTCARE_SPELLINGS | {NOT_MENTIONED}
UNKNOWN = "?"
"""A value of the database that satisfies any constraint."""
UNANSWERED = "?"
UNANSWERED_VALUES = frozenset({UNANSWERED, DONTCARE, "none", "no"})
"""What `reqt` and `booked` of a goal hold as long as the user waits for an answer."""


def id_column(domain: str) -> str:
    """Return the key of a row's id in the files of the database."""
    return "trainID" if domain == "train" else "id"
