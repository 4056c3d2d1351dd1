"""The slots that MultiWOZ states can have, in normalised spelling.

Only warnings come from here: systems that predict other slots are scored as they are.
"""

from __future__ import annotations

BOOKING = {
    "restaurant": ("day", "people", "time"),
    "hotel": ("day", "people", "stay"),
    "train": ("people",),
    "bus": ("people",),
}
"""Slots that the annotation writes with `book` in front."""
SEARCH = {
    "restaurant": ("area", "food", "name", "pricerange"),
    "hotel": ("area", "internet", "name", "parking", "pricerange", "stars", "type"),
    "attraction": ("area", "name", "type"),
    "train": ("arrive", "day", "departure", "destination", "leave"),
    "taxi": ("arrive", "departure", "destination", "leave"),
    "hospital": ("department",),
    "police": ("name",),
    "bus": ("arrive", "day", "departure", "destination", "leave"),
}

ONTOLOGY = {
    domain: frozenset(slots).union(
        # Many systems write booking slots without `book` in front; neither form is scored.
        *({slot, f"book{slot}"} for slot in BOOKING.get(domain, ()))
    )
    for domain, slots in SEARCH.items()
}
