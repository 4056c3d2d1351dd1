"""The database in memory, which finds venues by constraints and returns the values of a venue.

`Database` intersects one bit set per constraint. The bit sets are precomputed or cached, so a query
does not read table rows. Bit i of a bit set represents row i of the domain's table. Two texts match
if their similarity ratio, computed as in the published evaluators, is high enough. `VenueFacts`
returns the name, the known values and the missing values of a venue. Reference numbers and taxis
are generated from a hash, because no database contains them.
"""

from __future__ import annotations

import hashlib
import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import DependencyError
from mwzeval.multiwoz import Rules
from mwzeval.multiwoz.normalization import normalize_name, normalize_slot, normalize_value
from mwzeval.multiwoz.schema import (
    DATABASE_DOMAINS,
    LONG_SLOTS,
    NO_CONSTRAINT,
    NO_VALUES,
    OTHER_END,
    UNKNOWN,
    id_column,
    minutes,
)
from mwzeval.multiwoz.words.numbers import AMOUNTS, PENCE, amount, clock, is_total

try:
    # Without its C library, fuzzywuzzy silently uses difflib, whose ratios differ.
    import Levenshtein  # noqa: F401
except ImportError:
    raise DependencyError(
        "python-Levenshtein is not installed: without it fuzzywuzzy computes other ratios, and the "
        "scores would not be comparable — pip install python-Levenshtein"
    ) from None

from fuzzywuzzy import fuzz
from fuzzywuzzy.StringMatcher import StringMatcher

if fuzz.SequenceMatcher is not StringMatcher:
    raise DependencyError(
        "fuzzywuzzy was imported before python-Levenshtein was installed: restart the program"
    )


@lru_cache(maxsize=2**16)
def partial_ratio(first: str, second: str) -> int:
    """Return fuzzywuzzy's `partial_ratio`, the similarity (0 to 100) of the shorter text to its
    best match in the longer text.
    """
    return int(fuzz.partial_ratio(first, second))


