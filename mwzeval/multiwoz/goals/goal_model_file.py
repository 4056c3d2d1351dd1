"""The published goal model as a file: where it is, and how it is read.

It is published as a pickle. Unpickling can run any code, so nothing but plain containers is made
here; the same content as JSON is read as well.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mwzeval.errors import DataError, shorten
from mwzeval.files.downloads import DataRoot
from mwzeval.files.json_files import data_bytes, parse_data

PLACES = (
    "convlab2/new_goal_model.pkl",
    "goal_model.json",
    "../live/goal_model.json",
    "../live/convlab2/new_goal_model.pkl",
)
"""Places in a data root, or in a folder `live` beside it. Only the first is downloaded."""
PARTS = (
    "slot_probability",
    "value_distribution",
    "domain_orderings",
    "book_probability",
    "slot_counts",
    "slot_combinations",
)
"""The parts of the published model, in the order of its pickle."""
LARGEST_WEIGHT = 1e100
"""Sums of larger weights would not be finite."""
UNUSED = "slot_counts"
"""A part that nothing is drawn by."""


def read_goal_model(path: Path) -> dict[str, Any]:
    """Return the goal model of a JSON file or of the published pickle (`*.pkl`), by part.

    Keys that are combinations of slots or domains are joined by `|`. Raises `DataError` when the
    file cannot be read, has objects of other classes in it, or lacks a part.
    """
    if path.suffix != ".pkl":
        model: Any = parse_data(data_bytes(path), path)
        if not isinstance(model, dict):
            raise DataError(f"{path}: a goal model is an object with {', '.join(PARTS)}")
    else:
        model = _unpickled(path)
    needed = (part for part in PARTS if part != UNUSED)
    missing = [part for part in needed if not isinstance(model.get(part), Mapping)]
    if missing:
        raise DataError(f"{path}: the goal model has no {', '.join(missing)}")
    for name in PARTS:
        _check_numbers(model.get(name, {}), f"{path}: {name}")
    return dict(model)


def _check_numbers(part: Any, place: str) -> None:
    """Raise `DataError` unless everything in a part is a number that can be a weight."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            _check_numbers(value, f"{place}, {shorten(str(key))}")
    elif type(part) not in (int, float) or not 0 <= part <= LARGEST_WEIGHT:
        raise DataError(f"{place}: expected a number from 0, a probability or a count")


def find_goal_model(root: DataRoot) -> Path:
    """Return the place of the published goal model; in the cache, download it if need be.

    Raises `DataError` when it is not there and cannot be had.
    """
    return root.require(*PLACES)


def _unpickled(path: Path) -> dict[str, Any]:
    try:
        parts = _PlainUnpickler(io.BytesIO(data_bytes(path))).load()
        return {name: _plain(part) for name, part in zip(PARTS, parts, strict=True)}
    except DataError:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        parts_expected = ", ".join(PARTS)
        raise DataError(
            f"{path} is not the published goal model, a pickle of the parts {parts_expected}"
        ) from error


class _PlainUnpickler(pickle.Unpickler):
    """Makes containers, texts and numbers, and nothing else; a `Counter` becomes a dict."""

    def find_class(self, module: str, name: str) -> type:
        """Return the class of an object in the pickle. Raises for all but one."""
        if (module, name) == ("collections", "Counter"):
            return dict
        raise DataError(f"objects of {module}.{name} do not belong in a goal model")


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): _plain(of_key) for key, of_key in value.items()}
    return value


def _key(key: object) -> str:
    return "|".join(key) if isinstance(key, tuple) else str(key)
