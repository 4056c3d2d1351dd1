"""Example submissions for the embedded sample of subtask 4."""

from __future__ import annotations

from pathlib import Path

from tests.places import ROOT
from tests.samples import Sample

NAME = "Ubuntu_subtask_4.json"


def write(folder: Path) -> Sample:
    """Write the sample; `leaderboard` gets the right answers as a file."""
    better, worse = (str(ROOT / "predictions" / f"dstc7-{s}" / NAME) for s in ("overlap", "random"))
    invalid = folder / NAME
    invalid.write_text('[{"example-id": 1, "candidate-ranking": []}]', encoding="utf-8")
    answers = ROOT / "data" / "dstc7" / "ubuntu_responses_subtask_4.tsv"
    return Sample(better, worse, str(invalid), leaderboard=("--targets", str(answers)))
