"""The database of ConvLab-2's rule policy and evaluator, in memory: which records fit?

Its rules are not those of `mwzeval.multiwoz.database.venues`: values are compared as they are
written, nothing is normalised, and the reference of a booking is the number of the venue's record.
Bit i of a set stands for record i of the domain's table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from mwzeval.multiwoz.database.venues import partial_ratio
from mwzeval.multiwoz.schema import UNKNOWN

Record = Mapping[str, Any]
Constraints = Iterable[tuple[str, str]]
"""Slots and values, such as `("area", "north")`."""

REFERENCE = "Ref"
"""The field of a found record that holds its number in the table, in eight digits."""
SOFT_THRESHOLD = 60
ANYTHING = frozenset({"", "dont care", "not mentioned", "don't care", "dontcare", "do n't care"})
"""Wanted values that every record has."""
REMEMBERED = 2**12
"""Answers kept before the oldest are forgotten: bounds memory on hostile input."""

ADDED_FIELDS: Mapping[str, Mapping[str, str]] = {
    "police": {"postcode": "cb11jg"},
    "hospital": {"address": "hills rd , cambridge", "postcode": "cb20qq"},
}
"""What goals ask for although the records of the corpus lack it."""

_ALWAYS_FOUND = frozenset({"police", "taxi"})
"""Domains whose records fit any constraints."""


class ActDatabase:
    """All records of all domains; answers queries and remembers the answers.

    `tables` are the contents of the corpus' files `<domain>_db.json`, by domain. The one for taxis
    is not needed: there is always one taxi.
    """

    def __init__(self, tables: Mapping[str, Sequence[Record]]) -> None:
        self._tables = {
            domain: tuple(_record(domain, number, fields) for number, fields in enumerate(records))
            for domain, records in {**tables, "taxi": [{}]}.items()
        }
        self._column = lru_cache(maxsize=REMEMBERED)(self._group)
        self._fitting = lru_cache(maxsize=REMEMBERED)(self._fit)
        self._found = lru_cache(maxsize=REMEMBERED)(self._find)

    def records(self, domain: str) -> tuple[Record, ...]:
        """Return all records of a domain, each with its number as `Ref`; () without a table."""
        return self._tables.get(domain, ())

    def has(self, domain: str, slot: str, value: str) -> bool:
        """Return whether any record of a domain has a text, in lower case, in a field."""
        if domain not in self._tables:
            return False
        return any(text and text.lower() == value for text in self._column(domain, slot))

    def query(
        self, domain: str, constraints: Constraints, soft: Constraints = ()
    ) -> tuple[Record, ...]:
        """Return the records that satisfy all constraints, in the order of the table.

        Each has its number as `Ref`. A soft constraint differs in that a text needs only resemble
        the one asked for. A slot that a record lacks constrains nothing, nor does a comparison
        that cannot be made. A domain without a table has no records.
        """
        return self._found(domain, tuple(constraints), tuple(soft))

    def _find(
        self,
        domain: str,
        constraints: tuple[tuple[str, str], ...],
        soft: tuple[tuple[str, str], ...],
    ) -> tuple[Record, ...]:
        table = self.records(domain)
        if domain in _ALWAYS_FOUND:
            return table
        if domain == "hospital":
            # (odd) Nothing but the department counts, and there is none that means any.
            departments = {value.lower() for slot, value in constraints if slot == "department"}
            return tuple(row for row in table if departments <= {row["department"].lower()})
        rows = (1 << len(table)) - 1
        for slot, wanted in constraints:
            rows &= self._fitting(domain, slot, wanted)
        left = [table[number] for number in _numbers(rows)]
        # Of these only: few pairs of texts are compared.
        for slot, wanted in soft:
            left = [record for record in left if _fits(record.get(slot), slot, wanted, _alike)]
        return tuple(left)

    def _fit(self, domain: str, slot: str, wanted: str) -> int:
        """Return the set of records that satisfy a constraint."""
        rows = 0
        for value, holders in self._column(domain, slot).items():
            if _fits(value, slot, wanted, str.__eq__):
                rows |= holders
        return rows

    def _group(self, domain: str, slot: str) -> Mapping[str | None, int]:
        """Return the records by what they have in a field; those without a text by None."""
        holders: dict[str | None, int] = {}
        for number, record in enumerate(self._tables[domain]):
            value = record.get(slot)
            key = value if isinstance(value, str) else None
            holders[key] = holders.get(key, 0) | 1 << number
        return holders


def _numbers(rows: int) -> Iterator[int]:
    while rows:
        lowest = rows & -rows
        yield lowest.bit_length() - 1
        rows ^= lowest


def _record(domain: str, number: int, fields: Record) -> Record:
    added = {
        field: value for field, value in ADDED_FIELDS.get(domain, {}).items() if field not in fields
    }
    return {**fields, **added, REFERENCE: f"{number:08d}"}


def _fits(value: object, slot: str, wanted: str, equal: Callable[[str, str], bool]) -> bool:
    # (odd) A price that is no text fits anything, as does a field that is not there.
    if wanted in ANYTHING or not isinstance(value, str):
        return True
    if slot in ("leaveAt", "arriveBy"):
        try:
            time, limit = clock_number(value), clock_number(wanted)
        except (ValueError, IndexError):
            return True
        return time >= limit if slot == "leaveAt" else time <= limit
    if slot == "area" and wanted == "center":
        wanted = "centre"
    value = value.strip()
    return value == UNKNOWN or equal(wanted.strip().lower(), value.lower())


def _alike(wanted: str, value: str) -> bool:
    return partial_ratio(wanted, value) >= SOFT_THRESHOLD


def clock_number(text: str) -> int:
    """Return `h:m` as a number that grows with time. Raises for what cannot be read."""
    parts = text.split(":")
    return int(parts[0]) * 100 + int(parts[1])
