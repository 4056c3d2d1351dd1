"""The venue database, in memory: which venues satisfy a state?

As in the MultiWOZ database an answer is a conjunction of bit sets, one per constraint; bit i stands
for the i-th venue of the file. Distinct texts and numbers are indexed once, a constraint is looked
up there and remembered. Nothing leaks from one query into the next.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from mwzeval.crosswoz.constraints import PRICE_SLOTS, price_bounds, rating_bounds
from mwzeval.crosswoz.names import (
    CAR_PLATE,
    CAR_TYPE,
    DEPARTURE,
    DESTINATION,
    DISHES,
    METRO,
    NAME,
    NEARBY,
    RATING,
    SERVICES,
    STATE_SLOTS,
    TAXI,
    VENUE_DOMAINS,
)

Record = Mapping[str, Any]
REMEMBERED = 2**14
"""Answers kept before the oldest is forgotten: bounds memory on hostile input."""
SEVERAL_ITEMS = frozenset({DISHES, SERVICES})
"""Slots whose value asks for several items, with blanks between."""
ITEM_LISTS = frozenset({DISHES, SERVICES, *NEARBY.values()})
DEPARTURE_MARK, DESTINATION_MARK = "(起点)", "(终点)"
TAXI_RECORD = {CAR_TYPE: "#CX", CAR_PLATE: "#CP"}
"""What every taxi is: placeholders, which gold system acts hold as well."""


class Entity(NamedTuple):
    """A venue, a metro stop of a trip or a taxi: its name and what the database has of it."""

    name: str
    record: Record


class _Texts:
    """An index of texts: which rows have a text that contains a piece?"""

    def __init__(self, texts_of_rows: Iterable[Iterable[str]]) -> None:
        self._rows_of: dict[str, int] = {}
        for index, texts in enumerate(texts_of_rows):
            for text in texts:
                self._rows_of[text] = self._rows_of.get(text, 0) | 1 << index

    def containing(self, piece: str) -> int:
        rows = 0
        for text, of_text in self._rows_of.items():
            if piece in text:
                rows |= of_text
        return rows


class _Numbers:
    """An index of numbers: which rows have one within bounds? A row without number never has."""

    def __init__(self, numbers: Iterable[float | None]) -> None:
        rows_of: dict[float, int] = {}
        for index, number in enumerate(numbers):
            if number is not None:
                rows_of[number] = rows_of.get(number, 0) | 1 << index
        self._numbers = sorted(rows_of)
        self._rows = [rows_of[number] for number in self._numbers]

    def within(self, low: float, high: float) -> int:
        rows = 0
        for of_number in self._rows[
            bisect_left(self._numbers, low) : bisect_right(self._numbers, high)
        ]:
            rows |= of_number
        return rows


class _Venues:
    """The venues of one domain."""

    def __init__(self, domain: str, entities: Sequence[Entity]) -> None:
        self.entities = tuple(entities)
        self._everything = (1 << len(entities)) - 1
        self._numbers = {
            slot: _Numbers(entity.record.get(slot) for entity in entities)
            for slot in STATE_SLOTS[domain]
            if slot == RATING or slot in PRICE_SLOTS
        }
        self._texts = {
            slot: _Texts(_texts(slot, entity) for entity in entities)
            for slot in STATE_SLOTS[domain]
            if slot not in self._numbers
        }
        self._satisfying = lru_cache(REMEMBERED)(self._look_up)

    def find(self, constraints: Mapping[str, str]) -> tuple[Entity, ...]:
        rows = self._everything
        if name := constraints.get(NAME):
            rows = self._satisfying(NAME, name)
        else:
            for slot, value in constraints.items():
                if value and (slot in self._texts or slot in self._numbers):
                    rows &= self._satisfying(slot, value)
        if rows == self._everything:
            return self.entities
        found = []
        while rows:
            lowest = rows & -rows
            found.append(self.entities[lowest.bit_length() - 1])
            rows ^= lowest
        return tuple(found)

    def _look_up(self, slot: str, value: str) -> int:
        if slot in self._numbers:
            bounds = rating_bounds(value) if slot == RATING else price_bounds(slot, value)
            return self._everything if bounds is None else self._numbers[slot].within(*bounds)
        if slot not in SEVERAL_ITEMS:
            return self._texts[slot].containing(value)
        rows = self._everything
        for item in value.split():
            rows &= self._texts[slot].containing(item)
        return rows


def _texts(slot: str, entity: Entity) -> Iterable[str]:
    value = entity.name if slot == NAME else entity.record.get(slot)
    if value is None:
        return ()
    # Two "services" of a hotel of the release are nothing but blanks.
    return [item for item in value if item.strip()] if slot in ITEM_LISTS else [str(value)]


class Database:
    """All venues and metro stations; answers queries in the order of the files.

    `tables` are the files' lists of [name, record] by domain; taxis need none.
    """

    def __init__(self, tables: Mapping[str, Sequence[Sequence[Any]]]) -> None:
        entities = {
            domain: [Entity(name, record) for name, record in rows]
            for domain, rows in tables.items()
        }
        self._venues = {domain: _Venues(domain, entities[domain]) for domain in VENUE_DOMAINS}
        self._by_name = {
            domain: {entity.name: entity for entity in entities[domain]} for domain in VENUE_DOMAINS
        }
        self._stations = entities[METRO]
        self._stop = lru_cache(REMEMBERED)(self._first_stop)
        self._answer = lru_cache(REMEMBERED)(self._query)

    def query(self, domain: str | None, constraints: Mapping[str, str]) -> tuple[Entity, ...]:
        """Return what satisfies all constraints of a domain, in the order of the files.

        Without a domain there is nothing. An empty value does not constrain; a name overrides all
        other constraints and matches every venue whose name contains it. A metro or taxi trip
        needs both ends.
        """
        if domain is None:
            return ()
        return self._answer(domain, *constraints.items())

    def entities(self, domain: str) -> tuple[Entity, ...]:
        """Return all venues of a domain."""
        return self._venues[domain].entities

    def named(self, domain: str, name: str) -> Entity | None:
        """Return the venue of exactly this name, None when the database has none."""
        return self._by_name.get(domain, {}).get(name)

    def _query(self, domain: str, *constraints: tuple[str, str]) -> tuple[Entity, ...]:
        asked = dict(constraints)
        if domain in self._venues:
            return self._venues[domain].find(asked)
        departure, destination = asked.get(DEPARTURE), asked.get(DESTINATION)
        if not departure or not destination:
            return ()
        if domain == TAXI:
            return (Entity(f"出租 ({departure} - {destination})", TAXI_RECORD),)
        stops = (
            self._stop(DEPARTURE_MARK, departure),
            self._stop(DESTINATION_MARK, destination),
        )
        return tuple(stop for stop in stops if stop is not None)

    def _first_stop(self, mark: str, place: str) -> Entity | None:
        for name, record in self._stations:
            if place in name:
                return Entity(f"{mark} {name}", record)
        return None

    def __getstate__(self) -> dict[str, Any]:
        tables = {domain: of.entities for domain, of in self._venues.items()}
        return {"tables": {**tables, METRO: self._stations}}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # What is remembered is not sent to other processes.
        self.__init__(state["tables"])  # type: ignore[misc]
