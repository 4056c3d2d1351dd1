"""What the database says of a venue, looked up from the venue: its values, gaps and name.

`Database` answers which venues satisfy constraints; this is the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.database.venues import Row, id_column
from mwzeval.multiwoz.normalization.normalize import normalize_name, normalize_slot
from mwzeval.multiwoz.schema import UNKNOWN
from mwzeval.multiwoz.words.numbers import AMOUNTS, PENCE, amount, clock, is_total

SAID_AS = {"arrive": "arriveby", "leave": "leaveat"}
"""Columns whose placeholder has another name."""

TIMES = frozenset(SAID_AS.values())
OTHER_END = {"leaveat": "arriveby", "arriveby": "leaveat"}
"""What a time of a train may be as well where no word tells."""
NO_VALUES = frozenset({UNKNOWN, "", "None"})
PER_TICKET = "price"
OPENING = "openhours"
NUMERIC = AMOUNTS | TIMES | {OPENING}
"""Slots whose values are compared as numbers or times of day, whatever their spelling."""

Value = str | float


class VenueFacts:
    """The values of all venues, by domain, venue and plain placeholder name (`phone`, …)."""

    def __init__(self, tables: Mapping[str, Sequence[Row]], rules: Rules) -> None:
        self.rules = rules
        self._values: dict[tuple[str, str], dict[str, set[Value]]] = {}
        self._all: dict[tuple[str, str], set[Value]] = {}
        self._named: dict[tuple[str, str], list[str]] = {}
        self._names: dict[tuple[str, str], str] = {}
        for domain, rows in tables.items():
            for row in rows:
                self._add(domain, str(row[id_column(domain)]), row)

    def _add(self, domain: str, venue: str, row: Row) -> None:
        # Some trains share their id: each has the values of all of them.
        slots = self._values.setdefault((domain, venue), {})
        for column, raw in row.items():
            slot = normalize_slot(column)
            slot = SAID_AS.get(slot, slot)
            for one in _single(slot, raw):
                value = None if one in NO_VALUES else comparable(slot, one)
                if value is not None:
                    slots.setdefault(slot, set()).add(value)
                    self._all.setdefault((domain, slot), set()).add(value)
        if "name" in row:
            called = normalize_name(str(row["name"]), self.rules)
            self._named.setdefault((domain, called), []).append(venue)
            self._names[domain, venue] = str(row["name"])

    def has(self, domain: str, venue: str, slot: str, value: Value) -> bool:
        """Tell whether a (comparable) value is the venue's.

        A price is also that of several tickets.
        """
        values = self._values.get((domain, venue), {}).get(slot, ())
        return value in values or (slot == PER_TICKET and _is_price(value, values))

    def exists(self, domain: str, slot: str, value: Value) -> bool:
        """Tell whether any venue of the domain has a (comparable) value.

        A time is known when a train leaves or arrives then: which of both is meant is not always
        told. A price is also that of several tickets.
        """
        if slot in TIMES:
            return any(value in self._all.get((domain, time), ()) for time in TIMES)
        values = self._all.get((domain, slot), ())
        return value in values or (slot == PER_TICKET and _is_price(value, values))

    def is_price(
        self, domain: str, venues: Iterable[str], total: Value | None, tickets: Sequence[int]
    ) -> bool:
        """Tell whether any of so many tickets (or nights) of one of these have a price together.

        No number stands for any.
        """
        return not tickets or any(
            isinstance(ticket, float)
            and isinstance(total, float)
            and any(abs(number * ticket - total) <= PENCE for number in tickets)
            for venue in venues
            for ticket in self._values.get((domain, venue), {}).get(PER_TICKET, ())
        )

    def covers(self, domain: str, slot: str) -> bool:
        """Tell whether the database has any value in a slot of a domain."""
        return (domain, slot) in self._all

    def knows(self, domain: str, venue: str, slot: str) -> bool:
        """Tell whether the database has any value there."""
        return slot in self._values.get((domain, venue), ())

    def values(self, domain: str, venue: str, slot: str) -> tuple[str, ...]:
        """Return the values of a venue as they are compared; mostly one."""
        return tuple(sorted(map(str, self._values.get((domain, venue), {}).get(slot, ()))))

    def called(self, domain: str, name: str) -> tuple[str, ...]:
        """Return the venues with exactly this name, once both are normalised."""
        return tuple(self._named.get((domain, normalize_name(name, self.rules)), ()))

    def name(self, domain: str, venue: str) -> str:
        """Return what a venue is called; a train by its id."""
        return self._names.get((domain, venue), venue)


_OPENING = re.compile(r"[0-9]{1,2}(?::[0-9]{2})?\s?(?:[ap]\.?m\b|(?=to\b))|midnight|noon")


def _single(slot: str, raw: Any) -> Iterable[str]:
    """Return the values of a column: a hotel has several prices, opening hours several times."""
    if isinstance(raw, Mapping):
        return map(str, raw.values())
    return _OPENING.findall(str(raw).lower()) if slot == OPENING else [str(raw)]


def comparable(slot: str, text: str) -> Value | None:
    """Return a value such that it equals others that mean the same; None when it says nothing."""
    if slot in AMOUNTS:
        return amount(text)
    return clock(text) if slot in NUMERIC else text.lower()


def _is_price(total: Value, tickets: Sequence[Value] | set[Value] | tuple[()]) -> bool:
    return isinstance(total, float) and any(
        is_total(total, ticket) for ticket in tickets if isinstance(ticket, float)
    )
