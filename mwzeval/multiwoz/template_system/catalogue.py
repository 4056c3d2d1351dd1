"""The database as the template system uses it: which venues match, and what is known of one.

Police and hospital, which are in the database's folder but have no venues to choose among.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mwzeval.files.downloads import DataRoot
from mwzeval.files.json_files import read_data
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.database.venues import Database, id_column, partial_ratio
from mwzeval.multiwoz.normalization.normalize import normalize_slot, normalize_slots
from mwzeval.multiwoz.schema import SERVICES, UNKNOWN

NEARLY = 85
"""From which `partial_ratio` on a name that matches nothing is taken for a misspelt one."""


class Catalogue:
    """Venues of the domains that have a table, looked up as Inform and Success look them up."""

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]], rules: Rules) -> None:
        self._rules = rules
        self._database = Database(tables, rules)
        self._rows = {
            domain: {str(row[id_column(domain)]): known_of(row) for row in rows}
            for domain, rows in tables.items()
        }

    def find(self, domain: str, constraints: Mapping[str, str]) -> tuple[str, ...]:
        """Return the ids of the venues that satisfy all constraints, in table order."""
        return self._database.find(domain, normalize_slots(constraints, self._rules))

    def named(self, domain: str, name: str) -> str | None:
        """Return the id of the venue that is called most nearly so, if there is one."""
        name = name.lower()

        def nearness(venue: str) -> tuple[int, int]:
            known = self._rows[domain][venue].get("name", "")
            return partial_ratio(known, name), -abs(len(known) - len(name))

        best = max(self._rows[domain], key=nearness)
        return best if nearness(best)[0] >= NEARLY else None

    def shared(self, domain: str, venues: Sequence[str], slot: str) -> bool:
        """Tell whether these venues are all alike in a slot."""
        return len({self._rows[domain][venue].get(slot) for venue in venues}) == 1

    def row(self, domain: str, venue: str) -> Mapping[str, str]:
        """Return what is known of a venue, slot → value; slots as placeholders are called."""
        return self._rows[domain][venue]


def known_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of a row that are known, slot → value."""
    long_names = {"arrive": "arriveby", "leave": "leaveat"}
    known = {}
    for column, value in row.items():
        if isinstance(value, str) and value.strip() not in ("", UNKNOWN):
            slot = normalize_slot(column)
            known[long_names.get(slot, slot)] = value.strip()
    return known


def known_services(root: DataRoot) -> dict[str, Mapping[str, str]]:
    """Return what the first row of `db/police_db.json` and `db/hospital_db.json` says.

    A service without such a file has no values. Raises `DataError` when a file is damaged.
    """
    services: dict[str, Mapping[str, str]] = {}
    for domain in SERVICES:
        path = root.find(f"db/{domain}_db.json")
        rows = read_data(path) if path else []
        services[domain] = known_of(rows[0]) if isinstance(rows, list) and rows else {}
    return services
