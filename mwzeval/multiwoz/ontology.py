"""The slots that MultiWOZ states can have, in normalised spelling.

Only warnings come from here: systems that predict other slots are scored as they are.
"""

from __future__ import annotations

ONTOLOGY: dict[str, frozenset[str]] = {
    "restaurant": frozenset(
        {"area", "bookday", "bookpeople", "booktime", "food", "name", "pricerange"}
    ),
    "hotel": frozenset(
        {
            *("area", "bookday", "bookpeople", "bookstay", "internet"),
            *("name", "parking", "pricerange", "stars", "type"),
        }
    ),
    "attraction": frozenset({"area", "name", "type"}),
    "train": frozenset({"arrive", "bookpeople", "day", "departure", "destination", "leave"}),
    "taxi": frozenset({"arrive", "departure", "destination", "leave"}),
    "hospital": frozenset({"department"}),
    "police": frozenset({"name"}),
    "bus": frozenset({"arrive", "bookpeople", "day", "departure", "destination", "leave"}),
}

UNPREFIXED_BOOKING_SLOTS = frozenset({"day", "people", "stay", "time"})
"""Booking slots as many systems write them, without `book` in front: known, and not scored."""
