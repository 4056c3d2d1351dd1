"""What a database says of a venue, and which other values are clearly false of it.

Written without a look at how the package compares values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.heldout.forms import digits, money
from benchmarks.heldout.sentences import NAMES

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
COLUMNS = {
    "entrancefee": "entrance fee",
    "leaveat": "leaveAt",
    "arriveby": "arriveBy",
    "trainid": "trainID",
}
ROOMS = ("single", "double", "family")
TIMES = ("leaveat", "arriveby")
NO_VALUES = ("", "?", "None", "0")
KINDRED = (
    {"chinese", "asian oriental", "japanese", "thai", "korean", "vietnamese"},
    {"british", "gastropub", "european", "modern european", "international", "north american"},
    {"turkish", "mediterranean", "lebanese", "greek", "italian", "spanish", "portuguese"},
    {"concerthall", "theatre", "entertainment", "cinema", "nightclub"},
    {"architecture", "college", "museum"},
    {"park", "multiple sports", "swimmingpool", "boat"},
)
"""Foods and types that are no clear contradiction of one another."""
COMMON = frozenset(
    ("street", "road", "lane", "avenue", "way", "city", "centre", "park", "saint", "of", "and")
)
"""Words that addresses of different places share."""


def value_of(row: Row, slot: str) -> str | None:
    """Return what the database has there; None when it has nothing that can be said."""
    if slot in ROOMS:
        price = row.get("price")
        value = price.get(slot) if isinstance(price, Mapping) else None
    else:
        value = row.get(COLUMNS.get(slot, slot))
    return None if value is None or str(value) in NO_VALUES else str(value)


def contradicts(slot: str, value: str, row: Row) -> bool:
    """Tell whether a value is clearly not that of a venue."""
    if slot in (*NAMES, "count"):
        return True
    true = value_of(row, slot)
    if true is None:
        return False
    if slot in TIMES:
        return value not in (value_of(row, time) for time in TIMES)
    if slot in ("price", "entrancefee"):
        if "free" in (value, true):
            return value != true
        # Nor is it the price of several: "£20 for two" would be right of another number of people.
        several = (people * money(value) / money(true) for people in range(1, 10))
        return not any(abs(tickets - round(tickets)) < 1e-6 for tickets in several)
    if slot in ("food", "type"):
        # People call a guest house a hotel, too, but no hotel a guest house.
        if value == "hotel":
            return False
        return value != true and not any({value, true} <= kind for kind in KINDRED)
    if slot == "address":
        return (_street(value) != _street(true) and not _street(value) & _street(true)) or (
            bool(digits(value))
            and _street(value) == _street(true)
            and digits(value) != digits(true)
        )
    if slot in ("departure", "destination"):
        return value not in (row["departure"], row["destination"])
    return value != true


def _street(address: str) -> set[str]:
    return set(re.findall(r"[a-z]{2,}", address.lower())) - COMMON
