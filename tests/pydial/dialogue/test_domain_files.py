"""Domains are read from files, and everything that is wrong with them is told at once."""

from __future__ import annotations

import copy
import json
import os
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from mwzeval.errors import DataError, InputError, UsageError
from mwzeval.pydial.dialogue.domain_files import load_domain, read_domain
from tests.places import read_json, shared
from tests.pydial.real_domains import CODES, domain
from tests.pydial.small_domain import COLUMNS, ONTOLOGY, ROWS


def written(folder: Path, ontology: Any, rows: Any) -> tuple[Path, Path]:
    files = folder / "Cafes-rules.json", folder / "Cafes-entities.json"
    for file, content in zip(files, (ontology, rows), strict=True):
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return files


def changed(content: Any, **changes: Any) -> Any:
    return {**copy.deepcopy(content), **changes}


@pytest.mark.parametrize("code", CODES)
def test_published_domains_have_the_published_numbers(code: str) -> None:
    found = domain(code)
    facts = read_json(shared("data", "pydial", "domain_facts.json"))[found.name]
    ontology = found.ontology
    assert len(found.table.rows) == facts["entities"]
    assert {slot: len(values) for slot, values in ontology.informable.items()} == facts[
        "informable"
    ]
    assert list(ontology.constraint_slots) == facts["system_requestable"]
    assert sorted(ontology.only_requestable) == facts["user_only_requestable"]
    assert sorted(ontology.binary_slots) == facts["binary_slots"]


@pytest.mark.parametrize("code", CODES)
def test_the_database_and_its_json_twin_have_the_same_rows_in_the_same_order(code: str) -> None:
    found = domain(code)
    twin = read_json(shared("data", "pydial", "db", f"{found.name}-entities.json"))
    assert list(found.table.rows) == twin


def test_own_domains_are_read_from_json_and_sqlite(tmp_path: Path) -> None:
    ontology_file, entities_file = written(tmp_path, ONTOLOGY, ROWS)
    from_json, warnings = read_domain(ontology_file, entities_file)
    database = tmp_path / "own.db"
    with sqlite3.connect(database) as connection:
        connection.execute(f"CREATE TABLE venues ({', '.join(COLUMNS)})")
        marks = ", ".join("?" * len(COLUMNS))
        rows = [tuple(row.values()) for row in ROWS]
        connection.executemany(f"INSERT INTO venues VALUES ({marks})", rows)
    from_sqlite, _ = read_domain(ontology_file, database, "Cafes")
    assert from_json.name == "Cafes"
    assert from_json.table.rows == from_sqlite.table.rows == tuple(ROWS)
    (warning,) = warnings
    assert warning.severity == "warning"
    assert '"twin"' in warning.message


def test_domains_survive_pickling(tmp_path: Path) -> None:
    found, _ = read_domain(*written(tmp_path, ONTOLOGY, ROWS))
    again = pickle.loads(pickle.dumps(found))
    assert again.ontology == found.ontology
    assert again.table.rows == found.table.rows
    assert again.table.matching((("area", "north"),)) == 0b100011


WRONG_ONTOLOGIES: list[tuple[Any, list[str]]] = [
    ([], ["expected an object"]),
    (
        changed(ONTOLOGY, informable={**ONTOLOGY["informable"], "food": ["pie"]}),  # type: ignore[dict-item]
        ["informable.food", "nothing to request"],
    ),
    ({}, ['key "type"', 'key "requestable"', 'key "system_requestable"', 'key "informable"']),
    (changed(ONTOLOGY, type=3), ["expected the word for an entity"]),
    (changed(ONTOLOGY, system_requestable=["area", "colour"]), ["informable.colour", '"colour"']),
    (changed(ONTOLOGY, requestable=["area"]), ['"name": it must be', '"food" is not among']),
    (changed(ONTOLOGY, requestable="name"), ["expected a list of texts"]),
    (
        changed(
            ONTOLOGY,
            informable={
                **ONTOLOGY["informable"],  # type: ignore[dict-item]
                "area": [],
                "food": ["cake", "cake", " "],
                "quiet": [0, 1],
                "pricerange": ["dontcare", "Dear"],
            },
        ),
        [
            'informable.area": the list is empty',
            'informable.food": given more than once: cake',
            'informable.food": one of the texts is empty',
            'informable.quiet": expected a list of texts',
            '"dontcare" has a meaning of its own',
            '"Dear" must be in lower case',
        ],
    ),
    (
        changed(
            ONTOLOGY,
            requestable=[*ONTOLOGY["requestable"], "type"],
            informable={**ONTOLOGY["informable"], "a,b": ["x"], "tone": ['so "so"']},  # type: ignore[dict-item]
        ),
        ['"type" has a meaning of its own', '"a,b" cannot be written', "has a quotation mark"],
    ),
    (
        changed(ONTOLOGY, method=5, discourseAct=["ack", {}]),
        ['key "method": expected a list of texts', 'key "discourseAct": expected a list of texts'],
    ),
    (
        changed(ONTOLOGY, method=["byname"], discourseAct=["hello", "none", "bye"]),
        ["none, byconstraints, finished,", "ack, repeat, silence, thankyou is missing"],
    ),
    ("{", ["not valid JSON"]),
]


