"""The venue database in memory, which finds the venues that satisfy a state.

As in the public CrossWOZ code, a value of a state matches as a part of a text, as a range of prices
or as a lower bound of a rating.

The answer to a query is the intersection of bit sets, one for each constraint, in which bit i
stands for the i-th venue of the file. Distinct texts and numbers are indexed once, and the bit sets
of constraints are cached. Queries do not affect each other.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, compress
from typing import Any, NamedTuple

from mwzeval.crosswoz.corpus.names import (
    CAR_PLATE,
    CAR_TYPE,
    DEPARTURE,
    DEPARTURE_STATION,
    DESTINATION,
    DESTINATION_STATION,
    FREE,
    LIST_SLOTS,
    METRO,
    NAME,
    NOT_FREE,
    NUMBER_SLOTS,
    RATING,
    SEVERAL_ITEMS,
    STATE_SLOTS,
    STATION,
    TAXI,
    TICKET,
    VENUE_DOMAINS,
)

Record = Mapping[str, Any]
BETWEEN_TEXTS = "\0"
REMEMBERED = 2**14
"""The maximum number of cached answers, which limits the memory for malicious input."""
DEPARTURE_MARK, DESTINATION_MARK = "(起点)", "(终点)"
STATION_OF_END = {DEPARTURE_STATION: DEPARTURE, DESTINATION_STATION: DESTINATION}
"""A mapping from each slot that contains a station to the slot with the end of the trip near this
station."""
TAXI_RECORD = {CAR_TYPE: "#CX", CAR_PLATE: "#CP"}
"""The record of every taxi: placeholders, which also occur in gold system acts."""

AT_LEAST, AT_MOST = "以上", "以下"


class Bounds(NamedTuple):
    """The numbers from `low` to `high`, both included."""

    low: float
    high: float


EVERYTHING = float("inf")


def price_bounds(slot: str, value: str) -> Bounds | None:
    """Return the bounds of a ticket, cost or price; None if the value has no bounds.

    A single number is an exact price. If there are blanks around the hyphen of a range, only the
    first number counts: `100 - 150元` means exactly 100.
    """
    if slot == TICKET and value in (FREE, NOT_FREE):
        return Bounds(0, 0) if value == FREE else Bounds(1, EVERYTHING)
    if match := re.match(r"([0-9]+)-([0-9]+)", value):
        return Bounds(float(match[1]), float(match[2]))
    if match := re.match(r"[0-9]+", value):
        number = float(match[0])
        if AT_LEAST in value:
            return Bounds(number, EVERYTHING)
        return Bounds(-EVERYTHING if AT_MOST in value else number, number)
    return None


def rating_bounds(value: str) -> Bounds | None:
    """Return the bounds of a rating; the lower bound is the number at the beginning of the value.

    `4.5分`, `4.5分以上` and `4.50` all mean at least 4.5. Return None if the value does not contain
    a number.
    """
    match = re.match(r"[0-9]\.[0-9]|[0-9]", value)
    return Bounds(float(match[0]), EVERYTHING) if match else None


_AS_TRUTH = bytes.maketrans(b"01", b"\0\1")


class Entity(NamedTuple):
    """A venue, a metro stop of a trip or a taxi: its name and its database record."""

    name: str
    record: Record


class _Texts:
    """An index of texts that finds the rows whose text contains a given part.

    All distinct texts are concatenated, so that one search covers thousands of texts.
    """

    def __init__(self, texts_of_rows: Iterable[Iterable[str]]) -> None:
        rows_of: dict[str, int] = {}
        for index, texts in enumerate(texts_of_rows):
            for text in texts:
                rows_of[text] = rows_of.get(text, 0) | 1 << index
        self._texts = tuple(rows_of)
        self._rows = tuple(rows_of.values())
        self._joined = BETWEEN_TEXTS.join(self._texts)
        lengths = (len(text) + len(BETWEEN_TEXTS) for text in self._texts)
        # The position after each text, where the next one begins.
        self._ends = tuple(accumulate(lengths))

    def containing(self, piece: str) -> int:
        rows = 0
        for index in self._indices(piece):
            rows |= self._rows[index]
        return rows

    def first_containing(self, piece: str) -> str | None:
        return next((self._texts[index] for index in self._indices(piece)), None)

    def _indices(self, piece: str) -> Iterator[int]:
        if BETWEEN_TEXTS in piece or not piece:
            # Such a part could match across the boundary between two texts.
            yield from (i for i, text in enumerate(self._texts) if piece in text)
            return
        place = self._joined.find(piece)
        while place >= 0:
            index = bisect_right(self._ends, place)
            yield index
            place = self._joined.find(piece, self._ends[index])


class _Numbers:
    """An index of numbers that finds rows within bounds; rows without a number never match."""

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
            if slot in NUMBER_SLOTS
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
        # The binary digits of the number, lowest first, select the entities.
        digits = f"{rows:b}"[::-1].encode().translate(_AS_TRUTH)
        return tuple(compress(self.entities, digits))

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
    # Two "services" of a hotel of the release are only blanks.
    is_list = slot in LIST_SLOTS or slot in SEVERAL_ITEMS
    return [item for item in value if item.strip()] if is_list else [str(value)]


class Database:
    """All venues and metro stations; answers queries in the order of the files.

    `tables` maps each domain except taxi to the list of [name, record] pairs in its database file.
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
        self._station_of = dict(reversed(self._stations))  # of equal names, the first counts
        self._places = _Texts([name] for name, _ in self._stations)
        self._stop = lru_cache(REMEMBERED)(self._first_stop)
        self._answer = lru_cache(REMEMBERED)(self._query)

    def query(self, domain: str | None, constraints: Mapping[str, str]) -> tuple[Entity, ...]:
        """Return the entities of a domain that satisfy all constraints, in file order.

        Return an empty result if no domain is given. An empty value is not a constraint. A name
        overrides all other constraints and matches every venue whose name contains it. A metro or
        taxi trip requires a departure and a destination.
        """
        if domain is None:
            return ()
        return self._answer(domain, *constraints.items())

    def entities(self, domain: str) -> tuple[Entity, ...]:
        """Return all venues of a domain."""
        return self._venues[domain].entities

    def named(self, domain: str, name: str) -> Entity | None:
        """Return the venue with exactly this name, None if there is none."""
        return self._by_name.get(domain, {}).get(name)

    def trip_facts(self, domain: str, ends: Mapping[str, str]) -> dict[str, Any]:
        """Return the facts about a metro or taxi trip that can be requested, by slot.

        A station is None if it is not in the database, or if an end of the trip has no name.
        """
        if domain == TAXI:
            return dict(TAXI_RECORD)
        facts: dict[str, Any] = {}
        for slot, end in STATION_OF_END.items():
            stop = self._stop(DEPARTURE_MARK, ends[end]) if ends.get(end) else None
            facts[slot] = None if stop is None else stop.record.get(STATION)
        return facts

    def _query(self, domain: str, *constraints: tuple[str, str]) -> tuple[Entity, ...]:
        values = dict(constraints)
        if domain in self._venues:
            return self._venues[domain].find(values)
        departure, destination = values.get(DEPARTURE), values.get(DESTINATION)
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
        name = self._places.first_containing(place)
        return None if name is None else Entity(f"{mark} {name}", self._station_of[name])

    def __getstate__(self) -> dict[str, Any]:
        tables = {domain: venues.entities for domain, venues in self._venues.items()}
        return {"tables": {**tables, METRO: self._stations}}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # The cache is not sent to other processes.
        self.__init__(state["tables"])  # type: ignore[misc]
