"""The database of ConvLab-2's rule policy and evaluator, and the values that user and system know.

The rules of the database are not those of `mwzeval.multiwoz.database`: values are compared
as they are written, nothing is normalised, and the reference of a booking is the number of the
venue's record. Objects here remember answers and serve any number of dialogues.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from Levenshtein import distance

from mwzeval.errors import DataError
from mwzeval.files.downloads import DataRoot
from mwzeval.files.json_files import read_data
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.database import partial_ratio
from mwzeval.multiwoz.schema import FLAG_SLOTS, UNKNOWN

Record = Mapping[str, Any]
Constraints = Iterable[tuple[str, str]]
"""Slots and values, such as `("area", "north")`."""

REFERENCE = "Ref"
"""The field of a found record that holds its number in the table, in eight digits."""
SOFT_THRESHOLD = 60
ANYTHING = frozenset({"", "dont care", "not mentioned", "don't care", "dontcare", "do n't care"})
"""Values of constraints that every record satisfies."""
QUERIES_KEPT, VALUES_KEPT = 2**12, 2**16
"""Answers kept before the oldest are forgotten: bounds memory on hostile input."""

ADDED_FIELDS: Mapping[str, Mapping[str, str]] = {
    "police": {"postcode": "cb11jg"},
    "hospital": {"address": "hills rd , cambridge", "postcode": "cb20qq"},
}
"""What goals ask for although the records of the corpus lack it."""
TABLES = ("attraction", "hospital", "hotel", "police", "restaurant", "train")
"""Domains with a file of records."""
VALUE_SETS, VALUE_LISTS = "value_set.json", "value_dict.json"
FOLDERS = ("convlab2", "../live/convlab2")
"""Where the published value lists are: in the data root, or in a folder `live` beside it."""

_ALWAYS_FOUND = frozenset({"police", "taxi"})
"""Domains whose records fit any constraints."""
_TIME = re.compile(r"\d{1,2}:\d{1,2}")


class ActDatabase:
    """All records of all domains; answers queries and remembers the answers.

    `tables` are the contents of the corpus' files `<domain>_db.json`, by domain. The one for taxis
    is not needed: there is always one taxi.
    """

    def __init__(self, tables: Mapping[str, Sequence[Record]]) -> None:
        self._tables = {
            domain: tuple(
                # What is added comes after a record's own fields and replaces none.
                {**fields, **ADDED_FIELDS.get(domain, {}), **fields, REFERENCE: f"{number:08d}"}
                for number, fields in enumerate(records)
            )
            for domain, records in {**tables, "taxi": [{}]}.items()
        }
        self._column = lru_cache(QUERIES_KEPT)(self._group)
        self._fitting = lru_cache(QUERIES_KEPT)(self._fit)
        self._found = lru_cache(QUERIES_KEPT)(self._find)

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


class SystemValues:
    """Values in a system's acts, as the agenda user understands them.

    The user compares values with its goal as texts. Before, a value becomes the first listed value
    of the slot that contains it or is contained in it: `4 stars` is `4`, and `""` is whatever comes
    first. `listed` is the content of `value_set.json`: domain → slot → values.
    """

    def __init__(self, listed: Mapping[str, Mapping[str, Iterable[str]]]) -> None:
        self._listed = {
            (domain, slot): sorted({spelled for v in values for spelled in (v, v.lower())})
            for domain, slots in listed.items()
            for slot, values in slots.items()
        }
        self._spaced = {
            key: [" ".join(value.split()) for value in values]
            for key, values in self._listed.items()
        }
        self.understand = lru_cache(VALUES_KEPT)(self._understand)
        """Return the listed value for (domain, slot, value), or the value when none is alike."""

    def _understand(self, domain: str, slot: str, value: str) -> str:
        if (domain, slot) not in self._listed:
            return value
        if slot in FLAG_SLOTS and value == "none":
            value = "yes"
        if value in self._listed[domain, slot]:
            return value
        owned = value.replace(" 's", "'s")
        for spelled in (value, owned, owned.replace(" - ", "-")):
            for text in (spelled, spelled.lower()):
                words = text.split()
                spaced, joined = " ".join(words), "".join(words)
                for own in self._spaced[domain, slot]:
                    if own in spaced or spaced in own or own in joined or joined in own:
                        return own
        return value


class UserValues:
    """Values in a user's acts, as the rule system's database spells them.

    `listed` is the content of `value_dict.json`: domain → slot in lower case → values.
    """

    def __init__(self, listed: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        self._listed = listed
        self.normalized = lru_cache(VALUES_KEPT)(self._normalized)
        """Return the listed value nearest to (domain, slot, value); the value if none is near."""

    def _normalized(self, domain: str, slot: str, value: str) -> str:
        value = " ".join(value.lower().split())
        known = self._listed.get(domain, {}).get(slot.lower())
        if known is None:
            return value
        for spelling in (value, *_other_spellings(value)):
            found = _listed_value(known, spelling)
            if found is not None:
                return found
        # Prices, train ids and durations would be looked for as well, but no slot here has them.
        time = _TIME.search(value)
        return time[0] if time else value


def _listed_value(known: Sequence[str], value: str) -> str | None:
    if value in known:
        return value
    # (odd) The first in the order of the list, not the nearest: "17:1" is "17:17" or "17:15".
    for listed in known:
        if listed in value or value in listed:
            return listed
    most_edits = 3 if len(value) >= 15 else 2 if len(value) >= 10 else None
    if most_edits is not None:
        for listed in known:
            if distance(listed, value, score_cutoff=most_edits) <= most_edits:
                return listed
    return None


def _other_spellings(value: str) -> Iterator[str]:
    if " 's" in value:
        yield value.replace(" 's", "'s")
    if " - " in value:
        yield value.replace(" - ", "-")
    if "center" in value:
        yield value.replace("center", "centre")
    elif "centre" in value:
        yield value.replace("centre", "center")
    yield f"the {value}"


@dataclass(frozen=True, slots=True)
class ActResources:
    """The database and value lists; they remember answers, so each process makes its own."""

    database: ActDatabase
    system_values: SystemValues
    user_values: UserValues


def load_act_database(root: DataRoot) -> ActDatabase:
    """Return the database of a corpus. Raises `DataError` when a file is missing or bad."""
    return ActDatabase({domain: _records(root, domain) for domain in TABLES})


def load_resources(corpus: str, root: DataRoot) -> ActResources:
    """Return what dialogues at act level need of a corpus whose files are in `root`.

    The sample corpus has no published value lists: what its database has is listed. Raises
    `DataError` when a file is missing or bad.
    """
    database = load_act_database(root)
    if corpus == SAMPLE:
        listed = {domain: _values(database.records(domain)) for domain in TABLES}
        lowered = {
            domain: {slot.lower(): values for slot, values in slots.items()}
            for domain, slots in listed.items()
        }
        return ActResources(database, SystemValues(listed), UserValues(lowered))
    sets, lists = (_value_lists(root, name) for name in (VALUE_SETS, VALUE_LISTS))
    return ActResources(database, SystemValues(sets), UserValues(lists))


def _records(root: DataRoot, domain: str) -> list[Record]:
    path = root.require(f"db/{domain}_db.json")
    records = read_data(path)
    if not (isinstance(records, list) and all(isinstance(record, dict) for record in records)):
        raise DataError(f"{path}: expected a list of records")
    return records


def _value_lists(root: DataRoot, name: str) -> Mapping[str, Mapping[str, list[str]]]:
    path = root.require(*(f"{folder}/{name}" for folder in FOLDERS))
    domains = read_data(path)
    try:
        return {
            domain: {slot: [*filter(_is_text, listed)] for slot, listed in slots.items()}
            for domain, slots in domains.items()
        }
    except (AttributeError, TypeError):
        raise DataError(f"{path}: expected lists of values by domain and slot") from None


def _is_text(value: object) -> bool:
    # Prices of hotels are objects; nobody names them.
    return isinstance(value, str)


def _values(records: Iterable[Record]) -> dict[str, list[str]]:
    """Return slot → values, in alphabetical order, of all fields that are texts."""
    values: dict[str, set[str]] = {}
    for record in records:
        for slot, value in record.items():
            if isinstance(value, str):
                values.setdefault(slot, set()).add(value)
    return {slot: sorted(texts) for slot, texts in values.items()}
