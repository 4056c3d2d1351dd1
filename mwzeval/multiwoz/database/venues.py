"""The venue database, in memory: which venues satisfy some constraints?

An answer is a conjunction of bit sets, one per constraint, each ready or remembered; no query
looks at rows. Bit i of a set stands for row i of the domain's table.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.fuzzy import FuzzyIndex
from mwzeval.multiwoz.normalization.normalize import normalize_slot, normalize_value

Row = Mapping[str, Any]

DOMAINS = ("restaurant", "attraction", "hotel", "train")
FUZZY_THRESHOLD = 90
UNKNOWN = "?"
"""A row value that satisfies any constraint."""
NO_CONSTRAINT = frozenset(
    {"dontcare", "not mentioned", "don't care", "dont care", "do n't care", "do not care"}
)
IGNORED_COLUMNS = {
    "attraction": {"location", "openhours"},
    "hotel": {"location", "price", "takesbookings"},
    "restaurant": {"location", "introduction", "signature"},
    "train": set[str](),
}
FUZZY_COLUMNS = {
    "hotel": {"name"},
    "attraction": {"name"},
    "restaurant": {"name", "food"},
    "train": {"departure", "destination"},
}
REMEMBERED = 2**14
"""Answers kept before they are forgotten: bounds memory on hostile input."""


class Column(ABC):
    """One column of a domain's table: which rows does a constraint on it leave?"""

    def __init__(self, values: Sequence[str]) -> None:
        self._unknown = 0
        self._rows_of: dict[str, int] = {}
        for index, value in enumerate(values):
            if value == UNKNOWN:
                self._unknown |= 1 << index
            else:
                self._rows_of[value] = self._rows_of.get(value, 0) | 1 << index

    @abstractmethod
    def satisfying(self, asked: str) -> int:
        """Return the bit set of rows that satisfy the (normalised) value asked for."""


class ExactColumn(Column):
    """Rows match that hold the very value."""

    def satisfying(self, asked: str) -> int:
        """Return the rows with this value, and those whose value is unknown."""
        return self._rows_of.get(asked, 0) | self._unknown


class FuzzyColumn(Column):
    """Rows match whose value is nearly the one asked for (each distinct value tried once)."""

    def __init__(self, values: Sequence[str]) -> None:
        super().__init__(values)
        self._index = FuzzyIndex(list(self._rows_of))
        self._remembered: dict[str, int] = {}

    def satisfying(self, asked: str) -> int:
        """Return the rows whose `partial_ratio` to the value reaches the threshold."""
        rows = self._remembered.get(asked)
        if rows is None:
            rows = self._unknown
            for value in self._index.reaching(asked, FUZZY_THRESHOLD):
                rows |= self._rows_of[value]
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[asked] = rows
        return rows


class TimeColumn(Column):
    """Rows match that are no later (`arrive`) or no earlier (`leave`) than the time asked for."""

    def __init__(self, values: Sequence[str], *, latest: bool) -> None:
        super().__init__(values)
        self._latest = latest
        rows_at: dict[int, int] = {}
        for value, rows in self._rows_of.items():
            minute = minutes(value)
            rows_at[minute] = rows_at.get(minute, 0) | rows
        self._minutes = sorted(rows_at)
        ordered = [rows_at[minute] for minute in self._minutes]
        # Entry i holds the rows of the first i minutes …
        self._rows_up_to = _running_union(ordered)
        # … and the rows of all minutes from the i-th on.
        self._rows_from = _running_union(ordered[::-1])[::-1]

    def satisfying(self, asked: str) -> int:
        """Return the rows on the right side of the time, and those whose time is unknown."""
        if self._latest:
            rows = self._rows_up_to[bisect_right(self._minutes, minutes(asked))]
        else:
            rows = self._rows_from[bisect_left(self._minutes, minutes(asked))]
        return rows | self._unknown


def _running_union(sets: list[int]) -> list[int]:
    unions = [0]
    for rows in sets:
        unions.append(unions[-1] | rows)
    return unions


def minutes(time: str) -> int:
    """Return minutes since midnight; 0 for a text that does not begin with `HH:MM`."""
    match = re.match(r"([0-9]{2}):([0-9]{2})", time)
    return int(match[1]) * 60 + int(match[2]) if match else 0


class Venues:
    """One domain's table."""

    def __init__(self, domain: str, rows: Sequence[Row]) -> None:
        self._ids = np.array([str(row[id_column(domain)]) for row in rows], dtype=object)
        self._all = (1 << len(rows)) - 1
        first = rows[0] if rows else {}
        self._columns: dict[str, Column] = {}
        for raw_name in first:
            name = normalize_slot(raw_name)
            if name in IGNORED_COLUMNS[domain]:
                continue
            # (odd) Row values stay as they are: the alias "the junction" → "junction theatre"
            # therefore hides the venue "the junction".
            values = [str(row.get(raw_name, UNKNOWN)) for row in rows]
            self._columns[name] = _column(domain, name, values)

    def satisfying(self, constraints: Mapping[str, str]) -> int:
        """Return the bit set of rows that satisfy all (normalised) constraints."""
        rows = self._all
        for slot, value in constraints.items():
            column = self._columns.get(slot)
            if column is not None and value not in NO_CONSTRAINT:
                rows &= column.satisfying(value)
        return rows

    def ids(self, rows: int) -> tuple[str, ...]:
        """Return the ids of a bit set of rows, in table order."""
        packed = np.frombuffer(rows.to_bytes(len(self._ids) // 8 + 1, "little"), dtype=np.uint8)
        chosen = np.unpackbits(packed, count=len(self._ids), bitorder="little").view(np.bool_)
        return tuple(self._ids[chosen].tolist())


def id_column(domain: str) -> str:
    """Return the key of a row's id in the files of the database."""
    return "trainID" if domain == "train" else "id"


def _column(domain: str, name: str, values: Sequence[str]) -> Column:
    if name in ("arrive", "leave"):
        return TimeColumn(values, latest=name == "arrive")
    if name in FUZZY_COLUMNS[domain]:
        return FuzzyColumn(values)
    return ExactColumn(values)


class Database:
    """All venues; answers queries in the normalised spelling of one rule set."""

    def __init__(self, tables: Mapping[str, Sequence[Row]], rules: Rules) -> None:
        self.rules = rules
        self._venues = {domain: Venues(domain, tables[domain]) for domain in DOMAINS}
        self._answers: dict[tuple[object, ...], tuple[str, ...]] = {}

    def query(self, domain: str, constraints: Mapping[str, str]) -> list[str]:
        """Return the ids of the venues that satisfy all constraints, in table order.

        Slots that are no column of the domain's table, and values that mean "anything", constrain
        nothing; a domain without a table has no venues.
        """
        return list(self.find(domain, constraints))

    def find(self, domain: str, constraints: Mapping[str, str]) -> tuple[str, ...]:
        """Return the same as a tuple, which is remembered."""
        key = (domain, *constraints.items())
        ids = self._answers.get(key)
        if ids is None:
            ids = self._look_up(domain, constraints)
            if len(self._answers) >= REMEMBERED:
                self._answers.clear()
            self._answers[key] = ids
        return ids

    def _look_up(self, domain: str, constraints: Mapping[str, str]) -> tuple[str, ...]:
        venues = self._venues.get(domain)
        if venues is None:
            return ()
        normal = {}
        for raw_slot, value in constraints.items():
            slot = normalize_slot(raw_slot)
            anything = value in NO_CONSTRAINT
            normal[slot] = value if anything else normalize_value(slot, value, self.rules)
        return venues.ids(venues.satisfying(normal))
