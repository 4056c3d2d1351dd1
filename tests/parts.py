"""Split predictions into parts and files, for tests of incremental and sharded evaluation."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import zstandard

Predictions = dict[str, list[dict[str, Any]]]


def cut(predictions: Predictions, places: Iterable[int]) -> list[Predictions]:
    """Split before the dialogues at these positions; parts may be empty."""
    items = list(predictions.items())
    edges = [0, *sorted(places), len(items)]
    return [dict(items[first:last]) for first, last in pairwise(edges)]


def rollouts(predictions: Predictions, times: int) -> Predictions:
    """Repeat each dialogue `times` times, under numbered ids."""
    return {
        f"{name}#{number}": turns for number in range(times) for name, turns in predictions.items()
    }


def lines_of(predictions: Predictions) -> bytes:
    lines = (json.dumps({"dialogue": n, "turns": turns}) for n, turns in predictions.items())
    return "".join(f"{line}\n" for line in lines).encode()


def packed(predictions: Predictions, ending: str) -> bytes:
    """Return the content of a predictions file with this extension."""
    content = lines_of(predictions)
    if ending.startswith(".json") and not ending.startswith(".jsonl"):
        content = json.dumps(predictions).encode()
    if ending.endswith(".gz"):
        return gzip.compress(content)
    return zstandard.compress(content) if ending.endswith(".zst") else content


def write_shards(
    folder: Path, parts: Sequence[Predictions], endings: Sequence[str] = (".jsonl",)
) -> list[str]:
    """Write each part into a numbered file; the extensions are used in rotation."""
    paths = []
    for number, part in enumerate(parts):
        ending = endings[number % len(endings)]
        path = folder / f"part-{number:03}{ending}"
        path.write_bytes(packed(part, ending))
        paths.append(str(path))
    return paths
