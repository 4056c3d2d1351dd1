"""Domains from files: the published ones, the embedded ones, or a user's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.files.json_files import read_json
from mwzeval.files.resources import DataRoot, embedded, locate
from mwzeval.pydial.dialogue.database import EntityTable
from mwzeval.pydial.dialogue.ontology import ontology_from_json
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.entity_files import checked_rows, read_rows
from mwzeval.pydial.tasks import DEMO, DOMAIN_FILES

FOLDER = "pydial"
DOWNLOADED = ("ontology/*-rules.json", "db/*-dbase.db")


def data_root(data: str | Path | None = None, *, offline: bool | None = None) -> DataRoot:
    """Return where PyDial's files are: `data`, else `MWZEVAL_DATA`, else the cache.

    A folder that was named may hold the files, or a folder `pydial` with them. Raises `DataError`
    when it is not there. Nothing is downloaded yet.
    """
    root = locate(data, offline=offline, table=embedded(FOLDER, "public_files.tsv"), name=FOLDER)
    inner = root.path / FOLDER
    if root.origin != "cache" and inner.is_dir():
        return DataRoot(inner, root.origin, root.published, root.offline)
    return root


def load_domain(
    code: str, data: str | Path | None = None, *, offline: bool | None = None
) -> Domain:
    """Return a domain by the code in the names of its tasks ("CR", "Demo-LAP").

    Published domains come from `data_root`, downloaded and verified if need be. Raises `UsageError`
    for an unknown code, `DataError` and `InputError`.
    """
    if code not in DOMAIN_FILES:
        hint = did_you_mean(code, DOMAIN_FILES)
        raise UsageError(f'unknown domain "{shorten(code)}"{hint} ({", ".join(DOMAIN_FILES)})')
    name = DOMAIN_FILES[code]
    if code.startswith(DEMO):
        root = DataRoot(embedded(FOLDER, "demo"), "embedded")
    else:
        root = data_root(data, offline=offline)
    ontology = root.require(f"ontology/{name}-rules.json")
    entities = root.require(f"db/{name}-dbase.db", f"db/{name}-entities.json")
    return read_domain(ontology, entities, name)[0]


def read_domain(
    ontology_file: str | Path, entities_file: str | Path, name: str | None = None
) -> tuple[Domain, tuple[Problem, ...]]:
    """Return a domain from an ontology (JSON) and its entities (JSON or SQLite), and warnings.

    `name` is what the domain is called, by default the name of the ontology's file. Raises
    `InputError` with every problem of both files.
    """
    ontology_file, entities_file = Path(ontology_file), Path(entities_file)
    name = name or ontology_file.stem.removesuffix("-rules")
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


def _requestable(plain: Any) -> list[str]:
    """Return the requestable slots of an ontology that may be wrong."""
    slots = plain.get("requestable") if isinstance(plain, dict) else None
    return [slot for slot in slots if isinstance(slot, str)] if isinstance(slots, list) else []


def _errors(problems: Iterable[Problem]) -> bool:
    return any(problem.severity == "error" for problem in problems)