class FuzzyIndex:
    """Finds texts of a fixed list that are similar to a given text."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)
        self._lengths = np.array([len(text) for text in texts], dtype=np.int64)
        self._alphabet = sorted({char for text in texts for char in text})
        self._counts = np.array([self._count(text) for text in texts], dtype=np.int64)

    def _count(self, text: str) -> list[int]:
        return [text.count(char) for char in self._alphabet]

    def reaching(self, asked: str, threshold: int) -> list[str]:
        """Return the texts whose `partial_ratio` to `asked` is at least `threshold`, in order.

        An upper bound of the ratio excludes most texts. If m characters match in order between the
        shorter text (length s) and a window of the longer text (length w ≥ m), the ratio is at most
        2·m / (s + w). The upper bound is 2·c / (s + c), where c ≥ m is the number of characters
        that the two texts have in common in any order.
        """
        if not self._texts:
            return []
        common = np.minimum(self._counts, self._count(asked)).sum(axis=1)
        shorter = np.minimum(self._lengths, len(asked))
        # The ratio is rounded to whole percents; a margin covers floating-point errors.
        possible = 200 * common >= (threshold - 0.501) * (shorter + common)
        # Two empty texts are equal, although they share no characters.
        possible |= self._lengths == 0
        return [
            self._texts[index]
            for index in np.flatnonzero(possible)
            if partial_ratio(self._texts[index], asked) >= threshold
        ]


Row = Mapping[str, Any]

FUZZY_THRESHOLD = 90
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
"""Maximum number of cached answers, which bounds memory for arbitrary input."""


def chosen(rows: int, count: int) -> NDArray[np.bool_]:
    """Return a Boolean array of length `count` that is true for the rows in a bit set."""
    packed = np.frombuffer(rows.to_bytes(count // 8 + 1, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=count, bitorder="little").view(np.bool_)


class _Column:
    """The rows of a column that satisfy a normalized value.

    The value of a row must be equal or similar; in the column `arrive`, it may also be earlier, and
    in `leave`, it may also be later.
    """

    def __init__(self, domain: str, name: str, values: Sequence[str]) -> None:
        self._rows: dict[str, int] = {}
        for index, value in enumerate(values):
            self._rows[value] = self._rows.get(value, 0) | 1 << index
        self._unknown = self._rows.pop(UNKNOWN, 0)
        self._bisect = {"arrive": bisect_right, "leave": bisect_left}.get(name)
        if self._bisect:
            rows_at: dict[int, int] = {}
            for value, rows in self._rows.items():
                rows_at[minutes(value)] = rows_at.get(minutes(value), 0) | rows
            self._minutes = sorted(rows_at)
            # Item i holds the rows with the first i times, or with all times from the i-th on.
            step = 1 if name == "arrive" else -1
            ordered = [rows_at[minute] for minute in self._minutes[::step]]
            self._unions = [*accumulate(ordered, or_, initial=0)][::step]
        self._index = FuzzyIndex(list(self._rows)) if name in FUZZY_COLUMNS[domain] else None
        self._remembered: dict[str, int] = {}

    def __call__(self, asked: str) -> int:
        if self._bisect:
            return self._unions[self._bisect(self._minutes, minutes(asked))] | self._unknown
        if self._index is None:
            return self._rows.get(asked, 0) | self._unknown
        rows = self._remembered.get(asked)
        if rows is None:
            rows = self._unknown
            for value in self._index.reaching(asked, FUZZY_THRESHOLD):
                rows |= self._rows[value]
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[asked] = rows
        return rows


class Database:
    """The venues of all domains; queries use the normalized spelling of one rule set."""

    def __init__(self, tables: Mapping[str, Sequence[Row]], rules: Rules) -> None:
        self.rules = rules
        self._tables = tables
        self._ids = {
            domain: np.array([str(row[id_column(domain)]) for row in tables[domain]], dtype=object)
            for domain in DATABASE_DOMAINS
        }
        # (odd) Row values are not normalized. Therefore, the venue "the junction" is not found,
        # because queries normalize its name to "junction theatre".
        self._columns = {
            (domain, slot): _Column(domain, slot, [str(row.get(name, UNKNOWN)) for row in rows])
            for domain, rows in tables.items()
            for name in (rows[0] if rows and domain in self._ids else ())
            if (slot := normalize_slot(name)) not in IGNORED_COLUMNS[domain]
        }
        self._answers: dict[tuple[object, ...], tuple[str, ...]] = {}

    @cached_property
    def facts(self) -> VenueFacts:
        """The values of all venues of this database."""
        return VenueFacts(self._tables, self.rules)

    @cached_property
    def names(self) -> Mapping[tuple[str, str], str]:
        """The name of each venue, by domain and id; the name of a train is its id."""
        return {
            (domain, str(row[id_column(domain)])): str(row["name"])
            for domain, rows in self._tables.items()
            for row in rows
            if domain != "train"
        }

    def find(self, domain: str, constraints: Mapping[str, str]) -> tuple[str, ...]:
        """Return the ids of the venues that satisfy all constraints, in table order.

        A constraint is ignored if the domain's table has no column for its slot, or if the
        constraint allows any value. A domain without a table has no venues. Results of queries are
        cached.
        """
        key = (domain, *constraints.items())
        ids = self._answers.get(key)
        if ids is None:
            ids = self._satisfying(domain, constraints) if domain in self._ids else ()
            if len(self._answers) >= REMEMBERED:
                self._answers.clear()
            self._answers[key] = ids
        return ids

    def _satisfying(self, domain: str, constraints: Mapping[str, str]) -> tuple[str, ...]:
        ids = self._ids[domain]
        rows = (1 << len(ids)) - 1
        for slot, value in {normalize_slot(s): value for s, value in constraints.items()}.items():
            column = self._columns.get((domain, slot))
            if column is not None and value not in NO_CONSTRAINT:
                normal = normalize_value(slot, value, self.rules)
                rows &= column(normal) if normal not in NO_CONSTRAINT else rows
        return tuple(ids[chosen(rows, len(ids))].tolist())


PER_TICKET = "price"
OPENING = "openhours"
NUMERIC = AMOUNTS | OTHER_END.keys() | {OPENING}
"""Slots whose values are compared as numbers or times of day, regardless of their spelling."""

_OPENING = re.compile(r"[0-9]{1,2}(?::[0-9]{2})?\s?(?:[ap]\.?m\b|(?=to\b))|midnight|noon")

Value = str | float


class VenueFacts:
    """The database values of all venues by domain, venue and placeholder name without domain
    (`phone`, …).
    """

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
        # If several trains have the same id, the id has the values of all these trains.
        slots = self._values.setdefault((domain, venue), {})
        for column, raw in row.items():
            slot = normalize_slot(column)
            slot = LONG_SLOTS.get(slot, slot)
            # A hotel has several prices, and opening hours have several times.
            if isinstance(raw, Mapping):
                texts = [*map(str, raw.values())]
            else:
                texts = _OPENING.findall(str(raw).lower()) if slot == OPENING else [str(raw)]
            for text in texts:
                value = None if text in NO_VALUES else comparable(slot, text)
                if value is not None:
                    slots.setdefault(slot, set()).add(value)
                    self._all.setdefault((domain, slot), set()).add(value)
        if "name" in row:
            called = normalize_name(str(row["name"]), self.rules)
            self._named.setdefault((domain, called), []).append(venue)
            self._names[domain, venue] = str(row["name"])

    def has(self, domain: str, venue: str, slot: str, value: Value) -> bool:
        """Return whether a venue has an equal or comparable value, or this price for several
        tickets.
        """
        return _has(slot, value, self._values.get((domain, venue), {}).get(slot, ()))

    def exists(self, domain: str, slot: str, value: Value) -> bool:
        """Return whether any venue of the domain has a comparable value.

        A time is compared with departures and with arrivals of trains, because it is not always
        clear to which of them a response refers.
        """
        slots: Iterable[str] = OTHER_END if slot in OTHER_END else (slot,)
        return any(_has(name, value, self._all.get((domain, name), ())) for name in slots)

    def is_price(
        self, domain: str, venues: Iterable[str], total: Value | None, tickets: Sequence[int]
    ) -> bool:
        """Return whether some number of tickets or nights has this price; () allows any number."""
        return not tickets or any(
            isinstance(ticket, float)
            and isinstance(total, float)
            and any(abs(number * ticket - total) <= PENCE for number in tickets)
            for venue in venues
            for ticket in self._values.get((domain, venue), {}).get(PER_TICKET, ())
        )

    def covers(self, domain: str, slot: str) -> bool:
        """Return whether any venue of a domain has a value in a slot."""
        return (domain, slot) in self._all

    def knows(self, domain: str, venue: str, slot: str) -> bool:
        """Return whether the database has a value for this slot of a venue."""
        return slot in self._values.get((domain, venue), ())

    def values(self, domain: str, venue: str, slot: str) -> tuple[str, ...]:
        """Return the comparable values of a venue in a slot; usually there is only one value."""
        return tuple(sorted(map(str, self._values.get((domain, venue), {}).get(slot, ()))))

    def called(self, domain: str, name: str) -> tuple[str, ...]:
        """Return the venues whose normalized name equals the normalized `name`."""
        return tuple(self._named.get((domain, normalize_name(name, self.rules)), ()))

    def name(self, domain: str, venue: str) -> str:
        """Return the name of a venue or the id of a train."""
        return self._names.get((domain, venue), venue)


def comparable(slot: str, text: str) -> Value | None:
    """Return a value that is equal for texts with the same meaning, or None without a value."""
    if slot in AMOUNTS:
        return amount(text)
    return clock(text) if slot in NUMERIC else text.lower()


def _has(slot: str, value: Value, values: Collection[Value]) -> bool:
    return value in values or (
        slot == PER_TICKET
        and isinstance(value, float)
        and any(is_total(value, ticket) for ticket in values if isinstance(ticket, float))
    )


_CODE = string.ascii_uppercase + string.digits
_COLOURS = ("black", "blue", "green", "grey", "red", "silver", "white")
_MAKES = ("audi", "bmw", "ford", "honda", "skoda", "tesla", "toyota", "volvo")


def digest(seed: str) -> bytes:
    """Return the hash from which `reference`, `phone_number` and `car` generate values."""
    return hashlib.sha256(seed.encode(errors="backslashreplace")).digest()


def reference(made_from: bytes) -> str:
    """Return the reference number of a booking: eight capital letters and digits."""
    return "".join(_CODE[byte % len(_CODE)] for byte in made_from[:8])


def phone_number(made_from: bytes) -> str:
    """Return the phone number of a taxi: 07 and nine digits."""
    return "07" + "".join(str(byte % 10) for byte in made_from[:9])


def car(made_from: bytes) -> str:
    """Return the color and make of a taxi."""
    colour, make = made_from[0] % len(_COLOURS), made_from[1] % len(_MAKES)
    return f"{_COLOURS[colour]} {_MAKES[make]}"
