"""How long a reward takes: `python -m benchmarks.training [PREDICTIONS_FOLDER]`.

Needs the public data (`MWZEVAL_DATA`) and a folder of predictions for the test fold.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, seconds
from mwzeval import Evaluator
from mwzeval.multiwoz.corpus.corpora import corpus_root, load_fold
from mwzeval.multiwoz.template_system import baseline_predictions, known_services

Predictions = dict[str, list[dict[str, Any]]]

DEFAULT_FOLDER = "../shared/data/multiwoz/predictions"
CORPUS = "multiwoz-2.2"
SYSTEMS = ("galaxy-e2e", "hdsa")
"""One with states, one that takes the gold states."""
LIMIT = 1.0
"""Milliseconds that a reward may take."""


def rows(folder: Path) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    for system in SYSTEMS:
        predictions = json.loads((folder / f"{system}.json").read_bytes())
        yield from _rows(system, predictions, Evaluator(corpus=CORPUS))
    root = corpus_root(CORPUS, None, offline=None)
    gold = load_fold(CORPUS, "test", root)
    in_words = baseline_predictions(gold, services=known_services(root))
    evaluator = Evaluator(corpus=CORPUS, responses="lexicalized")
    yield from _rows("template, in words", in_words, evaluator)


def _rows(system: str, predictions: Predictions, evaluator: Evaluator) -> Iterator[Row]:
    first = next(iter(predictions))
    evaluator.reward(first, predictions[first])  # reads the gold data

    def times() -> list[float]:
        return sorted(
            1000 * seconds(functools.partial(evaluator.reward, name, turns))
            for name, turns in predictions.items()
        )

    def row(what: str, milliseconds: float, *, limited: bool = True) -> Row:
        limit, met = (f"{LIMIT:.0f} ms", milliseconds <= LIMIT) if limited else ("", None)
        return Row(what, f"{milliseconds:.3f} ms", None, limit, met)

    new, again = times(), times()
    yield row(f"{system}: `reward` of a dialogue not seen before, median", statistics.median(new))
    yield row("… 99 of 100 take at most", new[int(0.99 * len(new))], limited=False)
    yield row("… seen before, median", statistics.median(again))
    took = seconds(functools.partial(evaluator.rewards, predictions.items()))
    what = f"… `rewards` of {len(predictions):,} dialogues, a dialogue"
    yield row(what, 1000 * took / len(predictions))


def main() -> int:
    """Print the rows; return 1 when a limit is not met."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_FOLDER)
    os.environ.setdefault("MWZEVAL_DATA", str(folder.parent.resolve()))
    met = True
    for row in rows(folder):
        met &= row.met is not False
        print(f"{row.what}: {row.measured}{f' (at most {row.limit})' if row.limit else ''}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
