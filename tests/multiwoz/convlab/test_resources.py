"""What act-level dialogues need is found in the data root or beside it, or made of the sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mwzeval.errors import DataError
from mwzeval.files.downloads import DataRoot
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.convlab.resources import (
    TABLES,
    ActDatabase,
    load_act_database,
    load_resources,
)
from mwzeval.multiwoz.corpus.corpora import corpus_root
from tests.places import read_json, shared


@pytest.mark.integration
@pytest.mark.parametrize("place", [("data",), ("data", "multiwoz")])
def test_published_value_lists_are_found_beside_the_corpus(place: tuple[str, ...]) -> None:
    root = corpus_root("multiwoz-2.1", shared(*place), offline=True)
    resources = load_resources("multiwoz-2.1", root)
    assert resources.system_values.understand("hotel", "stars", "4 stars") == "4"
    assert resources.user_values.normalized("hotel", "area", "the north") == "north"


def test_a_file_that_is_missing_is_named_with_its_address(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    for domain in TABLES:
        (tmp_path / "db" / f"{domain}_db.json").write_text("[]")
    root = corpus_root("multiwoz-2.1", tmp_path, offline=True)
    with pytest.raises(DataError, match=r"convlab2/value_set\.json"):
        load_resources("multiwoz-2.1", root)
    (tmp_path / "convlab2").mkdir()
    (tmp_path / "convlab2" / "value_set.json").write_text('{"hotel": {"area": 4}}')
    with pytest.raises(DataError, match=r"value_set\.json"):
        load_resources("multiwoz-2.1", root)
    (tmp_path / "db" / "hotel_db.json").write_text(json.dumps(["alpha"]))
    with pytest.raises(DataError, match=r"hotel_db\.json"):
        load_act_database(root)


def test_the_values_of_the_sample_are_those_of_its_database() -> None:
    resources = load_resources(SAMPLE, corpus_root(SAMPLE, None, offline=True))
    names = [str(row["name"]) for row in resources.database.records("restaurant")]
    for name in names:
        assert resources.user_values.normalized("restaurant", "name", name.upper()) == name
        assert resources.system_values.understand("restaurant", "name", f"{name}!") in names


@pytest.mark.integration
def test_what_the_corpus_lacks_of_police_and_hospital_is_as_published() -> None:
    """So the database files of the corpus are enough."""
    database = load_act_database(DataRoot(shared("data", "multiwoz"), "--data"))
    tables = {
        domain: read_json(shared("data", "live", "convlab2", f"{domain}_db.json"))
        for domain in ("police", "hospital")
    }
    published = ActDatabase(tables)
    for domain in tables:
        assert database.records(domain) == published.records(domain)
