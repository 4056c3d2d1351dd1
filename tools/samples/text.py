"""Layouts of JSON files, and TSV files of words and phrases."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def line(value: Any) -> str:
    """Return a value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def array_text(items: Iterable[Any]) -> str:
    """Return a JSON array with a line per item."""
    return "[\n" + ",\n".join(line(item) for item in items) + "\n]\n"


def object_text(members: Mapping[str, Any]) -> str:
    """Return a JSON object with a line per member."""
    return "{\n" + ",\n".join(f"{line(k)}:{line(v)}" for k, v in members.items()) + "\n}\n"


def indented_text(value: Any) -> str:
    """Return a value as JSON with a line per item at any depth."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def read_rows(path: Path) -> list[list[str]]:
    """Return the cells of each line of a TSV file; lines that begin with "#" are comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def read_lists(path: Path) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the last cells of a TSV file's lines, grouped by the cells before them."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for *key, value in read_rows(path):
        found[tuple(key)].append(value)
    return {key: tuple(values) for key, values in found.items()}
