"""A database with few venues and two dialogues, for tests without real data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.dialogues import dialogue_from_json, empty_state
from mwzeval.crosswoz.corpus.folds import RELEASE, Fold, Gold
from tests.places import read_json


def state(**domains: dict[str, Any]) -> dict[str, Any]:
    """Return a complete system state; the slots may include `selectedResults`."""
    full: dict[str, Any] = {d: {**s, "selectedResults": []} for d, s in empty_state().items()}
    for domain, slots in domains.items():
        full[domain].update(slots)
    return full


def _read() -> tuple[dict[str, list[list[Any]]], dict[str, Any], dict[str, Any]]:
    """Return tables and dialogues; the system states in the file lack unfilled slots."""
    plain = read_json(Path(__file__).with_name("small_world.json"))
    for dialogue in plain["dialogues"].values():
        for message in dialogue["messages"]:
            for key in ("sys_state_init", "sys_state"):
                if key in message:
                    message[key] = state(**message[key])
    return plain["tables"], plain["dialogues"]["1"], plain["dialogues"]["2"]


TABLES, DEPENDENT, SINGLE = _read()


def small_gold() -> Gold:
    """Return gold data with the dialogues "1" (CM) and "2" (S)."""
    plain = {"1": DEPENDENT, "2": SINGLE}
    dialogues = {name: dialogue_from_json(name, dialogue) for name, dialogue in plain.items()}
    return Gold(Fold(RELEASE, "test", "00000000", dialogues, TABLES))


ENGLISH = {"景点": "attraction", "餐馆": "restaurant", "酒店": "hotel", "地铁": "metro"}


def write_folds(folder: Path, **folds: list[str]) -> Path:
    """Write the small world as a release; each fold has some of the two dialogues."""
    _write_database(folder)
    for fold, names in folds.items():
        plain = {name: {"1": DEPENDENT, "2": SINGLE}[name[0]] for name in names}
        (folder / f"{fold}.json").write_text(json.dumps(plain, ensure_ascii=False), "utf-8")
    return folder


def write_world(folder: Path, content: bytes | None = None) -> Path:
    """Write the small world as a release, optionally with another content of the test fold."""
    _write_database(folder)
    plain = json.dumps({"1": DEPENDENT, "2": SINGLE}, ensure_ascii=False).encode()
    (folder / "test.json").write_bytes(plain if content is None else content)
    return folder


def _write_database(folder: Path) -> None:
    (folder / "database").mkdir(parents=True)
    for domain, rows in TABLES.items():
        path = folder / "database" / f"{ENGLISH[domain]}_db.json"
        path.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
