"""Write the golden numbers of the example systems: `python -m tests.golden.regenerate`.

Only after `SCORING_REVISION` in `mwzeval/multiwoz/__init__.py` has been raised: the numbers of one
revision never change.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mwzeval.evaluator import Evaluator
from mwzeval.multiwoz import SCORING_REVISION
from mwzeval.multiwoz.choices import RULES
from tests.places import SAMPLE_SYSTEMS, sample_predictions

GOLDEN = Path(__file__).with_name("sample_scores.json")
METRICS = ("bleu", "success", "richness", "dst")


def current() -> dict[str, Any]:
    """Return what the file would hold now."""
    scores: dict[str, Any] = {}
    for rules in RULES:
        evaluator = Evaluator(True, True, True, True, corpus="sample", rules=rules)
        for system in SAMPLE_SYSTEMS:
            report = evaluator.evaluate(sample_predictions(system))
            scores.setdefault(system, {})[rules] = {name: report[name] for name in METRICS}
    return {"scoring_revision": SCORING_REVISION, "systems": scores}


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(current(), indent=1) + "\n", encoding="utf-8")
    print(f"written: {GOLDEN}, scoring revision {SCORING_REVISION}")
