"""Predicted states for the embedded sample."""

from __future__ import annotations

import json
from pathlib import Path

from tests.places import ROOT, read_json
from tests.samples import LiveSample, Sample

LIVE = LiveSample(
    "--revision sample --goals sampled:2",
    "rule",
    "from mwzeval.crosswoz.systems.rules import RuleSystem as Base",
)


def write(folder: Path) -> Sample:
    """Write the sample; the worse system predicts empty states."""
    plain = read_json(ROOT / "predictions" / "crosswoz-sample-dst.json")
    header = plain["_meta"]
    better = _written(folder / "rules.json", plain)
    for name, exchanges in plain.items():
        if name != "_meta":
            for exchange in exchanges:
                exchange["state"] = {}
    worse = _written(folder / "deaf.json", plain)
    invalid = _written(folder / "invalid.json", {"_meta": header, "1": [{"response": "您好"}]})
    return Sample(better, worse, invalid)


def _written(path: Path, plain: object) -> str:
    path.write_text(json.dumps(plain, ensure_ascii=False), encoding="utf-8")
    return str(path)
