"""The belief state of ConvLab-2's rule tracker, from the user's acts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from Levenshtein import distance

from mwzeval.multiwoz.convlab.acts import SYSTEM_SLOTS, Act
from mwzeval.multiwoz.schema import BOOKING_SLOTS

SEMI_SLOTS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("food", "pricerange", "name", "area"),
    "hotel": ("name", "area", "parking", "pricerange", "stars", "internet", "type"),
    "attraction": ("type", "name", "area"),
    "train": ("leaveAt", "destination", "day", "arriveBy", "departure"),
    "taxi": ("leaveAt", "destination", "departure", "arriveBy"),
    "hospital": ("department",),
    "police": (),
}
"""Domain → slots that describe what is looked for, in the order in which the policy tells them."""
REMEMBERED = 2**14
"""Spellings kept before the oldest are forgotten: bounds memory on hostile input."""

_TIME = re.compile(r"\d{1,2}:\d{1,2}")


class ValueSpellings:
    """Finds for a value the spelling of the database.

    `listed` is the content of `value_dict.json`: domain → slot in lower case → values. One of
    these serves any number of trackers; it remembers what it has found.
    """

    def __init__(self, listed: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        self._listed = listed
        self.normalized = lru_cache(maxsize=REMEMBERED)(self._normalized)

    def _normalized(self, domain: str, slot: str, value: str) -> str:
        """Return the listed value nearest to a value, or the value where none is near."""
        value = " ".join(value.lower().split())
        slot = slot.lower()
        known = self._listed.get(domain, {}).get(slot)
        if known is None:
            return value
        for spelling in (value, *_other_spellings(value)):
            found = _listed_value(known, spelling)
            if found is not None:
                return found
        # Prices, train ids and durations would be looked for as well, but no slot here has them.
        time = _TIME.search(value)
        return time[0] if time else value


def _listed_value(known: Sequence[str], value: str) -> str | None:
    if value in known:
        return value
    # (odd) The first in the order of the list, not the nearest: "17:1" is "17:17" or "17:15".
    for listed in known:
        if listed in value or value in listed:
            return listed
    most_edits = 3 if len(value) >= 15 else 2 if len(value) >= 10 else None
    if most_edits is not None:
        for listed in known:
            if distance(listed, value, score_cutoff=most_edits) <= most_edits:
                return listed
    return None


def _other_spellings(value: str) -> Iterator[str]:
    if " 's" in value:
        yield value.replace(" 's", "'s")
    if " - " in value:
        yield value.replace(" - ", "-")
    if "center" in value:
        yield value.replace("center", "centre")
    elif "centre" in value:
        yield value.replace("centre", "center")
    yield f"the {value}"


class RuleTracker:
    """What the user has said in one dialogue: domain → slot → value, "" where nothing was.

    `semi` describes what is looked for, `book` the booking.

    (odd) "same area as the hotel" is a value like any other, and no record has it.
    """

    def __init__(self, spellings: ValueSpellings) -> None:
        self._normalized = spellings.normalized
        self.semi = {domain: dict.fromkeys(slots, "") for domain, slots in SEMI_SLOTS.items()}
        self.book = {domain: dict.fromkeys(slots, "") for domain, slots in BOOKING_SLOTS.items()}

    def update(self, user_acts: Iterable[Act]) -> None:
        """Take in what the user informs of; other intents and domains change nothing."""
        for intent, raw_domain, raw_slot, value in user_acts:
            domain = raw_domain.lower()
            if intent.lower() != "inform" or domain not in self.semi:
                continue
            said = raw_slot.lower()
            # The table is that of the system's acts, which lacks the slots of most bookings.
            slot = SYSTEM_SLOTS[domain].get(said, said)
            if slot in self.semi[domain]:
                self.semi[domain][slot] = self._normalized(domain, slot, value)
            elif slot in self.book.get(domain, ()):
                self.book[domain][slot] = value
