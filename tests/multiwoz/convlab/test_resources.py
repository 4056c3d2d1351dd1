"""Database queries follow the specification; published and sample files are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mwzeval.errors import DataError
from mwzeval.files.downloads import DataRoot
from mwzeval.multiwoz import SAMPLE
from mwzeval.multiwoz.convlab.resources import (
    TABLES,
    ActDatabase,
    load_act_database,
    load_resources,
    system_values,
    user_values,
)
from mwzeval.multiwoz.corpus import corpus_root
from tests.cases import tabled
from tests.places import read_json, shared


@pytest.mark.integration
@pytest.mark.parametrize("place", [("data",), ("data", "multiwoz")])
def test_published_value_lists_are_found_next_to_the_corpus(place: tuple[str, ...]) -> None:
    root = corpus_root("multiwoz-2.1", shared(*place), offline=True)
    resources = load_resources("multiwoz-2.1", root)
    assert resources.system_values("hotel", "stars", "4 stars") == "4"
    assert resources.user_values("hotel", "area", "the north") == "north"


def test_errors_name_the_missing_or_invalid_resource_file(tmp_path: Path) -> None:
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


def test_sample_values_come_from_the_sample_database() -> None:
    resources = load_resources(SAMPLE, corpus_root(SAMPLE, None, offline=True))
    names = [str(row["name"]) for row in resources.database.records("restaurant")]
    for name in names:
        assert resources.user_values("restaurant", "name", name.upper()) == name
        assert resources.system_values("restaurant", "name", f"{name}!") in names


@pytest.mark.integration
def test_police_and_hospital_records_match_the_published_tables() -> None:
    """Therefore the database files of the corpus are sufficient."""
    database = load_act_database(DataRoot(shared("data", "multiwoz"), "--data"))
    tables = {
        domain: read_json(shared("data", "live", "convlab2", f"{domain}_db.json"))
        for domain in ("police", "hospital")
    }
    published = ActDatabase(tables)
    for domain in tables:
        assert database.records(domain) == published.records(domain)


HOTELS: list[dict[str, Any]] = [
    {"name": "Alpha", "area": "north ", "stars": "4", "price": {"single": "50"}},
    {"name": "beta house", "area": "centre", "stars": "?"},
    {"name": "gamma", "area": "Centre", "phone": "01223"},
]
TRAINS = [
    {"leaveAt": "05:00", "arriveBy": "05:51", "day": "monday"},
    {"leaveAt": "11:00", "arriveBy": "11:51", "day": "monday"},
    {"leaveAt": "?", "arriveBy": "24:08", "day": "sunday"},
]
HOSPITALS = [{"department": "Neurology"}, {"department": "paediatrics"}]
SMALL = ActDatabase(
    {"hotel": HOTELS, "train": TRAINS, "hospital": HOSPITALS, "police": [{"name": "station"}]}
)


@tabled
def test_query_returns_the_records_not_excluded_by_constraints(
    domain: str, constraints: dict[str, str], found: list[int]
) -> None:
    records = SMALL.query(domain, constraints.items())
    assert [record["Ref"] for record in records] == [f"{number:08d}" for number in found]


@pytest.mark.parametrize(
    ("domain", "soft", "found"),
    [
        ("hotel", {"name": "BETA"}, [1]),
        ("hotel", {"name": "?"}, []),
        ("hotel", {"stars": "?"}, [1, 2]),
        # Times are not compared as strings: a later departure satisfies the constraint.
        ("train", {"leaveAt": "09:59"}, [1, 2]),
        ("hospital", {"department": "?"}, [0, 1]),
    ],
)
def test_soft_constraints_match_similar_values(
    domain: str, soft: dict[str, str], found: list[int]
) -> None:
    records = SMALL.query(domain, (), soft.items())
    assert [int(record["Ref"]) for record in records] == found


PUBLIC = {
    "hotel": {
        "stars": ["4", "0", "3"],
        "parking": ["no", "yes"],
        "name": ["El Shaddai", "alpha-milton guest house", "rosa's bed  and breakfast"],
    },
    "train": {"arriveBy": ["21:17", "17:15", "17:10"]},
}
VALUES = system_values(PUBLIC)


@tabled
def test_system_values_are_mapped_to_listed_values(
    domain: str, slot: str, value: str, understood: str
) -> None:
    assert VALUES(domain, slot, value) == understood


@given(st.text(alphabet="elshadi 's-ELSH\t", max_size=14), st.sampled_from(["name", "stars"]))
@example("\u0130", "name")
def test_mapped_system_values_are_listed_or_unchanged(value: str, slot: str) -> None:
    listed = {" ".join(text.split()) for text in PUBLIC["hotel"][slot]}
    understood = VALUES("hotel", slot, value)
    assert understood == value or understood in listed | {text.lower() for text in listed}


LISTED: dict[str, dict[str, list[str]]] = {
    "hotel": {
        "name": ["the junction inn", "alpha-milton guest house", "john's house", "city centre"],
        "internet": ["yes", "no"],
        "area": ["east", "west"],
    },
    "train": {"leaveat": ["17:21", "17:15", "05:00"], "day": ["monday"]},
    "taxi": {"leaveat": []},
}
SPELLINGS = user_values(LISTED)


@tabled
def test_spellings_are_mapped_to_listed_values(
    domain: str, slot: str, said: str, written: str
) -> None:
    assert SPELLINGS(domain, slot, said) == written
