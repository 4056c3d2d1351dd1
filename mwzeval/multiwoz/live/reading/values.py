"""The values that an agent's words give, one record each: of which domain, in which slot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mwzeval.multiwoz.convlab.resources import ADDED_FIELDS
from mwzeval.multiwoz.schema import DAYS, SERVICES
from mwzeval.multiwoz.words.delexicalize import Context, Delexicalizer, with_numbers_of_taxis
from mwzeval.multiwoz.words.numbers import SPELLED, clock, number
from mwzeval.multiwoz.words.text import LANDMARK, Mention, fold, lowered

_VENUE = {
    "name": "Name",
    "address": "Addr",
    "phone": "Phone",
    "postcode": "Post",
    "area": "Area",
    "pricerange": "Price",
    "choice": "Choice",
}
_SERVICE = {"address": "Addr", "phone": "Phone", "postcode": "Post"}
_JOURNEY = {
    "departure": "Depart",
    "destination": "Dest",
    "leaveat": "Leave",
    "arriveby": "Arrive",
}
ACT_SLOTS: Mapping[str, Mapping[str, str]] = {
    "restaurant": {**_VENUE, "food": "Food"},
    "hotel": {
        **_VENUE,
        "stars": "Stars",
        "type": "Type",
        "internet": "Internet",
        "parking": "Parking",
    },
    "attraction": {**_VENUE, "type": "Type", "entrancefee": "Fee"},
    "train": {
        **_JOURNEY,
        "trainid": "Id",
        "day": "Day",
        "price": "Ticket",
        "duration": "Time",
        "choice": "Choice",
    },
    "taxi": {**_JOURNEY, "type": "Car", "phone": "Phone"},
    "hospital": {**_SERVICE, "department": "Department"},
    "police": _SERVICE,
}
"""Domain → slot of a mention → slot of an act."""
BOOKED_SLOTS: Mapping[str, str] = {
    "day": "Day",
    "bookday": "Day",
    "bookpeople": "People",
    "bookstay": "Stay",
    "booktime": "Time",
    "leaveat": "Time",
    "arriveby": "Time",
}
"""Slot of a mention → slot of a booking. The time of a table may be read as that of a train."""
POUNDS = "pounds"


class Value(NamedTuple):
    """A value in a text: `start` and `end` are its place in the text as it is shown."""

    start: int
    end: int
    domain: str | None
    slot: str
    value: str
    mention: Mention | None = None


def said_values(
    response: str, mentions: Sequence[Mention], of_taxi: bool
) -> Iterator[tuple[Mention, str]]:
    """Yield the mentions that give a value, each with it in the spelling of acts.

    With `of_taxi`, a number that no venue has is a taxi's.
    """
    for mention in with_numbers_of_taxis(mentions, response) if of_taxi else mentions:
        if mention.slot != LANDMARK:
            yield mention, _spelled(mention)


def _spelled(mention: Mention) -> str:
    slot, text = mention.slot, lowered(mention.text)
    if slot in ("day", "bookday"):
        return next((day for day in DAYS if day[:3] == text[:3]), text)
    if slot in ("bookpeople", "bookstay", "choice"):
        return number(text)
    if slot == "booktime":
        return clock(text)
    if slot == "address":
        # What is said may be less than the database has, or of several venues.
        return " ".join(mention.text.split())
    if mention.value is not None:
        value = mention.value
    else:
        value = SPELLED[slot](text) if slot in SPELLED else text
    if slot == "price" and value[-1:].isdigit():
        return f"{value} {POUNDS}"
    return value


class Services:
    """The police and the hospital, which the mention finder does not know."""

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self._values: dict[str, list[tuple[tuple[str, ...], str, str]]] = {}
        for domain in SERVICES:
            known = {
                (slot, str(row[slot]))
                for row in (*tables.get(domain, ()), ADDED_FIELDS[domain])
                for slot in ("address", "department")
                if row.get(slot)
            }
            self._values[domain] = [
                (_street(value) if slot == "address" else fold(value), slot, value)
                for slot, value in sorted(known)
            ]

    def values_in(self, domain: str, text: str) -> Iterator[tuple[str, str]]:
        """Yield slot and value of what a text says of a service."""
        words = f" {' '.join(fold(text))} "
        found = [
            (slot, value, " ".join(said))
            for said, slot, value in self._values.get(domain, ())
            if said and f" {' '.join(said)} " in words
        ]
        for slot, value, said in found:
            if not any(said != longer and said in longer for _, _, longer in found):
                yield slot, value


def _street(address: str) -> tuple[str, ...]:
    """Return the words of an address up to the town, which people leave out."""
    return fold(address.split(",")[0])


class WordLikeNames:
    """Names that are words (`the place`), which the mention finder needs capitals to tell.

    They are taken for names behind words of an offer.
    """

    def __init__(
        self, tables: Mapping[str, Sequence[Mapping[str, Any]]], finder: Delexicalizer
    ) -> None:
        self._domains: dict[str, str] = {}
        for domain in ("attraction", "hotel", "restaurant"):
            for row in tables.get(domain, ()):
                name = str(row["name"]).lower()
                context = Context(finder.gazetteer)
                context.turn({}, (domain,))
                found = finder.read(f"I would recommend {name}.", context)
                if not any(mention.slot == "name" for mention in found):
                    self._domains[name] = domain
        names = "|".join(map(re.escape, sorted(self._domains, key=len, reverse=True)))
        self._offered = re.compile(
            r"\b(?:recommend|suggest(?:ion is)?|how about|try|have|visit|called|named|there is)"
            rf" ({names})"
            r"(?=\s*(?:[.,;!?]|$|which))",
            re.IGNORECASE,
        )

    def added(self, text: str, mentions: Sequence[Mention]) -> list[Mention]:
        """Return the mentions of a text with those of such names, in the order of the text."""
        if not self._domains:
            return list(mentions)
        names = [
            Mention(*match.span(1), match[1], "name", self._domains[match[1].lower()], match[1])
            for match in self._offered.finditer(text)
            if not any(one.start < match.end(1) and match.start(1) < one.end for one in mentions)
        ]
        return sorted([*mentions, *names], key=lambda mention: mention.start)
