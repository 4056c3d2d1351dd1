"""A domain that is small enough for counts by hand."""

from __future__ import annotations

from mwzeval.pydial.domain import Domain, EntityTable, ontology_from_json

ONTOLOGY = {
    "type": "cafe",
    "requestable": ["name", "area", "food", "pricerange", "quiet", "phone", "addr"],
    "system_requestable": ["pricerange", "area", "food", "quiet"],
    "informable": {
        "name": ["anna", "bella", "cora", "dora", "emma", "twin"],
        "area": ["north", "south", "centre"],
        "food": ["cake", "pie", "soup", "stew"],
        "pricerange": ["cheap", "dear"],
        "quiet": ["0", "1"],
    },
}
COLUMNS = ("name", "area", "food", "pricerange", "quiet", "phone", "addr")
ROWS = [
    dict(zip(COLUMNS, row, strict=True))
    for row in (
        ("anna", "north", "cake", "cheap", "1", "1111", "1 elm lane"),
        ("bella", "north", "cake", "dear", "0", "2222", "2 elm lane"),
        ("cora", "south", "pie", "cheap", "1", "not available", "3 elm lane"),
        ("dora", "south", "pie", "dear", "1", "4444", "not available"),
        ("emma", "centre", "soup", "cheap", "0", "5555", "5 elm lane"),
        ("twin", "north", "soup", "cheap", "0", "6666", "6 elm lane"),
        ("twin", "south", "cake", "dear", "1", "7777", "7 elm lane"),
    )
]
_ontology = ontology_from_json("Cafes", ONTOLOGY)
CAFES = Domain(_ontology, EntityTable(_ontology, ROWS))
