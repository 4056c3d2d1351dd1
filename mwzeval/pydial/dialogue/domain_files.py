"""Domains from files: the published ones, the embedded ones, or a user's own.

A domain is an ontology (JSON) and its entities (SQLite or JSON), which are checked against it.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten, unknown
from mwzeval.files.downloads import DataRoot, all_there, embedded, locate
from mwzeval.files.reading import RepeatedKeys, check_size, read_json
from mwzeval.pydial.dialogue.domain import (
    LONGEST_TEXT,
    NAME,
    RESERVED,
    UNAVAILABLE,
    Domain,
    EntityTable,
    Ontology,
    has_controls,
    ontology_from_json,
)
from mwzeval.pydial.tasks import DEMO, DOMAIN_FILES, OWN, own_code

SQLITE = (".db", ".sqlite", ".sqlite3")
KIND = "entities"


def read_rows(file: Path, domain: str) -> list[Any]:
    """Return the rows of a file in its order, unchecked.

    An SQLite file has a table named as the domain, or only one; its rows come in rowid order. Any
    other file is a JSON list of objects. Raises `InputError`.
    """
    rows = _sqlite_rows(file, domain) if file.suffix in SQLITE else read_json(file)
    if not isinstance(rows, list):
        raise InputError([Problem(KIND, "expected a list of entities", file=str(file))])
    return rows


def _sqlite_rows(file: Path, domain: str) -> list[Any]:
    def wrong(message: str) -> InputError:
        return InputError([Problem(KIND, message, file=str(file))])

    check_size(file)
    try:
        with closing(
            sqlite3.connect(f"file:{quote(os.fsencode(file))}?mode=ro", uri=True)
        ) as connection:
            named = "SELECT name FROM sqlite_master WHERE type = 'table'"
            tables = [str(name) for (name,) in connection.execute(named)]
            table = domain if domain in tables or len(tables) != 1 else tables[0]
            if table not in tables:
                known = ", ".join(tables) or "none"
                hint = did_you_mean(domain, tables)
                raise wrong(f'there is no table "{domain}"{hint} (tables: {known})')
            quoted = table.replace('"', '""')
            cursor = connection.execute(f'SELECT * FROM "{quoted}" ORDER BY rowid')
            columns = [column[0] for column in cursor.description]
            return [dict(zip(columns, row, strict=True)) for row in cursor]
    except (sqlite3.Error, UnicodeError) as error:  # names of tables and columns are decoded, too
        raise wrong(f"cannot be read as SQLite: {shorten(str(error), 200)}") from None


def checked_rows(
    rows: Sequence[Any], requestable: Sequence[str], ontology: Ontology | None, file: str
) -> tuple[list[Mapping[str, str]], list[Problem]]:
    """Return the rows that are entities, and every problem with them.

    Errors: no rows at all, rows that are not objects of texts, missing slots, empty values where
    the ontology lists values (elsewhere they mean that a fact is unknown), names that mean
    something else. Warnings: names given more than once, values that the ontology does not list.
    Without an ontology, for it was wrong, only the requestable slots are looked at. Where the
    ontology lists values the rows have them in lower case, as it has.
    """
    valued = ontology.informable if ontology is not None else ()
    problems: list[Problem] = []
    good: list[Mapping[str, str]] = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            message = f"row {number}: expected an object of slots, got {shorten(repr(row))}"
            problems.append(Problem(KIND, message, file=file))
            continue
        found = list(_row_problems(number, row, requestable, valued, file))
        problems += found
        if not found:
            good.append(_as_said(row, valued))
    if not rows:
        problems.append(Problem(KIND, "there are no entities", file=file))
    repeated = [n for n, count in Counter(row[NAME].lower() for row in good).items() if count > 1]
    if repeated:
        shown = ", ".join(f'"{shorten(name)}"' for name in sorted(repeated)[:5])
        more = f" and {len(repeated) - 5} more" if len(repeated) > 5 else ""
        message = f"names given more than once (looked up, the first row counts): {shown}{more}"
        problems.append(Problem(KIND, message, "warning", file=file, count=len(repeated)))
    if ontology is not None:
        problems += _unlisted(good, ontology, file)
    return good, problems


def _row_problems(
    number: int,
    row: Mapping[str, Any],
    requestable: Sequence[str],
    valued: Container[str],
    file: str,
) -> Iterator[Problem]:
    def wrong(message: str, slot: str | None = None) -> Problem:
        return Problem(KIND, f"row {number}: {message}", file=file, key=slot)

    if isinstance(row, RepeatedKeys):
        yield wrong("a slot is given more than once")
    for slot in dict.fromkeys((NAME, *requestable)):
        if slot not in row:
            yield wrong(f"the slot is missing{did_you_mean(slot, map(str, row))}", slot)
    for slot, value in row.items():
        if not isinstance(value, str):
            yield wrong(f"expected a text, got {shorten(repr(value))}", str(slot))
        elif not value.strip() and (slot == NAME or slot in valued):
            yield wrong('the value is empty; write "not available" where it is unknown', slot)
        elif has_controls(value):
            yield wrong(f'"{shorten(value)}" has control characters or half a character', slot)
        elif len(value) > LONGEST_TEXT and (slot == NAME or slot in requestable):
            yield wrong(f'"{shorten(value)}" has more than {LONGEST_TEXT:,} characters', slot)
        elif slot == NAME and value.lower() in RESERVED:
            yield wrong(f'"{value}" has a meaning of its own and cannot be a name', slot)


def _as_said(row: Mapping[str, str], valued: Container[str]) -> Mapping[str, str]:
    """Return a row with values that users compare with their own, which are in lower case."""
    said = {slot: value.lower() if slot in valued else value for slot, value in row.items()}
    return row if said == row else said


def _unlisted(rows: Sequence[Mapping[str, str]], ontology: Ontology, file: str) -> list[Problem]:
    """Return warnings for values that nobody can ask for, since the ontology lacks them."""
    problems = []
    for slot, values in ontology.informable.items():
        if slot not in ontology.requestable:
            continue
        listed = {value.lower() for value in values} | UNAVAILABLE
        unlisted = Counter(r[slot] for r in rows if r[slot].lower() not in listed)
        if unlisted:
            shown = ", ".join(f'"{shorten(value)}"' for value in sorted(unlisted)[:5])
            message = f"values that the ontology does not list: {shown}"
            count = unlisted.total()
            problems.append(Problem(KIND, message, "warning", file=file, key=slot, count=count))
    return problems


FOLDER = "pydial"
SAMPLE_TASKS = "tasks Demo-CR-1 to Demo-LAP-6"
"""The tasks of embedded domains."""
DOWNLOADED = ("ontology/*-rules.json", "db/*-dbase.db")


def data_root(data: str | Path | None = None, *, offline: bool | None = None) -> DataRoot:
    """Return where PyDial's files are: `data`, else `MWZEVAL_DATA`, else the cache.

    A folder that was named may hold the files, or a folder `pydial` with them. Raises `DataError`
    when it is not there. Nothing is downloaded yet.
    """
    table = embedded(FOLDER, "public_files.tsv")
    root = locate(data, offline=offline, table=table, name=FOLDER, sample=SAMPLE_TASKS)
    inner = root.path / FOLDER
    if root.origin != "cache" and inner.is_dir():
        return replace(root, path=inner)
    return root


class OwnFiles(NamedTuple):
    """The files of a domain of one's own: its ontology (JSON), its entities (JSON or SQLite)."""

    ontology: str
    entities: str

    @property
    def code(self) -> str:
        """The domain in the names of its tasks."""
        return own_code(_name_of(Path(self.ontology)))

    @classmethod
    def given(cls, ontology: str | Path | None, entities: str | Path | None) -> OwnFiles | None:
        """Return both files, None where there are none. Raises `UsageError` for one alone."""
        if ontology is None and entities is None:
            return None
        if ontology is None or entities is None:
            raise UsageError("a domain of your own is an ontology and its entities: name both")
        return cls(str(ontology), str(entities))


