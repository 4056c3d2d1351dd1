"""Domains with their ontologies and tables of entities, and functions that read their files."""

from __future__ import annotations

import os
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten, some_of, unknown
from mwzeval.files.downloads import DataRoot, all_there, embedded
from mwzeval.files.reading import RepeatedKeys, check_size, read_json
from mwzeval.pydial.acts import DONTCARE, NONE
from mwzeval.pydial.tasks import DEMO, DOMAIN_FILES, OWN, own_code
from mwzeval.scores.findings import Findings

NAME = "name"
METHODS = ("none", "byconstraints", "byname", "finished", "byalternatives", "restart")
DISCOURSE_ACTS = ("ack", "hello", "none", "repeat", "silence", "thankyou")
RESERVED = frozenset({DONTCARE, NONE, "**NONE**"})
BINARY = frozenset({"0", "1"})
PSEUDO_SLOTS = frozenset({"type", "this", "count", "option", "more"})
"""Slots of dialogue acts that are not slots of any domain."""
NEVER_IN_SLOTS = frozenset('=!,"()')
"""Characters that would change the structure of an act in its text form."""


@dataclass(frozen=True)
class Ontology:
    """The slots of a domain and their listed values.

    `constraint_slots` are the slots that the system may request ("system-requestable"), in
    alphabetical order; `informable` maps each slot with listed values to these values, in the order
    of the file; `entity_type` is the word for an entity ("restaurant").
    """

    domain: str
    entity_type: str
    requestable: tuple[str, ...]
    constraint_slots: tuple[str, ...]
    informable: Mapping[str, tuple[str, ...]]
    discourse_acts: tuple[str, ...] = DISCOURSE_ACTS

    @cached_property
    def only_requestable(self) -> tuple[str, ...]:
        """The slots that only users request: all requestable slots except constraint slots."""
        return tuple(slot for slot in self.requestable if slot not in self.constraint_slots)

    @cached_property
    def binary_slots(self) -> frozenset[str]:
        """The binary constraint slots, whose values are "0" and "1"."""
        return frozenset(
            slot for slot in self.constraint_slots if set(self.informable[slot]) == BINARY
        )

    @cached_property
    def values_and_dontcare(self) -> Mapping[str, tuple[str, ...]]:
        """A mapping from each constraint slot to its listed values and "dontcare"."""
        return {slot: (*values, DONTCARE) for slot, values in self.informable.items()}


LONGEST_TEXT = 1000
"""Maximum length of a slot or value in characters. Longer texts would make every file large."""


