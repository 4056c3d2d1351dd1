"""What all dialogues of a run share: the database, and the values that user and system know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mwzeval.errors import DataError
from mwzeval.files.downloads import DataRoot
from mwzeval.files.json_files import read_data
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.convlab.act_database import ActDatabase, Record
from mwzeval.multiwoz.convlab.rule_tracker import ValueSpellings
from mwzeval.multiwoz.convlab.said_values import SaidValues

TABLES = ("attraction", "hospital", "hotel", "police", "restaurant", "train")
"""Domains with a file of records."""
VALUE_SETS, VALUE_LISTS = "value_set.json", "value_dict.json"
FOLDERS = ("convlab2", "../live/convlab2")
"""Where the published value lists are: in the data root, or in a folder `live` beside it."""


@dataclass(frozen=True, slots=True)
class ActResources:
    """The database and value lists; they remember answers, so each process makes its own."""

    database: ActDatabase
    said_values: SaidValues
    spellings: ValueSpellings


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
        return ActResources(database, SaidValues(listed), ValueSpellings(lowered))
    sets, lists = (_value_lists(root, name) for name in (VALUE_SETS, VALUE_LISTS))
    return ActResources(database, SaidValues(sets), ValueSpellings(lists))


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
