"""Predictions of end-to-end systems for the embedded sample."""

from __future__ import annotations

import json
from pathlib import Path

from tests.places import ROOT, read_json
from tests.samples import Sample


def write(folder: Path) -> Sample:
    """Return the sample; the worse system knows no state and says the same every time."""
    plain = read_json(ROOT / "predictions" / "crosswoz-sample-e2e.json")
    header = plain["_meta"]
    better = _written(folder / "rules.json", plain)
    for name, exchanges in plain.items():
        if name != "_meta":
            for exchange in exchanges:
                exchange |= {"state": {}, "selected": {}, "system_acts": [], "response": "好的。"}
    worse = _written(folder / "silent.json", plain)
    other = _written(folder / "other.json", {"_meta": header, "1": [{"response": "您好"}]})
    return Sample(better, worse, other)


def _written(path: Path, plain: object) -> str:
    path.write_text(json.dumps(plain, ensure_ascii=False), encoding="utf-8")
    return str(path)