@pytest.mark.parametrize(("ontology", "messages"), WRONG_ONTOLOGIES)
def test_everything_wrong_with_an_ontology_is_told(
    ontology: Any, messages: list[str], tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        read_domain(*written(tmp_path, ontology, ROWS))
    for message in messages:
        assert message in str(caught.value)
    assert "Cafes-rules.json" in str(caught.value)


WRONG_ROWS: list[tuple[Any, list[str]]] = [
    ([], ["there are no entities"]),
    ({"a": 1}, ["expected a list of entities"]),
    ([1, *ROWS], ["row 1: expected an object of slots, got 1"]),
    (
        [{"nane": "x"}, *ROWS],
        ['row 1: the slot is missing — did you mean "nane"?', 'key "phone": row 1'],
    ),
    ([changed(ROWS[0], name=""), *ROWS], ["row 1: the value is empty"]),
    ([changed(ROWS[0], name="None"), *ROWS], ['row 1: "None" has a meaning of its own']),
    ([changed(ROWS[0], area=" ", food=None)], ['key "area": row 1: the value is', "got None"]),
    ([changed(ROWS[0], quiet=1), changed(ROWS[1], quiet=[])], ["got 1", "row 2: expected a text"]),
]


@pytest.mark.parametrize(("rows", "messages"), WRONG_ROWS)
def test_everything_wrong_with_the_entities_is_told(
    rows: Any, messages: list[str], tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        read_domain(*written(tmp_path, ONTOLOGY, rows))
    for message in messages:
        assert message in str(caught.value)


def test_problems_of_both_files_are_told_together(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_domain(*written(tmp_path, changed(ONTOLOGY, type=""), [{"name": "x"}]))
    assert {problem.kind for problem in caught.value.problems} == {"ontology", "entities"}


def test_facts_may_be_unknown_and_values_unlisted(tmp_path: Path) -> None:
    rows = [changed(ROWS[0], phone="", area="not available", food="fish"), *ROWS[1:6]]
    _, warnings = read_domain(*written(tmp_path, ONTOLOGY, rows))
    (warning,) = warnings
    assert (warning.key, warning.severity) == ("food", "warning")
    assert '"fish"' in warning.message


def test_values_are_in_lower_case_where_users_compare_them(tmp_path: Path) -> None:
    rows = [changed(ROWS[0], name="Anna", area="North", addr="1 Elm Lane"), *ROWS[1:6]]
    own, warnings = read_domain(*written(tmp_path, ONTOLOGY, rows))
    assert own.table.rows == ({**ROWS[0], "addr": "1 Elm Lane"}, *ROWS[1:6])
    assert not warnings


@pytest.mark.parametrize(
    ("content", "message"), [(b"nonsense" * 200, "cannot be read as SQLite"), (b"", "no table")]
)
def test_what_is_no_database_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    ontology_file, _ = written(tmp_path, ONTOLOGY, ROWS)
    database = tmp_path / "own.db"
    database.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_domain(ontology_file, database)


def test_unknown_domains_are_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match='did you mean "SFR"'):
        load_domain("SFRR")


def test_missing_files_say_where_they_are_published(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"CamRestaurants-rules\.json is published at https"):
        load_domain("CR", tmp_path)


def test_a_data_folder_may_hold_pydial_beside_others(tmp_path: Path) -> None:
    (tmp_path / "pydial").symlink_to(shared("data", "pydial"))
    assert load_domain("CR", tmp_path).table.rows == domain("CR").table.rows


def test_what_an_ontology_gives_twice_is_told(tmp_path: Path) -> None:
    text = json.dumps(ONTOLOGY).replace('"informable": {', '"informable": {"food": ["bread"],')
    with pytest.raises(InputError, match='key "informable": given more than once: food'):
        read_domain(*written(tmp_path, text, ROWS))
    text = json.dumps(ONTOLOGY)[:-1] + ', "type": "bar"}'
    with pytest.raises(InputError, match="given more than once: type"):
        read_domain(*written(tmp_path, text, ROWS))


def test_an_ontology_of_many_values_is_read(tmp_path: Path) -> None:
    # So many that comparing each with all would take an hour.
    names = [f"name {number}" for number in range(200_000)]
    many = changed(ONTOLOGY, informable={**ONTOLOGY["informable"], "name": names})  # type: ignore[dict-item]
    domain, _ = read_domain(*written(tmp_path, many, ROWS))
    assert domain.ontology.informable["name"] == tuple(names)


def test_databases_may_have_any_name_that_files_have(tmp_path: Path) -> None:
    ontology_file, _ = written(tmp_path, ONTOLOGY, ROWS)
    database = tmp_path / os.fsdecode(b"odd \xff ?#%41.db")
    database.write_bytes(b"")
    with sqlite3.connect(os.fsencode(database)) as connection:
        connection.execute(f"CREATE TABLE venues ({', '.join(COLUMNS)})")
    with pytest.raises(InputError, match="there are no entities"):
        read_domain(ontology_file, database)


@pytest.mark.parametrize(
    "broken", [b"venues", b"area", b"riverside"], ids=["table", "slot", "text"]
)
def test_broken_text_in_a_database_is_told(broken: bytes, tmp_path: Path) -> None:
    ontology_file, _ = written(tmp_path, ONTOLOGY, ROWS)
    database = tmp_path / "own.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE venues (name, area)")
        connection.execute("INSERT INTO venues VALUES ('riverside', 'north')")
    raw = database.read_bytes()
    assert broken in raw
    database.write_bytes(raw.replace(broken, b"\xff\xc3" + broken[2:]))
    with pytest.raises(InputError, match=r"own\.db: cannot be read as SQLite: .*"):
        read_domain(ontology_file, database, "Cafes")


@pytest.mark.parametrize("odd", ["\ud800", "a\x00b", "a\nb", "\x1b[2J"])
def test_text_that_cannot_be_shown_is_told(odd: str, tmp_path: Path) -> None:
    ontology: dict[str, Any] = changed(ONTOLOGY, type=odd)
    ontology["informable"] |= {"area": ["north", odd], odd: ["x", "y"]}
    with pytest.raises(InputError) as error:
        read_domain(*written(tmp_path, ontology, [*ROWS[:-1], {**ROWS[-1], "name": odd}]))
    told = [p for p in error.value.problems if "control characters" in p.message]
    assert [p.key for p in told if p.kind == "ontology"] == [
        "informable",
        "informable.area",
        "type",
    ]
    assert [p.key for p in told if p.kind == "entities"] == ["name"]
    assert str(error.value).isprintable() or "\n" in str(error.value)
    str(error.value).encode()


def test_text_that_would_flood_files_is_told(tmp_path: Path) -> None:
    longest = "x" * 1000
    ontology: dict[str, Any] = changed(ONTOLOGY)
    ontology["informable"]["area"] = ["north", longest]
    rows = [{**row, "note": "of no use in dialogues " * 100} for row in ROWS]
    read_domain(*written(tmp_path, ontology, rows))
    ontology["informable"]["area"] = ["north", longest + "x"]
    rows[-1]["name"] = "y" * 1_000_000
    with pytest.raises(InputError, match=r'"x+…?" has more than 1,000 characters') as error:
        read_domain(*written(tmp_path, ontology, rows))
    told = [p for p in error.value.problems if "1,000 characters" in p.message]
    assert [(p.kind, p.key) for p in told] == [
        ("ontology", "informable.area"),
        ("entities", "name"),
    ]
    assert len(str(error.value)) < 2000
