"""Predictions for some dialogues of the embedded sample."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from tests.places import sample_predictions
from tests.samples import Sample

DIALOGUES = 8


def write(folder: Path) -> Sample:
    """Return the sample: states in every turn, so that there is every score."""
    files = []
    for system in ("good", "weak-tracker"):
        dialogues = dict(islice(sample_predictions(system).items(), DIALOGUES))
        files.append(_written(folder / f"{system}.json", dialogues))
    other = _written(folder / "other.json", {"nobody": [{"response": "", "active_domains": []}]})
    better, worse = files
    return Sample(better, worse, other, corpus=("--corpus", "sample"))


def _written(path: Path, plain: object) -> str:
    path.write_text(json.dumps(plain), encoding="utf-8")
    return str(path)
