"""The venue database, in memory: which venues satisfy some constraints?

An answer is a conjunction of bit sets, one per constraint, each ready or remembered; no query
looks at rows. Bit i of a set stands for row i of the domain's table. Whether two texts are nearly
the same is told by exactly the ratio that the published scores rely on.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from mwzeval.errors import DependencyError
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.normalization.normalize import normalize_slot, normalize_value
from mwzeval.multiwoz.schema import DATABASE_DOMAINS, NO_CONSTRAINT, UNKNOWN

try:
    # fuzzywuzzy falls back on difflib in silence, and difflib gives other ratios.
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
        "fuzzywuzzy was imported before python-Levenshtein was there: restart the program"
    )


@lru_cache(maxsize=2**16)
def partial_ratio(first: str, second: str) -> int:
    """Return fuzzywuzzy's `partial_ratio`, 0 to 100: how well the shorter fits into the longer."""
    return int(fuzz.partial_ratio(first, second))


class FuzzyIndex:
    """Finds, among fixed texts, those that are nearly another one."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)
        self._lengths = np.array([len(text) for text in texts], dtype=np.int64)
        self._alphabet = sorted({char for text in texts for char in text})
        self._counts = np.array([self._count(text) for text in texts], dtype=np.int64)

    def _count(self, text: str) -> list[int]:
        return [text.count(char) for char in self._alphabet]

    def reaching(self, asked: str, threshold: int) -> list[str]:
        """Return the texts whose `partial_ratio` to `asked` is at least `threshold`, in order.

        The ratio is computed only where it can be high enough. It is at best 2·m / (s + w), of m
        characters matched in order between the shorter text (length s) and a window of the longer
        one (length w ≥ m). With m at most the number c of characters that both texts have at all,
        it cannot exceed 2·c / (s + c).
        """
        if not self._texts:
            return []
        common = np.minimum(self._counts, self._count(asked)).sum(axis=1)
        shorter = np.minimum(self._lengths, len(asked))
        # Half a percent less, because the ratio is rounded, and a little more for float errors.
        possible = 200 * common >= (threshold - 0.501) * (shorter + common)
        # Two empty texts, too, have nothing in common and are equal.
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
        self._tables = tables
        self._venues = {domain: Venues(domain, tables[domain]) for domain in DATABASE_DOMAINS}
        self._answers: dict[tuple[object, ...], tuple[str, ...]] = {}

    @cached_property
    def names(self) -> Mapping[tuple[str, str], str]:
        """What venues are called, by domain and id; a train is called by its id alone."""
        return {
            (domain, str(row[id_column(domain)])): str(row["name"])
            for domain, rows in self._tables.items()
            for row in rows
            if domain != "train"
        }

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
