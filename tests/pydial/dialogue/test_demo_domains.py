"""The embedded domains have the shape of PyDial's."""

from __future__ import annotations

import pytest

from mwzeval.pydial.dialogue.domain_files import load_domain
from tests.pydial.real_domains import CODES, domain


def shape(code: str) -> dict[str, object]:
    found = domain(code) if "-" not in code else load_domain(code)
    ontology, rows = found.ontology, found.table.rows
    return {
        "entities": len(rows),
        "names": len({row["name"] for row in rows}),
        "requestable": len(ontology.requestable),
        "only requestable": len(ontology.only_requestable),
        "constraints": sorted(len(ontology.informable[s]) for s in ontology.constraint_slots),
        "values": sorted(map(len, ontology.informable.values())),
        "binary": len(ontology.binary_slots),
    }


@pytest.mark.parametrize("code", CODES)
def test_embedded_domains_have_the_shape_of_the_published(code: str) -> None:
    assert shape(f"Demo-{code}") == shape(code)
