"""Speed and memory of DSTC7 reading, scoring and retrieval on synthetic data of full size.

The streamed file has about 1.1 GB and is in a temporary folder. Peak memory requires Linux.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.dstc7_data import World, write
from benchmarks.measure import REPETITIONS, Row, at_most, cpu_seconds, median_cpu, run_script
from mwzeval.dstc7.baselines.query import pool_best
from mwzeval.dstc7.baselines.ranker import Baseline, bm25_vectors, predict, tfidf_vectors
from mwzeval.dstc7.dialogues import stream_examples
from mwzeval.dstc7.evaluation import Gold, evaluate, score
from mwzeval.dstc7.tracks import RANKED, Track

TRAIN = 100_000
SCORING_MS, PROCESS_SECONDS, STREAM_MB, RETRIEVAL_SECONDS = 10, 1.2, 150, 12
EVALUATE = """
import sys
from mwzeval.dstc7.evaluation import Gold, evaluate
from mwzeval.text import to_json
sys.stdout.write(to_json(evaluate(sys.argv[1], Gold(*sys.argv[2:])).report().to_dict()))
"""
STREAM = """
import sys
from mwzeval.dstc7.dialogues import stream_examples
assert sum(1 for _ in stream_examples(sys.argv[1])) == int(sys.argv[2])
"""


def rows(_: Path) -> Iterator[Row]:
    """Yield the rows of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder, world = Path(name), World()
        files = write(folder, {"test": 1_000}, world)
        test, submission = files["test"], folder / "Ubuntu_subtask_1.json"
        predict(Baseline("random"), Track("ubuntu", 1), test, submission)
        evaluated = evaluate(submission, Gold(files["targets"], test))
        took = 1000 * median_cpu(lambda: score(evaluated.loaded).scored_table.scores())
        yield at_most("DSTC7: scoring 1,000 × 100 after loading", took, "ms", SCORING_MS, 1)
        took = 1000 * median_cpu(lambda: list(evaluated.explain_all()))
        yield Row("DSTC7: explaining 1,000 examples", f"{took:.0f} ms")
        for what, gold in (("targets", ["targets"]), ("targets, dialogues", ["targets", "test"])):
            arguments = [str(submission), *(str(files[name]) for name in gold)]
            costs = [run_script(EVALUATE, *arguments) for _ in range(REPETITIONS)]
            fastest = min(costs, key=lambda cost: cost.wall_seconds)
            what = f"DSTC7: evaluate as a process, {what}, {fastest.megabytes:.0f} MB"
            yield at_most(what, fastest.wall_seconds, "s", PROCESS_SECONDS)
        what = f"DSTC7: reading 1,000 examples ({test.stat().st_size / 1e6:.0f} MB)"
        yield Row(what, f"{median_cpu(lambda: list(stream_examples(test))):.2f} s")
        contexts = [example.context for example in stream_examples(test)]
        for name, vectors in (("TF-IDF", tfidf_vectors), ("BM25", bm25_vectors)):
            took = cpu_seconds(lambda: pool_best(*vectors(contexts, world.texts), RANKED))  # noqa: B023
            what = f"DSTC7: {name} over {world.pool:,} candidates, {len(contexts):,} contexts"
            yield at_most(what, took, "s", RETRIEVAL_SECONDS, 1)
        train = write(folder, {"train": TRAIN}, world)["train"]
        cost = run_script(STREAM, str(train), str(TRAIN))
        what = f"{TRAIN:,} examples ({train.stat().st_size / 1e9:.2f} GB)"
        what = f"DSTC7: memory to stream {what} in {cost.wall_seconds:.0f} s"
        yield at_most(what, cost.megabytes, "MB", STREAM_MB, 0)
