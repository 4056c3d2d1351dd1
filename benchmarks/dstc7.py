"""Speed and memory of DSTC7 reading, scoring and retrieval, on synthetic data at full scale.

The train file that is streamed has 100,000 examples: 1.8 GB in a temporary folder, a minute to
write. Peak memory is read on Linux.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import (
    REPETITIONS,
    Row,
    at_most,
    cpu_seconds,
    median_cpu,
    run_script,
)
from mwzeval.dstc7.baselines.ranker import bm25_vectors, tfidf_vectors
from mwzeval.dstc7.baselines.vectors import pool_best
from mwzeval.dstc7.reading.dialogues import read_examples, read_pool, stream_examples
from mwzeval.dstc7.reading.submission import write_submission
from mwzeval.dstc7.reading.tracks import RANKED, Track
from mwzeval.dstc7.scoring.evaluation import Gold, evaluate, score
from mwzeval.dstc7.scoring.explanation import explain_all
from mwzeval.dstc7.synthetic import Sizes, World, write_track

TRAIN = 100_000
LISTS, POOL = Track("ubuntu", 1), Track("ubuntu", 2)
SCORING_MS, PROCESS_SECONDS, STREAM_MB, RETRIEVAL_SECONDS = 10, 1.2, 150, 12
EVALUATE = """
import sys
from mwzeval.dstc7.scoring.evaluation import Gold, evaluate
from mwzeval.text import to_json
sys.stdout.write(to_json(evaluate(sys.argv[1], Gold(*sys.argv[2:])).report().to_dict()))
"""
STREAM = """
import sys
from mwzeval.dstc7.reading.dialogues import stream_examples
assert sum(1 for _ in stream_examples(sys.argv[1])) == int(sys.argv[2])
"""


def rows(_: Path) -> Iterator[Row]:
    """Yield the rows of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder, world = Path(name), World()
        files = write_track(folder, LISTS, Sizes(0, 0, 1_000), world=world)
        yield from _scoring(folder, files)
        test = files["test"]
        what = f"DSTC7: reading 1,000 examples ({test.stat().st_size / 1e6:.0f} MB)"
        yield Row(what, f"{median_cpu(lambda: read_examples(test)):.2f} s")
        yield from _retrieval(folder, world)
        yield from _streaming(folder, world)


def _scoring(folder: Path, files: dict[str, Path]) -> Iterator[Row]:
    generator = np.random.default_rng(1)
    rankings = []
    for example in read_examples(files["test"]):
        confidences = np.sort(generator.random(len(example.candidates)))[::-1].tolist()
        ids = generator.permutation([c.candidate_id for c in example.candidates]).tolist()
        rankings.append((example.example_id, list(zip(ids, confidences, strict=True))))
    submission = folder / LISTS.file_name
    write_submission(submission, rankings)
    loaded = evaluate(submission, Gold(files["targets"], files["test"])).loaded
    took = 1000 * median_cpu(lambda: score(loaded).scored_table.scores())
    yield at_most("DSTC7: scoring 1,000 × 100 after loading", took, "ms", SCORING_MS, 1)
    took = 1000 * median_cpu(lambda: list(explain_all(loaded)))
    yield Row("DSTC7: explaining 1,000 examples", f"{took:.0f} ms")
    for what, gold in (("targets", ["targets"]), ("targets and dialogues", ["targets", "test"])):
        arguments = [str(submission), *(str(files[name]) for name in gold)]
        costs = [run_script(EVALUATE, *arguments) for _ in range(REPETITIONS)]
        fastest = min(costs, key=lambda cost: cost.wall_seconds)
        what = f"DSTC7: evaluate as a process, {what}, {fastest.megabytes:.0f} MB"
        yield at_most(what, fastest.wall_seconds, "s", PROCESS_SECONDS)


def _retrieval(folder: Path, world: World) -> Iterator[Row]:
    files = write_track(folder, POOL, Sizes(0, 0, 1_000), world=world)
    took = median_cpu(lambda: read_pool(files["pool"]))
    yield Row("DSTC7: reading the pool of 120,000", f"{took:.2f} s")
    contexts = [example.context for example in stream_examples(files["test"])]
    texts = list(read_pool(files["pool"]).values())
    for name, vectors in (("TF-IDF", tfidf_vectors), ("BM25", bm25_vectors)):
        took = cpu_seconds(lambda: pool_best(*vectors(contexts, texts), RANKED))  # noqa: B023
        what = f"DSTC7: {name} over {len(texts):,} candidates, {len(contexts):,} contexts"
        yield at_most(what, took, "s", RETRIEVAL_SECONDS, 1)


def _streaming(folder: Path, world: World) -> Iterator[Row]:
    files = write_track(folder, LISTS, Sizes(TRAIN, 0, 0), world=world)
    what = f"{TRAIN:,} examples ({files['train'].stat().st_size / 1e9:.2f} GB)"
    cost = run_script(STREAM, str(files["train"]), str(TRAIN))
    what = f"DSTC7: memory to stream {what} in {cost.wall_seconds:.0f} s"
    yield at_most(what, cost.megabytes, "MB", STREAM_MB, 0)