def load_domain(
    code: str,
    data: str | Path | None = None,
    *,
    offline: bool | None = None,
    own: OwnFiles | None = None,
) -> Domain:
    """Return a domain by the code in the names of its tasks ("CR", "Demo-LAP", "Own-museums").

    Published domains come from `data_root`, downloaded and verified if need be, one's own from
    `own`. Raises `UsageError` for an unknown code, `DataError` and `InputError`.
    """
    if code.startswith(OWN):
        if own is None or own.code != code:
            there = "" if own is None else f", those of {own.code} are"
            raise UsageError(
                f"the files of {shorten(code)} are not named{there} (--ontology, --entities)"
            )
        return read_domain(*own)[0]
    if code not in DOMAIN_FILES:
        raise UsageError(unknown("domain", code, DOMAIN_FILES))
    name = DOMAIN_FILES[code]
    if code.startswith(DEMO):
        root = DataRoot(embedded(FOLDER, "demo"), "embedded")
    else:
        root = data_root(data, offline=offline)
    ontology, entities = all_there(
        partial(root.require, f"ontology/{name}-rules.json"),
        partial(root.require, f"db/{name}-dbase.db", f"db/{name}-entities.json"),
    )
    return read_domain(ontology, entities, name)[0]


def read_domain(
    ontology_file: str | Path, entities_file: str | Path, name: str | None = None
) -> tuple[Domain, tuple[Problem, ...]]:
    """Return a domain from an ontology (JSON) and its entities (JSON or SQLite), and warnings.

    `name` is what the domain is called, by default the name of the ontology's file. Raises
    `InputError` with every problem of both files.
    """
    ontology_file, entities_file = Path(ontology_file), Path(entities_file)
    name = name or _name_of(ontology_file)
    problems: list[Problem] = []
    plain: Any = None
    rows: list[Any] | None = None
    ontology = None
    try:
        plain = read_json(ontology_file)
        ontology = ontology_from_json(name, plain, file=str(ontology_file))
    except InputError as error:
        problems += error.problems
    try:
        rows = read_rows(entities_file, name)
    except InputError as error:
        problems += error.problems
    good, found = (
        checked_rows(rows, _requestable(plain), ontology, str(entities_file))
        if rows is not None
        else ([], [])
    )
    problems += found
    if ontology is None or _errors(problems):
        raise InputError(problems)
    return Domain(ontology, EntityTable(ontology, good)), tuple(problems)


def _name_of(ontology: Path) -> str:
    return ontology.stem.removesuffix("-rules")


def _requestable(plain: Any) -> list[str]:
    """Return the requestable slots of an ontology that may be wrong."""
    slots = plain.get("requestable") if isinstance(plain, dict) else None
    return [slot for slot in slots if isinstance(slot, str)] if isinstance(slots, list) else []


def _errors(problems: Iterable[Problem]) -> bool:
    return any(problem.severity == "error" for problem in problems)
