"""The final bookings of a dialogue, compared with the bookings of its goal.

MultiWOZ does not record which rooms and tables are available, so every booking of a goal is
possible. Definitions and examples are in `docs/metrics.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rapidfuzz.fuzz import ratio

from mwzeval.multiwoz import Rules
from mwzeval.multiwoz.annotations import Goal
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.normalization import State, normalize_slot, normalize_value
from mwzeval.multiwoz.predictions import Booking, Turn
from mwzeval.multiwoz.schema import BOOKED_BY, BOOKING_SLOTS, NO_CONSTRAINT

SPELLINGS = {"train_id": "trainid", "id": "trainid", "train": "trainid"}


@dataclass(frozen=True, slots=True)
class Booked:
    """A booking: the venues to which it may refer, and its slots with normalized values.

    `venue` is the name of the venue in the booking, or None if there is no name.
    """

    venue: str | None
    venues: tuple[str, ...]
    slots: Mapping[str, str]


class Miss(NamedTuple):
    """A booking slot whose value differs from the goal. `value` is None if the slot is missing."""

    slot: str
    value: str | None
    accepted: tuple[str, ...]


def bookable(goal: Mapping[str, Goal]) -> tuple[str, ...]:
    """Return the domains in which a goal books a venue."""
    return tuple(domain for domain in goal if domain in BOOKED_BY and goal[domain].booking)


def has_bookings(turns: Iterable[Turn]) -> bool:
    """Return whether a dialogue has a list of bookings, which may be empty."""
    return any(turn.bookings is not None for turn in turns)


def booked_by_call(booking: Booking, database: Database) -> Booked:
    """Return a booking with the venues that it may refer to. A taxi has no venue."""
    domain = booking.domain
    slots = {SPELLINGS.get(name := _slot(raw), name): v for raw, v in booking.slots.items()}
    venue = slots.get(BOOKED_BY[domain]) if domain in BOOKED_BY else None
    venues: tuple[str, ...] = ()
    if venue is not None and domain == "train":
        venues = (venue.strip().upper(),)
    elif venue is not None:
        venues = venues_called(domain, venue, database)
    return Booked(venue, venues, _booking_slots(domain, booking.slots, database.rules))


def last_bookings(bookings: Iterable[Booking], database: Database) -> dict[str, Booked]:
    """Return the last successful booking of each domain."""
    last = {booking.domain: booking for booking in bookings if booking.domain in BOOKED_BY}
    return {domain: booked_by_call(booking, database) for domain, booking in last.items()}


def booked_in_state(state: State, database: Database) -> dict[str, Booked]:
    """Return the bookings of a dialogue from its final (normalized) state.

    A domain counts as booked if the final state has any booking slot of the domain. The booked
    venue is the venue that the state names. If the state names no venue, any venue that satisfies
    the state is accepted, as for Inform.
    """
    booked = {}
    for domain in BOOKED_BY:
        slots = state.get(domain, {})
        booking = _booking_slots(domain, slots, database.rules)
        if booking:
            name = slots.get("name", "")
            if domain == "train" or not name or name in NO_CONSTRAINT:
                booked[domain] = Booked(None, database.find(domain, slots), booking)
            else:
                booked[domain] = Booked(name, venues_called(domain, name, database), booking)
    return booked


def booking_errors(
    domain: str, goal: Goal, satisfying: frozenset[str], booked: Booked, rules: Rules
) -> list[Miss]:
    """Return the slots of a domain's booking that differ from the goal.

    `satisfying` are the venues that fit the goal.
    """
    misses = []
    if not (booked.venues and satisfying.issuperset(booked.venues)):
        misses.append(Miss(BOOKED_BY[domain], booked.venue, ()))
    accepted = {
        slot: tuple(_value(slot, value, rules) for value in values)
        for raw_slot, values in goal.booking.items()
        if (slot := _slot(raw_slot)) in BOOKING_SLOTS[domain]
    }
    misses += [
        Miss(slot, booked.slots.get(slot), values)
        for slot, values in accepted.items()
        if booked.slots.get(slot) not in values
    ]
    return misses


def venues_called(domain: str, name: str, database: Database) -> tuple[str, ...]:
    """Return the venues with a name, or else the queried venues with the most similar names.

    Names that share all their words with the given name are preferred ("meze bar restaurant" is the
    Meze Bar). Among the preferred names (or all names if none is preferred), the names with the
    highest similarity ratio are selected.
    """
    facts = database.facts
    exactly = facts.called(domain, name)
    if exactly:
        return exactly
    asked = frozenset(name.lower().split())
    nearly = {
        venue: facts.name(domain, venue).lower() for venue in database.find(domain, {"name": name})
    }
    subsumed = {
        venue: called
        for venue, called in nearly.items()
        if asked <= (words := frozenset(called.split())) or words <= asked
    }
    ratios = {venue: ratio(name.lower(), called) for venue, called in (subsumed or nearly).items()}
    return tuple(venue for venue in ratios if ratios[venue] == max(ratios.values()))


def _booking_slots(domain: str, slots: Mapping[str, str], rules: Rules) -> dict[str, str]:
    """Return the booking slots among `slots`; names with `book` take precedence."""
    found = {
        _slot(raw): value
        for raw, value in sorted(
            slots.items(), key=lambda slot: normalize_slot(slot[0]).startswith("book")
        )
        if _slot(raw) in BOOKING_SLOTS.get(domain, ())
    }
    return {slot: _value(slot, value, rules) for slot, value in found.items()}


def _slot(raw: str) -> str:
    return normalize_slot(raw).removeprefix("book")


def _value(slot: str, value: str, rules: Rules) -> str:
    return normalize_value(slot, value, rules).strip().lower()
