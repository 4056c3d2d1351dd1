"""Where tests find things: the repository, the example predictions, and the real data."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLE_SYSTEMS = ("good", "weak-tracker", "no-phone", "policy-only", "lexicalized")


def shared(*parts: str) -> Path:
    """Return a path among the real data (`MWZEVAL_SHARED`, else `../shared`).

    Without them the test is skipped; where `CI` is set it fails, so that it cannot go unnoticed.
    """
    folder = Path(os.environ.get("MWZEVAL_SHARED") or ROOT.parent / "shared")
    path = folder.joinpath(*parts)
    if not path.exists():
        # Of all files of a benchmark the same, so that the summary has a line for each benchmark.
        kind = "/".join(Path(*parts).parts[:2])
        reason = (
            f"NOT TESTED AGAINST REAL DATA: {kind} is not (or not whole) in {folder} "
            "(MWZEVAL_SHARED can name another folder)"
        )
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


def sample_predictions(system: str) -> dict[str, list[dict[str, Any]]]:
    """Return the raw predictions of an example system on the sample corpus, freshly read."""
    predictions: dict[str, list[dict[str, Any]]] = read_json(
        ROOT / "predictions" / f"sample-{system}.json"
    )
    return predictions


def read_json(path: Path) -> Any:
    """Return the value of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))
