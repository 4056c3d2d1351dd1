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

from mwzeval.errors import DataError, InputError, Problem, UsageError
from mwzeval.pydial.domain import Domain, load_domain, read_domain
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


@pytest.mark.integration
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


@pytest.mark.integration
@pytest.mark.parametrize("code", CODES)
def test_the_database_and_its_json_twin_have_the_same_rows_in_the_same_order(code: str) -> None:
    found = domain(code)
    twin = read_json(shared("data", "pydial", "db", f"{found.name}-entities.json"))
    assert list(found.table.rows) == twin


def shape(found: Domain) -> dict[str, object]:
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


@pytest.mark.integration
@pytest.mark.parametrize("code", CODES)
def test_embedded_domains_have_the_shape_of_the_published(code: str) -> None:
    assert shape(load_domain(f"Demo-{code}")) == shape(domain(code))


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
    assert again.table.having("area", "north") == 0b100011


def errors_of(folder: Path, ontology: Any, rows: Any) -> list[Problem]:
    """Return the errors of two files."""
    with pytest.raises(InputError) as caught:
        read_domain(*written(folder, ontology, rows))
    return [problem for problem in caught.value.problems if problem.severity == "error"]


INFORMABLE: dict[str, list[str]] = ONTOLOGY["informable"]  # type: ignore[assignment]
WRONG_ONTOLOGIES: list[tuple[Any, list[str | None]]] = [
    ([], [None]),
    (changed(ONTOLOGY, informable={**INFORMABLE, "food": ["pie"]}), ["informable.food"]),
    (
        {},
        [
            *("type", "requestable", "system_requestable", "informable"),
            *("requestable", "system_requestable", None, "type"),
        ],
    ),
    (changed(ONTOLOGY, type=3), ["type"]),
    (changed(ONTOLOGY, type="dontcare"), ["type"]),
    (changed(ONTOLOGY, type='a "good" place'), ["type"]),
    (
        changed(ONTOLOGY, system_requestable=["area", "colour"]),
        ["informable.colour", "requestable"],
    ),
    (changed(ONTOLOGY, requestable=["area"]), ["requestable"] * 3 + [None]),
    (changed(ONTOLOGY, requestable="name"), ["requestable"] * 5 + [None]),
    (
        changed(
            ONTOLOGY,
            informable={
                **INFORMABLE,
                "area": [],
                "food": ["cake", "cake", " "],
                "quiet": [0, 1],
                "pricerange": ["dontcare", "Dear"],
            },
        ),
        [
            *("informable.area", "informable.food", "informable.food", "informable.quiet"),
            *("informable.pricerange", "informable.pricerange"),
        ],
    ),
    (
        changed(
            ONTOLOGY,
            requestable=[*ONTOLOGY["requestable"], "type"],
            informable={**INFORMABLE, "a,b": ["x"], "tone": ['so "so"']},
        ),
        ["informable.tone", None, None, *["type"] * len(ROWS)],
    ),
    (changed(ONTOLOGY, method=5, discourseAct=["ack", {}]), ["method", "discourseAct"]),
    (
        changed(ONTOLOGY, method=["byname"], discourseAct=["hello", "none", "bye"]),
        ["method", "discourseAct"],
    ),
    ("{", [None]),
]


@pytest.mark.parametrize(("ontology", "keys"), WRONG_ONTOLOGIES)
def test_everything_wrong_with_an_ontology_is_told(
    ontology: Any, keys: list[str | None], tmp_path: Path
) -> None:
    found = errors_of(tmp_path, ontology, ROWS)
    assert [problem.key for problem in found] == keys
    assert str(found[0].file).endswith("Cafes-rules.json")


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        ([], [(None, "")]),
        ({"a": 1}, [(None, "")]),
        ([1, *ROWS], [(None, "row 1")]),
        ([{"nane": "x"}, *ROWS], [(column, "row 1") for column in COLUMNS]),
        ([changed(ROWS[0], name=""), *ROWS], [("name", "row 1")]),
        ([changed(ROWS[0], name="None"), *ROWS], [("name", "row 1")]),
        ([changed(ROWS[0], area=" ", food=None)], [("area", "row 1"), ("food", "row 1")]),
        (
            [changed(ROWS[0], quiet=1), changed(ROWS[1], quiet=[])],
            [("quiet", "row 1"), ("quiet", "row 2")],
        ),
    ],
)
def test_everything_wrong_with_the_entities_is_told(
    rows: Any, places: list[tuple[str | None, str]], tmp_path: Path
) -> None:
    found = errors_of(tmp_path, ONTOLOGY, rows)
    assert [(p.kind, p.key) for p in found] == [("entities", key) for key, _ in places]
    for problem, (_, row) in zip(found, places, strict=True):
        assert row in problem.message


