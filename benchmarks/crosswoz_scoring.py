"""Speed of scoring predictions on the test fold of CrossWOZ, once everything is loaded.

`python -m benchmarks.crosswoz_scoring [DATA]` prints the table alone. CPU seconds of this process,
so that what else runs on the machine counts little; the median of several runs.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import REPETITIONS, Row
from mwzeval.crosswoz.corpus.folds import load_gold
from mwzeval.crosswoz.scoring.baselines import gold_file, rule_tracker_file, simulator_file
from mwzeval.crosswoz.scoring.evaluation import ScoredPredictions, evaluate, score

DEFAULT_DATA = "../shared/data/crosswoz"
SCORING_SECONDS = 1
TRACKS = ("dst", "nlu", "policy")
"""Those that together may take a second."""


def rows(data: Path) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    gold = load_gold(data=data)
    files = {
        "dst": rule_tracker_file(gold.fold),
        "nlu": gold_file(gold.fold, "nlu", ["user_acts", "system_acts_nlu"]),
        "policy": gold_file(gold.fold, "policy", ["system_acts"]),
        "sim": simulator_file(gold.fold),
        "e2e": gold_file(gold.fold, "e2e", ["response", "state", "selected"]),
        "nlg": gold_file(gold.fold, "nlg", ["response", "user_response"]),
    }
    together = 0.0
    for track, file in files.items():
        evaluated = evaluate(file, gold)
        took = _median(evaluated, 1 if track == "nlg" else REPETITIONS)
        together += took if track in TRACKS else 0
        yield Row(f"CrossWOZ: scoring {track}, test fold", f"{took:.2f} s", None, "", None)
    what = f"CrossWOZ: scoring {', '.join(TRACKS)}, test fold, together"
    met = together <= SCORING_SECONDS
    yield Row(what, f"{together:.2f} s", None, f"{SCORING_SECONDS} s", met)


def _median(evaluated: ScoredPredictions, repetitions: int) -> float:
    spent = []
    for _ in range(repetitions):
        start = time.process_time()
        score(evaluated.checked)
        spent.append(time.process_time() - start)
    return statistics.median(spent)


def main() -> int:
    """Print the table."""
    missed = False
    for row in rows(Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_DATA)):
        print(f"{row.what}: {row.measured} ({row.limit or 'no limit'})", flush=True)
        missed |= row.met is False
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
