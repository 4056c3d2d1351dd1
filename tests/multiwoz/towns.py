"""The database of docs/metrics.md, and mentions of its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mwzeval.multiwoz.words.text import Mention

Rows = list[dict[str, Any]]

RESTAURANT_COLUMNS = ("id", "name", "area", "food", "pricerange", "phone", "postcode", "address")
RESTAURANTS = (
    ("1", "blue lantern", "north", "chinese", "cheap", "01223000001", "cb10aa", "1 high street"),
    ("2", "red kettle", "north", "chinese", "expensive", "01223000002", "cb10ab", "2 high street"),
    ("3", "old mill", "south", "british", "cheap", "01223000003", "?", "3 mill lane"),
)
TRAIN_COLUMNS = (
    *("trainID", "day", "departure", "destination", "leaveAt", "arriveBy", "price", "duration"),
)
TRAINS = (
    ("TR0001", "monday", "ely", "cambridge", "09:00", "09:20", "4.40 pounds", "20 minutes"),
    ("TR0002", "monday", "ely", "cambridge", "11:00", "11:20", "4.40 pounds", "20 minutes"),
    # Two trains share an id, as in the real database.
    ("TR0003", "monday", "ely", "norwich", "10:00", "11:30", "7.00 pounds", "90 minutes"),
    ("TR0003", "friday", "ely", "norwich", "12:00", "13:30", "7.00 pounds", "90 minutes"),
)


def rows_of(columns: tuple[str, ...], values: tuple[tuple[str, ...], ...]) -> Rows:
    return [dict(zip(columns, row, strict=True)) for row in values]


HOTEL = {
    **{"id": "1", "name": "grand hotel", "area": "north", "pricerange": "cheap", "stars": "4"},
    **{"type": "hotel", "phone": "01223000011", "postcode": "cb20aa", "address": "9 hill road"},
}
ATTRACTION = {
    **{"id": "1", "name": "the museum", "area": "north", "type": "museum", "entrance fee": "?"},
    **{"phone": "01223000021", "postcode": "cb30aa", "address": "park road", "pricerange": "?"},
}
GARDEN = {
    **{"id": "2", "name": "the garden", "area": "south", "type": "park"},
    **{"entrance fee": "4 pounds", "phone": "?", "postcode": "cb30ab", "address": "low road"},
    "pricerange": "cheap",
}

TOWN: dict[str, Rows] = {
    "restaurant": rows_of(RESTAURANT_COLUMNS, RESTAURANTS),
    "hotel": [HOTEL],
    "attraction": [ATTRACTION, GARDEN],
    "train": rows_of(TRAIN_COLUMNS, TRAINS),
}

COLUMNS = {"entrancefee": "entrance fee", "leaveat": "leaveAt", "arriveby": "arriveBy"}


def mention(
    slot: str,
    said: str,
    domain: str | None = "restaurant",
    tables: Mapping[str, Rows] = TOWN,
) -> Mention:
    """Return a mention of a text; its venues are those with exactly this value."""
    column = "trainID" if slot == "trainid" else COLUMNS.get(slot, slot)
    identifier = "trainID" if domain == "train" else "id"
    venues = tuple(
        row[identifier] for row in tables.get(domain or "", ()) if row.get(column) == said
    )
    return Mention(0, len(said), said, slot, domain, said if venues else None, venues)


def named(*names: str, domain: str = "restaurant") -> list[Mention]:
    return [mention("trainid" if domain == "train" else "name", name, domain) for name in names]
