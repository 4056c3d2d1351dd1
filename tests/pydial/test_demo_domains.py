"""The embedded domains have the shape of PyDial's, and come from their generator."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mwzeval.pydial.dialogue.domain_files import load_domain
from tests.places import ROOT
from tests.pydial.real_domains import CODES, domain

GENERATOR = ROOT / "data" / "generate_pydial_domains"
EMBEDDED = ROOT / "data" / "pydial" / "demo"


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


def test_the_generator_writes_what_is_embedded(tmp_path: Path) -> None:
    script = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from write_domains import SHAPES, files\n"
        "json.dump({place: text for s in SHAPES for place, text in files(s).items()}, sys.stdout)"
    )
    command = [sys.executable, "-c", script, str(GENERATOR)]
    made = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    found = {
        path.relative_to(EMBEDDED).as_posix(): path.read_text("utf-8")
        for path in EMBEDDED.rglob("*.json")
    }
    assert made == found
