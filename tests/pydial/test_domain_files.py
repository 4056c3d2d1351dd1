"""Domains are read from files, and all problems of the files are reported together."""

from __future__ import annotations

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

INFORMABLE: dict[str, list[str]] = ONTOLOGY["informable"]  # type: ignore[assignment]


def written(folder: Path, ontology: Any, rows: Any) -> tuple[Path, Path]:
    files = folder / "Cafes-rules.json", folder / "Cafes-entities.json"
    for file, content in zip(files, (ontology, rows), strict=True):
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return files


def changed(**changes: Any) -> dict[str, Any]:
    """Return the ontology with changed keys."""
    return {**ONTOLOGY, **changes}


def with_values(**values: Any) -> dict[str, Any]:
    """Return the ontology with changed slot values."""
    return changed(informable={**INFORMABLE, **values})


def cafe(number: int, **changes: Any) -> dict[str, Any]:
    """Return an entity with changed values."""
    return {**ROWS[number], **changes}


@pytest.mark.integration
@pytest.mark.parametrize("code", CODES)
def test_published_domains_have_the_published_counts(code: str) -> None:
    found = domain(code)
    facts = read_json(shared("data", "pydial", "domain_facts.json"))[found.name]
    ontology = found.ontology
    assert len(found.table.rows) == facts["entities"]
    assert {s: len(values) for s, values in ontology.informable.items()} == facts["informable"]
    assert list(ontology.constraint_slots) == facts["system_requestable"]
    assert sorted(ontology.only_requestable) == facts["user_only_requestable"]
    assert sorted(ontology.binary_slots) == facts["binary_slots"]
    # A JSON file has the same rows in the same order.
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
def test_embedded_domains_have_the_sizes_of_the_published_domains(code: str) -> None:
    assert shape(load_domain(f"Demo-{code}")) == shape(domain(code))


def test_custom_domains_load_from_json_and_sqlite_and_can_be_pickled(tmp_path: Path) -> None:
    ontology_file, entities_file = written(tmp_path, ONTOLOGY, ROWS)
    from_json, warnings = read_domain(ontology_file, entities_file)
    database = tmp_path / "own.db"
    with sqlite3.connect(database) as connection:
        connection.execute(f"CREATE TABLE venues ({', '.join(COLUMNS)})")
        marks = ", ".join("?" * len(COLUMNS))
        rows = [tuple(row.values()) for row in ROWS]
        connection.executemany(f"INSERT INTO venues VALUES ({marks})", rows)
    from_sqlite, _ = read_domain(ontology_file, database, "Cafes")
    again = pickle.loads(pickle.dumps(from_json))
    assert from_json.name == "Cafes"
    assert from_json.ontology == from_sqlite.ontology == again.ontology
    assert from_json.table.rows == from_sqlite.table.rows == again.table.rows == tuple(ROWS)
    assert again.table.having("area", "north") == 0b100011
    (warning,) = warnings
    assert warning.severity == "warning"
    assert '"twin"' in warning.message


def errors_of(folder: Path, ontology: Any, rows: Any) -> list[Problem]:
    """Return the errors of a domain's files."""
    with pytest.raises(InputError) as caught:
        read_domain(*written(folder, ontology, rows))
    return [problem for problem in caught.value.problems if problem.severity == "error"]


REQUESTABLE = ["requestable"]
WRONG_ONTOLOGIES: list[tuple[Any, list[str | None]]] = [
    ([], [None]),
    ("{", [None]),
    (with_values(food=["pie"]), ["informable.food"]),
    (
        {},
        [
            *("type", "requestable", "system_requestable", "informable"),
            *("requestable", "system_requestable", None, "type"),
        ],
    ),
    (changed(type=3), ["type"]),
    (changed(type="dontcare"), ["type"]),
    (changed(type='a "good" place'), ["type"]),
    (changed(system_requestable=["area", "colour"]), ["informable.colour", *REQUESTABLE]),
    (changed(requestable=["area"]), [*REQUESTABLE * 3, None]),
    (changed(requestable="name"), [*REQUESTABLE * 5, None]),
    (
        with_values(
            area=[], food=["cake", "cake", " "], quiet=[0, 1], pricerange=["dontcare", "Dear"]
        ),
        [
            *("informable.area", "informable.food", "informable.food", "informable.quiet"),
            *("informable.pricerange", "informable.pricerange"),
        ],
    ),
    (
        with_values(**{"a,b": ["x"], "tone": ['so "so"']})
        | {"requestable": [*ONTOLOGY["requestable"], "type"]},
        ["informable.tone", None, None, *["type"] * len(ROWS)],
    ),
    (changed(method=5, discourseAct=["ack", {}]), ["method", "discourseAct"]),
    (
        changed(method=["byname"], discourseAct=["hello", "none", "bye"]),
        ["method", "discourseAct"],
    ),
    (json.dumps(ONTOLOGY).replace('"food": [', '"food": ["p", "t"], "food": ['), ["informable"]),
    (json.dumps(ONTOLOGY)[:-1] + ', "type": "bar"}', [None]),
]


