"""The real CrossWOZ data and the golden vectors, each read once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar
from zipfile import ZipFile

from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.folds import Fold, load_fold
from mwzeval.crosswoz.protocols import Rng
from mwzeval.files.downloads import DataRoot
from tests.places import shared


@cache
def fold(name: str = "test", revision: str = "release") -> Fold:
    """Return a fold of the real corpus."""
    return load_fold(DataRoot(shared("data", "crosswoz"), "--data"), name, revision)


@cache
def database() -> Database:
    return Database(fold().tables)


def vectors(name: str) -> list[dict[str, Any]]:
    """Return the records of a golden vector file."""
    path = shared("golden", "crosswoz", f"{name}.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def figures() -> Any:
    return json.loads(shared("golden", "crosswoz", "figures.json").read_text(encoding="utf-8"))


def paper() -> Any:
    """Return the tables of the paper."""
    return json.loads(shared("data", "crosswoz", "paper_tables.json").read_text(encoding="utf-8"))


@cache
def plain_dialogues(name: str) -> Any:
    """Return the dialogues of a fold as raw JSON."""
    with ZipFile(shared("data", "crosswoz", "crosswoz", f"{name}.json.zip")) as archive:
        return json.loads(archive.read(f"{name}.json"))


Item = TypeVar("Item")


class FirstChoice(Rng):
    """Always chooses the first item, as in the golden runs."""

    def choose(self, items: Sequence[Item]) -> Item:
        return items[0]
