"""Paths of the repository, the example predictions and the real data."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLE_SYSTEMS = ("good", "weak-tracker", "no-phone", "policy-only", "lexicalized")
Predictions = dict[str, list[dict[str, Any]]]


def shared(*parts: str) -> Path:
    """Return a path of the real data (`MWZEVAL_SHARED`, else `../shared`).

    If it does not exist, the test is skipped; if `CI` is set, the test fails instead.
    """
    folder = Path(os.environ.get("MWZEVAL_SHARED") or ROOT.parent / "shared")
    path = folder.joinpath(*parts)
    if not path.exists():
        # The reason is the same for all files of a benchmark, which gives one line in the summary.
        kind = "/".join(Path(*parts).parts[:2])
        reason = (
            f"NOT TESTED AGAINST REAL DATA: {kind} is not (or not whole) in {folder} "
            "(MWZEVAL_SHARED can name another folder)"
        )
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


def sample_file(system: str) -> str:
    """Return the path of the predictions of an example system on the sample corpus."""
    return str(ROOT / "predictions" / f"sample-{system}.json")


GOOD = sample_file("good")


def sample_predictions(system: str) -> Predictions:
    """Read the raw predictions of an example system on the sample corpus."""
    predictions: Predictions = read_json(Path(sample_file(system)))
    return predictions


def without(predictions: Predictions, *keys: str) -> Predictions:
    """Return predictions whose turns lack these keys."""
    return {
        name: [{key: turn[key] for key in turn if key not in keys} for turn in turns]
        for name, turns in predictions.items()
    }


def read_json(path: Path) -> Any:
    """Return the value of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: Any) -> str:
    """Write a value into a JSON file and return its path."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)
