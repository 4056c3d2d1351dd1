"""The database of ConvLab-2's rule policy and evaluator, and the lists of values for its user and
system.

Values are compared without normalization, unlike in `mwzeval.multiwoz.database`. The reference of a
booking is the number of the venue's record. The objects of this module cache answers and can be
shared by any number of dialogues.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from Levenshtein import distance

from mwzeval.errors import DataError
from mwzeval.files.downloads import DataRoot
from mwzeval.files.reading import expecting, read_data
from mwzeval.multiwoz import SAMPLE
from mwzeval.multiwoz.database import chosen, partial_ratio
from mwzeval.multiwoz.schema import (
    ADDED_FIELDS,
    CONVLAB_NO_CONSTRAINT,
    FLAG_SLOTS,
    UNKNOWN,
    time_fits,
)

Record = Mapping[str, Any]
Constraints = Iterable[tuple[str, str]]
"""Pairs of slot and value, such as `("area", "north")`."""
Spelling = Callable[[str, str, str], str]
"""A function that maps (domain, slot, value) to another spelling of the value."""

REFERENCE = "Ref"
"""The field that contains the number of a record in its table, with eight digits."""
SOFT_THRESHOLD = 60
QUERIES_KEPT, VALUES_KEPT = 2**12, 2**16
"""The maximum sizes of caches, which limit memory for arbitrary input."""

TABLES = ("attraction", "hospital", "hotel", "police", "restaurant", "train")
"""Domains with a file of records."""
FOLDERS = ("convlab2", "../live/convlab2")
"""Folders of the published value lists, relative to the data root."""
_TIME = re.compile(r"\d{1,2}:\d{1,2}")


class ActDatabase:
    """All records of all domains; answers to queries are cached.

    `tables` maps domains to the contents of the corpus files `<domain>_db.json`. A table for taxis
    is not needed, because there is always exactly one taxi.
    """

    def __init__(self, tables: Mapping[str, Sequence[Record]]) -> None:
        self._tables = {
            domain: tuple(
                # Added fields follow the record's own fields and do not replace them.
                {**fields, **ADDED_FIELDS.get(domain, {}), **fields, REFERENCE: f"{number:08d}"}
                for number, fields in enumerate(records)
            )
            for domain, records in {**tables, "taxi": [{}]}.items()
        }
        self._column = lru_cache(QUERIES_KEPT)(self._group)
        self._fitting = lru_cache(QUERIES_KEPT)(self._fit)
        self._found = lru_cache(QUERIES_KEPT)(self._find)

    def records(self, domain: str) -> tuple[Record, ...]:
        """Return all records of a domain, each with its number as `Ref`, or () without a table."""
        return self._tables.get(domain, ())

    def has(self, domain: str, slot: str, value: str) -> bool:
        """Return whether any record of a domain has a field with this lower-case text."""
        return any(text and text.lower() == value for text in self._column(domain, slot))

    def query(
        self, domain: str, constraints: Constraints, soft: Constraints = ()
    ) -> tuple[Record, ...]:
        """Return the records that satisfy all constraints, in table order.

        The field `Ref` of a record contains the number of the record. A record satisfies a soft
        constraint if the texts of the values are similar. A constraint is ignored if the record
        does not have the slot or the values cannot be compared. A domain without a table has no
        records.
        """
        return self._found(domain, tuple(constraints), tuple(soft))

    def _find(
        self,
        domain: str,
        constraints: tuple[tuple[str, str], ...],
        soft: tuple[tuple[str, str], ...],
    ) -> tuple[Record, ...]:
        table = self.records(domain)
        if domain in ("police", "taxi"):
            return table
        if domain == "hospital":
            # (odd) Only the department is compared; without a value, all departments match.
            departments = {value.lower() for slot, value in constraints if slot == "department"}
            return tuple(row for row in table if departments <= {row["department"].lower()})
        rows = (1 << len(table)) - 1
        for slot, constraint in constraints:
            rows &= self._fitting(domain, slot, constraint)
        found = [table[row] for row in np.flatnonzero(chosen(rows, len(table))).tolist()]
        # Applied last, because comparing texts is slow.
        for slot, constraint in soft:
            found = [row for row in found if _fits(row.get(slot), slot, constraint, _resemble)]
        return tuple(found)

    def _fit(self, domain: str, slot: str, constraint: str) -> int:
        """Return the set of records that satisfy a constraint; bit i represents record i."""
        column = self._column(domain, slot).items()
        # The sets are disjoint.
        return sum(rows for value, rows in column if _fits(value, slot, constraint, str.__eq__))

    def _group(self, domain: str, slot: str) -> Mapping[str | None, int]:
        """Group the records by their text in a field; None is the key for records without text."""
        column: dict[str | None, int] = {}
        for number, record in enumerate(self.records(domain)):
            value = record.get(slot)
            key = value if isinstance(value, str) else None
            column[key] = column.get(key, 0) | 1 << number
        return column


def _fits(value: object, slot: str, constraint: str, equal: Callable[[str, str], bool]) -> bool:
    # (odd) A price that is not a text, or a missing field, satisfies any constraint.
    if constraint in CONVLAB_NO_CONSTRAINT or not isinstance(value, str):
        return True
    fits = time_fits(slot, value, constraint)
    if fits is not None:
        return fits
    if slot == "area" and constraint == "center":
        constraint = "centre"
    value = value.strip()
    return value == UNKNOWN or equal(constraint.strip().lower(), value.lower())


def _resemble(constraint: str, value: str) -> bool:
    return partial_ratio(constraint, value) >= SOFT_THRESHOLD


def system_values(lists: Mapping[str, Mapping[str, Iterable[str]]]) -> Spelling:
    """Return the function with which the agenda user interprets values in system acts.

    The user compares the texts of values with its goal. Before the comparison, a value is replaced
    by the first listed value of the slot that contains the value or is contained in it. For
    example, the value `4 stars` becomes `4`, and the value `""` becomes the first listed value.
    `lists` is the content of `value_set.json`, which has values by domain and slot.
    """
    listed = {
        (domain, slot): sorted({spelled for v in values for spelled in (v, v.lower())})
        for domain, slots in lists.items()
        for slot, values in slots.items()
    }
    spaced = {key: [" ".join(value.split()) for value in values] for key, values in listed.items()}

    @lru_cache(VALUES_KEPT)
    def understood(domain: str, slot: str, value: str) -> str:
        if (domain, slot) not in listed:
            return value
        if slot in FLAG_SLOTS and value == "none":
            value = "yes"
        if value in listed[domain, slot]:
            return value
        owned = value.replace(" 's", "'s")
        for spelled in (value, owned, owned.replace(" - ", "-")):
            for text in (spelled, spelled.lower()):
                words = text.split()
                apart, joined = " ".join(words), "".join(words)
                for own in spaced[domain, slot]:
                    if own in apart or apart in own or own in joined or joined in own:
                        return own
        return value

    return understood


def user_values(lists: Mapping[str, Mapping[str, Sequence[str]]]) -> Spelling:
    """Return the function with which the rule system's database spells values in user acts.

    A user's value is replaced by a similar listed value, if there is one. `lists` is the content of
    `value_dict.json`, which has values by domain and slot in lower case.
    """

    @lru_cache(VALUES_KEPT)
    def normalized(domain: str, slot: str, value: str) -> str:
        value = " ".join(value.lower().split())
        listed = lists.get(domain, {}).get(slot.lower())
        if listed is None:
            return value
        for spelling in _spellings(value):
            found = _listed_value(listed, spelling)
            if found is not None:
                return found
        # The original also searches prices, train ids and durations, but no slot here has such
        # values.
        time = _TIME.search(value)
        return time[0] if time else value

    return normalized


def _spellings(value: str) -> Iterator[str]:
    yield value
    if " 's" in value:
        yield value.replace(" 's", "'s")
    if " - " in value:
        yield value.replace(" - ", "-")
    if "center" in value:
        yield value.replace("center", "centre")
    elif "centre" in value:
        yield value.replace("centre", "center")
    yield f"the {value}"


def _listed_value(listed: Sequence[str], value: str) -> str | None:
    if value in listed:
        return value
    # (odd) Not the nearest but the first listed match is used: "17:1" is "17:17" or "17:15".
    for candidate in listed:
        if candidate in value or value in candidate:
            return candidate
    edits = 3 if len(value) >= 15 else 2
    if len(value) >= 10:
        for candidate in listed:
            if distance(candidate, value, score_cutoff=edits) <= edits:
                return candidate
    return None


@dataclass(frozen=True, slots=True)
class ActResources:
    """The database and the lists of values for act-level dialogues.

    Each process creates its own copy, which caches answers.
    """

    database: ActDatabase
    system_values: Spelling
    user_values: Spelling


def load_resources(corpus: str, root: DataRoot) -> ActResources:
    """Load the resources of act-level dialogues from the corpus files in `root`.

    The sample corpus has no published value lists, so the texts in its database are used. Raises
    `DataError` if a file is missing or invalid.
    """
    database = load_act_database(root)
    if corpus == SAMPLE:
        sets = {domain: _values(database.records(domain)) for domain in TABLES}
        lists = {
            domain: {slot.lower(): values for slot, values in slots.items()}
            for domain, slots in sets.items()
        }
    else:
        sets, lists = (_value_lists(root, f"value_{kind}.json") for kind in ("set", "dict"))
    return ActResources(database, system_values(sets), user_values(lists))


def load_act_database(root: DataRoot) -> ActDatabase:
    """Return the database of a corpus. Raises `DataError` if a file is missing or invalid."""
    tables = {}
    for domain in TABLES:
        path = root.require(f"db/{domain}_db.json")
        records = tables[domain] = read_data(path)
        if not (isinstance(records, list) and all(isinstance(record, dict) for record in records)):
            raise DataError(f"{path}: expected a list of records")
    return ActDatabase(tables)


def _value_lists(root: DataRoot, name: str) -> dict[str, dict[str, list[str]]]:
    path = root.require(*(f"{folder}/{name}" for folder in FOLDERS))
    with expecting("lists of values by domain and slot", str(path)):
        return {
            # The prices of hotels are objects, which no act contains.
            domain: {
                slot: [value for value in values if isinstance(value, str)]
                for slot, values in slots.items()
            }
            for domain, slots in read_data(path).items()
        }


def _values(records: Iterable[Record]) -> dict[str, list[str]]:
    """Return the sorted values of each text field."""
    values: dict[str, set[str]] = {}
    for record in records:
        for slot, value in record.items():
            if isinstance(value, str):
                values.setdefault(slot, set()).add(value)
    return {slot: sorted(texts) for slot, texts in values.items()}
