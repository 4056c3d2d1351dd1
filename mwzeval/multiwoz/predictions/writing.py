"""Predictions as a file, JSON or JSON Lines by its name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mwzeval.errors import UsageError, shorten
from mwzeval.files.reading import COMPRESSED


def check_name(path: str) -> None:
    """Raise `UsageError` for a file whose name says that it is compressed."""
    if path.endswith(tuple(COMPRESSED)):
        raise UsageError(
            f"{shorten(path, 300)}: predictions are written as .json or .jsonl; compress them after"
        )


def predictions_text(predictions: Mapping[str, Sequence[Mapping[str, Any]]], path: str) -> str:
    """Return the text of predictions: a line a dialogue where the path ends in `.jsonl`."""
    if Path(path).suffix != ".jsonl":
        return json.dumps(predictions, indent=1, ensure_ascii=False) + "\n"
    return "".join(
        json.dumps({"dialogue": name, "turns": turns}, ensure_ascii=False) + "\n"
        for name, turns in predictions.items()
    )