def has_controls(text: str) -> bool:
    """Return whether a text has characters that are invalid in acts, terminals or UTF-8."""
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def ontology_from_json(domain: str, plain: Any, *, file: str | None = None) -> Ontology:
    """Parse the ontology in a public file `…-rules.json`. Raises `InputError` with all problems."""
    findings = Findings(file)

    def wrong(message: str, key: str | None = None) -> None:
        findings.error("ontology", message, key=key)

    def tell_repeated(texts: Iterable[str], key: str | None) -> None:
        if repeated := ", ".join(shorten(text) for text in sorted(texts)):
            wrong(f"repeated: {repeated}", key)

    def tell_unfit(texts: Collection[str], key: str | None) -> None:
        for text in filter(has_controls, texts):
            wrong(f'"{shorten(text)}" contains control characters or an unpaired surrogate', key)
        for text in texts:
            if len(text) > LONGEST_TEXT:
                wrong(f'"{shorten(text)}" has more than {LONGEST_TEXT:,} characters', key)

    def texts(value: Any, key: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            wrong("expected a list of texts", key)
            return ()
        if not value:
            wrong("the list is empty", key)
        tell_repeated((text for text, number in Counter(value).items() if number > 1), key)
        if any(not text.strip() for text in value):
            wrong("one of the texts is empty", key)
        tell_unfit(value, key)
        return tuple(value)

    if not isinstance(plain, Mapping):
        wrong("expected an object")
        findings.check()
    for key in ("type", "requestable", "system_requestable", "informable"):
        if key not in plain:
            wrong("the key is missing", key)
    requestable = texts(plain.get("requestable", []), "requestable")
    constraints = texts(plain.get("system_requestable", []), "system_requestable")
    slots = plain.get("informable", {})
    if not isinstance(slots, Mapping):
        wrong("expected an object of slots", "informable")
        slots = {}
    for mapping, key_of_it in ((plain, None), (slots, "informable")):
        if isinstance(mapping, RepeatedKeys):
            tell_repeated(mapping.repeated, key_of_it)
    tell_unfit(slots, "informable")
    informable = {slot: texts(values, f"informable.{slot}") for slot, values in slots.items()}
    for slot, values in informable.items():
        for value in values:
            if value in RESERVED:
                wrong(
                    f'"{value}" is reserved and cannot be a value',
                    f"informable.{slot}",
                )
            elif value != value.lower():
                wrong(f'"{value}" must be in lower case, like acts', f"informable.{slot}")
            elif '"' in value:
                wrong(
                    f"{value} contains a quotation mark, which would end the value in an act",
                    f"informable.{slot}",
                )
    for slot in dict.fromkeys((*requestable, *informable)):
        if slot in PSEUDO_SLOTS:
            wrong(f'"{slot}" is reserved and cannot be a slot')
        elif not slot.strip() or NEVER_IN_SLOTS & set(slot):
            wrong(f'"{slot}" cannot be a slot, because it cannot be written in acts')
    for slot in constraints:
        if slot not in informable:
            wrong("the system may request this slot, but it has no values", f"informable.{slot}")
        elif len(informable[slot]) == 1:
            wrong(
                "the system may request this slot, but it has only one value",
                f"informable.{slot}",
            )
        if slot not in requestable:
            wrong(f'"{slot}" is not among the requestable slots', "requestable")
    if NAME not in informable or NAME not in requestable:
        wrong('entities are found by "name": it must be informable and requestable')
    entity_type = plain.get("type", "")
    if not isinstance(entity_type, str) or not entity_type or '"' in entity_type:
        wrong(
            "expected the word for an entity, such as restaurant, without quotation marks", "type"
        )
    elif entity_type in RESERVED:
        wrong(f'"{entity_type}" is reserved and cannot be the word for an entity', "type")
    else:
        tell_unfit([entity_type], "type")
    methods = texts(plain.get("method", list(METHODS)), "method")
    discourse_acts = texts(plain.get("discourseAct", list(DISCOURSE_ACTS)), "discourseAct")
    for key, known, given in (
        ("method", METHODS, methods),
        ("discourseAct", DISCOURSE_ACTS, discourse_acts),
    ):
        lacking = [name for name in known if name not in given]
        if given and lacking:
            wrong(
                f"{', '.join(lacking)} is missing: add it, or leave out the key to use all names",
                key,
            )
    findings.check()
    return Ontology(
        domain=domain,
        entity_type=entity_type,
        requestable=requestable,
        constraint_slots=tuple(sorted(constraints)),
        informable=informable,
        discourse_acts=discourse_acts,
    )


Entity = Mapping[str, str]
UNAVAILABLE = frozenset({"not available", ""})


class EntityTable:
    """The entities of a domain. The first of several matching entities is offered first."""

    def __init__(self, ontology: Ontology, rows: Sequence[Entity]) -> None:
        self.ontology = ontology
        self.rows = tuple(rows)
        self.everything = (1 << len(rows)) - 1
        self._with: dict[str, dict[str, int]] = {}
        for index, row in enumerate(self.rows):
            for slot, value in row.items():
                of_slot = self._with.setdefault(slot, {})
                of_slot[value.lower()] = of_slot.get(value.lower(), 0) | 1 << index
        self.told_apart_by = tuple(s for s in ontology.informable if s != NAME and s != "price")
        self._first_named: dict[str, int] = {}
        for index, row in enumerate(self.rows):
            self._first_named.setdefault(row[NAME].lower(), index)

    def __reduce__(self) -> tuple[type[EntityTable], tuple[Ontology, tuple[Entity, ...]]]:
        return EntityTable, (self.ontology, self.rows)

    def __deepcopy__(self, memo: object) -> EntityTable:
        return self  # the table is immutable

    def having(self, slot: str, value: str) -> int:
        """Return the bit set of the table rows that have a value in a slot, ignoring case."""
        return self._with.get(slot, {}).get(value.lower(), 0)

    def number_of(self, name: str) -> int:
        """Return the index of the first row with this name, or -1 if there is no such row."""
        return self._first_named.get(name.lower(), -1)


@dataclass(frozen=True)
class Domain:
    """The immutable data that all dialogues of a domain share."""

    ontology: Ontology
    table: EntityTable

    @property
    def name(self) -> str:
        """The name of the domain, as in the names of its files ("CamRestaurants")."""
        return self.ontology.domain


SQLITE = (".db", ".sqlite", ".sqlite3")
KIND = "entities"


def read_rows(file: Path, domain: str) -> list[Any]:
    """Return the rows of a file in their order, without checks.

    An SQLite file has a single table or a table with the domain's name; rows are sorted by rowid.
    Any file that is not an SQLite file is a JSON list of objects. Raises `InputError` if the file
    cannot be read.
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
    except (sqlite3.Error, UnicodeError) as error:  # SQLite also decodes table names
        raise wrong(f"cannot be read as SQLite: {shorten(str(error), 200)}") from None


def checked_rows(
    rows: Sequence[Any],
    requestable: Sequence[str],
    ontology: Ontology | None,
    findings: Findings,
) -> list[Mapping[str, str]]:
    """Return the valid rows of an entity table, and add all problems to `findings`.

    A table without rows is an error. A row is invalid if it is not an object with string values,
    lacks a slot, has a reserved word as its name, or has an empty value in a slot whose values the
    ontology lists. In other slots, an empty value means that the fact is unknown. Duplicate names
    and values that the ontology does not list cause warnings. If `ontology` is None because it is
    invalid, only the requestable slots are checked. Values of slots whose values are listed are
    converted to lower case, like the values in the ontology.
    """
    valued = ontology.informable if ontology is not None else ()
    good: list[Mapping[str, str]] = []
    for number, row in enumerate(rows, start=1):
        problems = list(_row_problems(row, requestable, valued))
        for message, slot in problems:
            findings.error(KIND, f"row {number}: {message}", key=slot)
        if not problems:
            good.append(_as_said(row, valued))
    if not rows:
        findings.error(KIND, "there are no entities")
    repeated = [n for n, count in Counter(row[NAME].lower() for row in good).items() if count > 1]
    if repeated:
        shown = some_of([f'"{shorten(name)}"' for name in sorted(repeated)], 5)
        message = f"several entities have the same name (only the first is found by name): {shown}"
        findings.warning(KIND, message, count=len(repeated))
    if ontology is not None:
        _note_unlisted(good, ontology, findings)
    return good


def _row_problems(
    row: Any, requestable: Sequence[str], valued: Container[str]
) -> Iterator[tuple[str, str | None]]:
    """Yield a message and the slot for each problem of a row."""
    if not isinstance(row, Mapping):
        yield f"expected an object of slots, got {shorten(repr(row))}", None
        return
    if isinstance(row, RepeatedKeys):
        yield "a slot is repeated", None
    for slot in dict.fromkeys((NAME, *requestable)):
        if slot not in row:
            yield f"the slot is missing{did_you_mean(slot, map(str, row))}", slot
    for slot, value in row.items():
        if not isinstance(value, str):
            yield f"expected text, got {shorten(repr(value))}", str(slot)
        elif not value.strip() and (slot == NAME or slot in valued):
            yield 'the value is empty; write "not available" where it is unknown', slot
        elif has_controls(value):
            yield f'"{shorten(value)}" contains control characters or an unpaired surrogate', slot
        elif len(value) > LONGEST_TEXT and (slot == NAME or slot in requestable):
            yield f'"{shorten(value)}" has more than {LONGEST_TEXT:,} characters', slot
        elif slot == NAME and value.lower() in RESERVED:
            yield f'"{value}" is reserved and cannot be a name', slot


def _as_said(row: Mapping[str, str], valued: Container[str]) -> Mapping[str, str]:
    """Return a row in which values of slots with listed values are in lower case."""
    said = {slot: value.lower() if slot in valued else value for slot, value in row.items()}
    return row if said == row else said


def _note_unlisted(
    rows: Sequence[Mapping[str, str]], ontology: Ontology, findings: Findings
) -> None:
    """Warn about values that users cannot request because the ontology does not list them."""
    for slot, values in ontology.informable.items():
        if slot not in ontology.requestable:
            continue
        listed = {value.lower() for value in values} | UNAVAILABLE
        unlisted = Counter(r[slot] for r in rows if r[slot].lower() not in listed)
        if unlisted:
            shown = ", ".join(f'"{shorten(value)}"' for value in sorted(unlisted)[:5])
            message = f"values of {slot} that the ontology does not list: {shown}"
            findings.warning(KIND, message, key=slot, count=unlisted.total())


FOLDER = "pydial"
SAMPLE_TASKS = "tasks Demo-CR-1 to Demo-LAP-6"
"""The tasks in the embedded domains."""
CORPORA = {FOLDER: ("ontology/*-rules.json", "db/*-dbase.db")}


def data_root(data: str | Path | None = None, *, offline: bool | None = None) -> DataRoot:
    """Return the folder with PyDial's files: `data`, or `MWZEVAL_DATA`, or the user's cache.

    A named folder may contain the files or a folder `pydial` with the files. Raises `DataError` if
    the named folder does not exist. `data_root` does not download any files.
    """
    table = embedded(FOLDER, "public_files.tsv")
    root = DataRoot.locate(
        data, table, FOLDER, offline=offline, sample=SAMPLE_TASKS, corpora=CORPORA
    )
    inner = root.path / FOLDER
    if root.origin != "cache" and inner.is_dir():
        return replace(root, path=inner)
    return root


class OwnFiles(NamedTuple):
    """The files of a custom domain: its ontology (JSON) and its entities (JSON or SQLite)."""

    ontology: str
    entities: str

    @property
    def code(self) -> str:
        """The code of the domain, which is part of the names of its tasks."""
        return own_code(_name_of(Path(self.ontology)))

    @classmethod
    def given(cls, ontology: str | Path | None, entities: str | Path | None) -> OwnFiles | None:
        """Return the ontology file and the entity file, or None if neither is given.

        Raises `UsageError` if only one of the two files is given.
        """
        if ontology is None and entities is None:
            return None
        if ontology is None or entities is None:
            raise UsageError("your own domain needs an ontology and its entities: name both files")
        return cls(str(ontology), str(entities))


def load_domain(
    code: str,
    data: str | Path | None = None,
    *,
    offline: bool | None = None,
    own: OwnFiles | None = None,
) -> Domain:
    """Return a domain by its code in task names ("CR", "Demo-LAP", "Own-museums").

    Published domains come from `data_root`, which downloads and verifies their files if necessary.
    Custom domains are read from the files `own`. Raises `UsageError` if the code is unknown, and
    `DataError` or `InputError` if a file of the domain is missing or invalid.
    """
    if code.startswith(OWN):
        if own is None or own.code != code:
            there = "" if own is None else f", only those of {own.code}"
            raise UsageError(
                f"the files of {shorten(code)} are not given{there} (--ontology, --entities)"
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

    `name` is the name of the domain, by default the name of the ontology file. Raises `InputError`
    with all problems of the ontology file and the entity file.
    """
    ontology_file, entities_file = Path(ontology_file), Path(entities_file)
    name = name or _name_of(ontology_file)
    findings = Findings(str(entities_file))
    plain: Any = None
    ontology = None
    good: list[Mapping[str, str]] = []
    with findings.collecting():
        plain = read_json(ontology_file)
        ontology = ontology_from_json(name, plain, file=str(ontology_file))
    with findings.collecting():
        rows = read_rows(entities_file, name)
        good = checked_rows(rows, _requestable(plain), ontology, findings)
    if ontology is None or findings.errors:
        raise InputError(findings.problems)
    return Domain(ontology, EntityTable(ontology, good)), tuple(findings.warnings)


def _name_of(ontology: Path) -> str:
    return ontology.stem.removesuffix("-rules")


def _requestable(plain: Any) -> list[str]:
    """Return the requestable slots of an ontology that may be invalid."""
    slots = plain.get("requestable") if isinstance(plain, dict) else None
    return [slot for slot in slots if isinstance(slot, str)] if isinstance(slots, list) else []
