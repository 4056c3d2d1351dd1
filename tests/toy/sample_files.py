"""Sample answers to the questions of the toy plug-in."""

from __future__ import annotations

import json
from pathlib import Path

from tests.samples import Sample

ANSWERS = {f"q{number}": "yes" if number % 3 else "no" for number in range(20)}


def write(folder: Path) -> Sample:
    """Return the sample; the worse system is undecided about half of the questions."""
    undecided = {f"q{number}": "maybe" for number in range(1, 11)}
    better = _written(folder / "better.json", ANSWERS | {"q0": "yes"})
    worse = _written(folder / "worse.json", ANSWERS | undecided)
    return Sample(better, worse, _written(folder / "invalid.json", {"q0": "no"}))


def _written(path: Path, answers: object) -> str:
    path.write_text(json.dumps({"answers": answers}), encoding="utf-8")
    return str(path)