@pytest.mark.parametrize(("ontology", "keys"), WRONG_ONTOLOGIES)
def test_all_errors_in_an_ontology_are_reported(
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
        *(([cafe(0, name=name), *ROWS], [("name", "row 1")]) for name in ("", "None")),
        ([cafe(0, area=" ", food=None)], [("area", "row 1"), ("food", "row 1")]),
        ([cafe(0, quiet=1), cafe(1, quiet=[])], [("quiet", "row 1"), ("quiet", "row 2")]),
    ],
)
def test_all_errors_in_the_entities_are_reported(
    rows: Any, places: list[tuple[str | None, str]], tmp_path: Path
) -> None:
    found = errors_of(tmp_path, ONTOLOGY, rows)
    assert [(p.kind, p.key) for p in found] == [("entities", key) for key, _ in places]
    for problem, (_, row) in zip(found, places, strict=True):
        assert row in problem.message


def test_errors_in_both_files_are_reported_together(tmp_path: Path) -> None:
    found = errors_of(tmp_path, changed(type=""), [{"name": "x"}])
    assert {problem.kind for problem in found} == {"ontology", "entities"}


def test_missing_values_are_accepted_and_unlisted_values_are_warnings(tmp_path: Path) -> None:
    rows = [cafe(0, phone="", area="not available", food="fish"), *ROWS[1:6]]
    _, (warning,) = read_domain(*written(tmp_path, ONTOLOGY, rows))
    assert (warning.key, warning.severity) == ("food", "warning")
    assert '"fish"' in warning.message


def test_names_and_informable_values_are_lowercased(tmp_path: Path) -> None:
    rows = [cafe(0, name="Anna", area="North", addr="1 Elm Lane"), *ROWS[1:6]]
    own, warnings = read_domain(*written(tmp_path, ONTOLOGY, rows))
    assert own.table.rows == (cafe(0, addr="1 Elm Lane"), *ROWS[1:6])
    assert not warnings


def test_an_ontology_with_many_values_is_read_quickly(tmp_path: Path) -> None:
    # A quadratic comparison would take minutes.
    names = [f"name {number}" for number in range(20_000)]
    domain, _ = read_domain(*written(tmp_path, with_values(name=names), ROWS))
    assert domain.ontology.informable["name"] == tuple(names)


def test_unknown_domains_are_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match='"SFR"'):
        load_domain("SFRR")


def test_missing_domain_files_are_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"CamRestaurants-rules\.json"):
        load_domain("CR", tmp_path)


@pytest.mark.integration
def test_the_data_folder_may_have_a_pydial_subfolder(tmp_path: Path) -> None:
    (tmp_path / "pydial").symlink_to(shared("data", "pydial"))
    assert load_domain("CR", tmp_path).table.rows == domain("CR").table.rows


@pytest.mark.parametrize("name", [b"own.db", b"odd \xff ?#%41.db"])
@pytest.mark.parametrize("broken", [None, b"venues", b"area", b"riverside"])
def test_invalid_text_in_a_database_is_reported_for_any_file_name(
    broken: bytes | None, name: bytes, tmp_path: Path
) -> None:
    ontology_file, _ = written(tmp_path, ONTOLOGY, ROWS)
    database = tmp_path / os.fsdecode(name)
    with sqlite3.connect(os.fsencode(database)) as connection:
        connection.execute("CREATE TABLE venues (name, area)")
        connection.execute("INSERT INTO venues VALUES ('riverside', 'north')")
    raw = database.read_bytes()
    if broken is not None:
        assert broken in raw
        database.write_bytes(raw.replace(broken, b"\xff\xc3" + broken[2:]))
    with pytest.raises(InputError) as caught:
        read_domain(ontology_file, database)
    assert caught.value.problems[0].kind == "entities"
    assert len(caught.value.problems) == (len(COLUMNS) - 2 if broken is None else 1)


@pytest.mark.parametrize("content", [b"nonsense" * 200, b""])
def test_invalid_database_files_are_refused(content: bytes, tmp_path: Path) -> None:
    ontology_file, _ = written(tmp_path, ONTOLOGY, ROWS)
    database = tmp_path / "own.db"
    database.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_domain(ontology_file, database)
    assert caught.value.problems[0].file == str(database)


@pytest.mark.parametrize("odd", ["\ud800", "a\x00b", "a\nb", "\x1b[2J"])
def test_unprintable_text_is_reported(odd: str, tmp_path: Path) -> None:
    ontology = with_values(**{"area": ["north", odd], odd: ["x", "y"]}) | {"type": odd}
    told = errors_of(tmp_path, ontology, [*ROWS[:-1], cafe(-1, name=odd)])
    assert {(p.kind, p.key) for p in told} == {
        *(("ontology", key) for key in ("informable", "informable.area", "type")),
        ("entities", "name"),
    }
    for problem in told:
        assert str(problem).isprintable()
        str(problem).encode()


def test_overlong_values_are_reported(tmp_path: Path) -> None:
    longest = "x" * 1000
    rows = [{**row, "note": "of no use in dialogues " * 100} for row in ROWS]
    read_domain(*written(tmp_path, with_values(area=["north", longest]), rows))
    rows[-1]["name"] = "y" * 1_000_000
    told = errors_of(tmp_path, with_values(area=["north", longest + "x"]), rows)
    assert [(p.kind, p.key) for p in told] == [
        ("ontology", "informable.area"),
        ("entities", "name"),
    ]
    assert all(len(problem.message) < 500 for problem in told)
