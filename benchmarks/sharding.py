"""Time of a hundred thousand dialogues in shards: one process, and Dask workers."""

from __future__ import annotations

import json
import resource
import statistics
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import zstandard

from benchmarks.measure import Row, at_most, seconds
from mwzeval import Evaluator
from mwzeval.cluster import cluster
from mwzeval.multiwoz.shards import evaluate_shards
from mwzeval.text import to_json

SYSTEMS = ("augpt", "damd", "galaxy-e2e", "pptod", "ubar")
"""Systems with states. Neighbouring dialogues and rollouts come from different systems, so that all
shards have a similar number of texts."""

DIALOGUES = 100_000
FEW_DIALOGUES = 10_000
DIALOGUES_OF_A_SHARD = 2_500
LEAST_SPEED_UP = 1.6
MOST_GROWTH = 64
REPETITIONS = 3


def write_shards(predictions: Path, folder: Path) -> list[str]:
    """Write rollouts of the test fold in shards; return their paths."""
    systems = [json.loads((predictions / f"{name}.json").read_bytes()) for name in SYSTEMS]
    names, lines = list(systems[0]), []
    for number in range(DIALOGUES):
        rollout, place = divmod(number, len(names))
        name = names[place]
        turns = systems[(place + rollout) % len(systems)].get(name, systems[0][name])
        turns = [{k: v for k, v in turn.items() if k != "active_domains"} for turn in turns]
        lines.append(json.dumps({"dialogue": f"{name}#{rollout}", "turns": turns}) + "\n")
    shards: list[str] = []
    for first in range(0, DIALOGUES, DIALOGUES_OF_A_SHARD):
        path = folder / f"{len(shards):05}.jsonl.zst"
        text = "".join(lines[first : first + DIALOGUES_OF_A_SHARD])
        path.write_bytes(zstandard.compress(text.encode()))
        shards.append(str(path))
    return shards


def rows(data: Path) -> Iterator[Row]:
    """Yield the rows of the table."""
    evaluator = Evaluator(True, True, True, rollouts=True, corpus="multiwoz-2.2")
    texts: set[str] = set()

    def report(shards: list[str], client: Any) -> None:
        texts.add(to_json(evaluate_shards(evaluator, shards, client=client).to_dict()))

    with tempfile.TemporaryDirectory() as scratch:
        shards = write_shards(data / "multiwoz" / "predictions", Path(scratch))
        few = shards[: FEW_DIALOGUES // DIALOGUES_OF_A_SHARD]
        with cluster("local", 1) as solo, cluster("local", 2) as pair:
            clients = (None, solo, pair)
            for client in clients:
                report(few, client)  # every process reads its gold data
            before = max(pair.run(_peak_megabytes).values())
            texts.clear()
            times = [
                [seconds(partial(report, shards, client)) for client in clients]
                for _ in range(REPETITIONS)
            ]
            after = max(pair.run(_peak_megabytes).values())
    alone, single, double = (statistics.median(column) for column in zip(*times, strict=True))
    yield Row(f"{DIALOGUES:,} dialogues in {len(shards)} shards, one process", f"{alone:.1f} s")
    what = "… on a Dask cluster, how many times as fast:"
    yield Row(f"{what} 1 worker", f"{single:.1f} s", alone / single)
    ratio = statistics.median(first / last for first, _, last in times)
    limit = f"at least {LEAST_SPEED_UP} ×"
    yield Row(f"{what} 2 workers", f"{double:.1f} s", ratio, limit, ratio >= LEAST_SPEED_UP)
    same = len(texts) == 1
    yield Row("… their reports", "the same bytes" if same else "DIFFERENT", met=same)
    what = f"… peak memory of a worker, more than for {FEW_DIALOGUES:,} dialogues"
    yield at_most(what, after - before, "MB", MOST_GROWTH, 0)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