def test_problems_of_both_files_are_told_together(tmp_path: Path) -> None:
    found = errors_of(tmp_path, changed(ONTOLOGY, type=""), [{"name": "x"}])
    assert {problem.kind for problem in found} == {"ontology", "entities"}


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


@pytest.mark.parametrize("content", [b"nonsense" * 200, b""])
def test_what_is_no_database_is_refused(content: bytes, tmp_path: Path) -> None:
    ontology_file, _ = written(tmp_path, ONTOLOGY, ROWS)
    database = tmp_path / "own.db"
    database.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_domain(ontology_file, database)
    assert caught.value.problems[0].file == str(database)


def test_unknown_domains_are_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match='"SFR"'):
        load_domain("SFRR")


def test_missing_files_say_where_they_are_published(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"CamRestaurants-rules\.json"):
        load_domain("CR", tmp_path)


@pytest.mark.integration
def test_a_data_folder_may_hold_pydial_beside_others(tmp_path: Path) -> None:
    (tmp_path / "pydial").symlink_to(shared("data", "pydial"))
    assert load_domain("CR", tmp_path).table.rows == domain("CR").table.rows


def test_what_an_ontology_gives_twice_is_told(tmp_path: Path) -> None:
    text = json.dumps(ONTOLOGY)
    of_slot = text.replace('"informable": {', '"informable": {"food": ["bread"],')
    for twice, name in ((of_slot, "food"), (text[:-1] + ', "type": "bar"}', "type")):
        assert any(name in problem.message for problem in errors_of(tmp_path, twice, ROWS))


def test_an_ontology_of_many_values_is_read(tmp_path: Path) -> None:
    # So many that comparing each with all would take minutes.
    names = [f"name {number}" for number in range(20_000)]
    many = changed(ONTOLOGY, informable={**ONTOLOGY["informable"], "name": names})  # type: ignore[dict-item]
    domain, _ = read_domain(*written(tmp_path, many, ROWS))
    assert domain.ontology.informable["name"] == tuple(names)


def test_databases_may_have_any_name_that_files_have(tmp_path: Path) -> None:
    ontology_file, _ = written(tmp_path, ONTOLOGY, ROWS)
    database = tmp_path / os.fsdecode(b"odd \xff ?#%41.db")
    database.write_bytes(b"")
    with sqlite3.connect(os.fsencode(database)) as connection:
        connection.execute(f"CREATE TABLE venues ({', '.join(COLUMNS)})")
    with pytest.raises(InputError) as caught:
        read_domain(ontology_file, database)
    assert [problem.kind for problem in caught.value.problems] == ["entities"]


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
    with pytest.raises(InputError) as caught:
        read_domain(ontology_file, database, "Cafes")
    assert caught.value.problems[0].file == str(database)


@pytest.mark.parametrize("odd", ["\ud800", "a\x00b", "a\nb", "\x1b[2J"])
def test_text_that_cannot_be_shown_is_told(odd: str, tmp_path: Path) -> None:
    ontology: dict[str, Any] = changed(ONTOLOGY, type=odd)
    ontology["informable"] |= {"area": ["north", odd], odd: ["x", "y"]}
    told = errors_of(tmp_path, ontology, [*ROWS[:-1], {**ROWS[-1], "name": odd}])
    assert {p.key for p in told if p.kind == "ontology"} == {
        "informable",
        "informable.area",
        "type",
    }
    assert {p.key for p in told if p.kind == "entities"} == {"name"}
    for problem in told:
        assert str(problem).isprintable()
        str(problem).encode()


def test_text_that_would_flood_files_is_told(tmp_path: Path) -> None:
    longest = "x" * 1000
    ontology: dict[str, Any] = changed(ONTOLOGY)
    ontology["informable"]["area"] = ["north", longest]
    rows = [{**row, "note": "of no use in dialogues " * 100} for row in ROWS]
    read_domain(*written(tmp_path, ontology, rows))
    ontology["informable"]["area"] = ["north", longest + "x"]
    rows[-1]["name"] = "y" * 1_000_000
    told = errors_of(tmp_path, ontology, rows)
    assert [(p.kind, p.key) for p in told] == [
        ("ontology", "informable.area"),
        ("entities", "name"),
    ]
    assert all(len(problem.message) < 500 for problem in told)
