"""Police and hospital, which are in the database's folder but have no venues to choose among."""

from __future__ import annotations

from collections.abc import Mapping

from mwzeval.files.json_files import read_data
from mwzeval.files.resources import DataRoot
from mwzeval.multiwoz.template_system.catalogue import known_of

SERVICES = ("police", "hospital")


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
