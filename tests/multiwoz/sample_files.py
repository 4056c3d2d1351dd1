"""Example predictions for some dialogues of the embedded sample."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from tests.places import sample_predictions
from tests.samples import LiveSample, Sample

DIALOGUES = 8

LIVE = LiveSample(
    "--level acts --corpus sample --goals corpus:8",
    "rule-convlab",
    """
class Base:
    def answer(self, acts):
        return []
""",
)


def write(folder: Path) -> Sample:
    """Write the sample with every score; the worse system has constant responses and no states."""
    plain = dict(islice(sample_predictions("good").items(), DIALOGUES))
    better = _written(folder / "good.json", plain)
    for turns in plain.values():
        for turn in turns:
            turn |= {"response": "there is [value_name]", "state": {}}
    worse = _written(folder / "silent.json", plain)
    invalid = _written(folder / "invalid.json", {next(iter(plain)): [{"response": 1}]})
    return Sample(better, worse, invalid)


def _written(path: Path, plain: object) -> str:
    path.write_text(json.dumps(plain), encoding="utf-8")
    return str(path)
