"""A hundred thousand dialogues in shards: one process, and a cluster of one and two workers.

`python -m benchmarks.sharding [PREDICTIONS_FOLDER] [REPETITIONS]` measures this alone.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import zstandard

from benchmarks.measure import Row, seconds
from mwzeval import Evaluator
from mwzeval.cluster.dask import cluster
from mwzeval.multiwoz.shards import evaluate_shards
from mwzeval.text import to_json

SYSTEMS = ("augpt", "damd", "galaxy-e2e", "pptod", "ubar")
"""Those with states. Neighbouring dialogues and rollouts are of different ones, so that there is
as much to remember in every shard."""

DIALOGUES = 100_000
FEW_DIALOGUES = 10_000
DIALOGUES_OF_A_SHARD = 2_500
LEAST_SPEED_UP = 1.6
MOST_GROWTH = 64
REPETITIONS = 3


def write_shards(predictions: Path, folder: Path, dialogues: int) -> list[str]:
    """Write so many rollouts of the test fold, in shards, and return their paths."""
    systems = [json.loads((predictions / f"{name}.json").read_bytes()) for name in SYSTEMS]
    for system in systems:
        for turns in system.values():
            for turn in turns:
                turn.pop("active_domains", None)
    shards: list[str] = []
    waiting: list[str] = []
    written = number = 0
    while written < dialogues:
        for place, name in enumerate(systems[0]):
            turns = systems[(place + number) % len(systems)].get(name, systems[0][name])
            line = {"dialogue": f"{name}#{number}", "turns": turns}
            waiting.append(json.dumps(line) + "\n")
            written += 1
            if len(waiting) == DIALOGUES_OF_A_SHARD or written == dialogues:
                path = folder / f"{len(shards):05}.jsonl.zst"
                path.write_bytes(zstandard.compress("".join(waiting).encode()))
                shards.append(str(path))
                waiting = []
            if written == dialogues:
                break
        number += 1
    return shards


def rows(predictions: Path, repetitions: int = REPETITIONS) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    evaluator = Evaluator(True, True, True, rollouts=True, corpus="multiwoz-2.2")
    texts: set[str] = set()

    def report(shards: list[str], client: Any) -> None:
        texts.add(to_json(evaluate_shards(evaluator, shards, client=client)))

    with tempfile.TemporaryDirectory() as scratch:
        shards = write_shards(predictions, Path(scratch), DIALOGUES)
        few = shards[: FEW_DIALOGUES // DIALOGUES_OF_A_SHARD]
        with cluster("local", 1) as one, cluster("local", 2) as two:
            for client in (None, one, two):
                report(few, client)  # every process reads its gold data
            before = max(two.run(_peak_megabytes).values())
            texts.clear()
            alone, single, double, busy = [], [], [], []
            for _ in range(repetitions):
                start = time.process_time()
                alone.append(seconds(partial(report, shards, None)))
                needed = time.process_time() - start
                single.append(seconds(partial(report, shards, one)))
                start, workers_start = time.process_time(), two.run(time.process_time)
                double.append(seconds(partial(report, shards, two)))
                spent = two.run(time.process_time)
                longest = max(spent[worker] - workers_start[worker] for worker in spent)
                busy.append(needed / (longest + time.process_time() - start))
            after = max(two.run(_peak_megabytes).values())
    what = f"{DIALOGUES:,} dialogues in {len(shards)} shards"
    yield Row(f"{what}, one process", f"{statistics.median(alone):.1f} s", None, "", None)
    for workers, times in (("1 worker", single), ("2 workers", double)):
        ratios = [mine / theirs for mine, theirs in zip(alone, times, strict=True)]
        ratio = statistics.median(ratios)
        bar = workers == "2 workers"
        yield Row(
            f"… on a Dask cluster of {workers}: how many times as fast",
            f"{statistics.median(times):.1f} s",
            ratio,
            f"at least {LEAST_SPEED_UP} ×" if bar else "",
            ratio >= LEAST_SPEED_UP if bar else None,
        )
    yield Row(
        "… the same in processor time: of the busiest worker, and of this process",
        "",
        statistics.median(busy),
        "",
        None,
    )
    same = len(texts) == 1
    yield Row("… their reports", "the same bytes" if same else "DIFFERENT", None, "", same)
    yield Row(
        f"… peak memory of a worker, more than for {FEW_DIALOGUES:,} dialogues",
        f"{after:.0f} MB, {after - before:+.0f} MB",
        None,
        f"+{MOST_GROWTH} MB",
        after - before <= MOST_GROWTH,
    )


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    data = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/multiwoz/predictions")
    os.environ.setdefault("MWZEVAL_DATA", str(data.parent.resolve()))
    for row in rows(data, int(sys.argv[2]) if len(sys.argv) > 2 else REPETITIONS):
        met = {True: "yes", False: "no", None: ""}[row.met]
        print(row.what, row.measured, row.ratio or "", row.limit, met, sep=" | ")
