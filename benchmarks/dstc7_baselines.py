"""Retrieval from a pool of 120,000, and the learning curve of the dual encoder.

`python -m benchmarks.dstc7_baselines` prints what retrieval takes; with `--train` it also trains a
dual encoder on synthetic data of full scale (100,000 examples, one thread) and writes its curve to
`dstc7_dual_encoder.md`.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Row
from mwzeval.dstc7.baselines.dual_encoder.arrays import Settings
from mwzeval.dstc7.baselines.dual_encoder.training import dev_scores
from mwzeval.dstc7.baselines.query import all_candidates, query_of
from mwzeval.dstc7.baselines.ranker import (
    BM25,
    DUAL_ENCODER,
    TFIDF,
    Baseline,
    bm25_vectors,
    tfidf_vectors,
)
from mwzeval.dstc7.baselines.run import predict, train
from mwzeval.dstc7.baselines.vectors import list_scores, pool_best
from mwzeval.dstc7.reading.dialogues import read_pool, stream_examples
from mwzeval.dstc7.reading.loading import Gold
from mwzeval.dstc7.reading.tracks import RANKED, Track
from mwzeval.dstc7.scoring.evaluation import evaluate
from mwzeval.dstc7.synthetic import Sizes, World, write_track
from mwzeval.neural.training import Point

LIMIT = 12.0
"""Seconds that building an index and searching it may take."""
LONGEST_TRAINING = 15 * 60
CURVE = Path(__file__).parent / "dstc7_dual_encoder.md"
VECTORS = {TFIDF: tfidf_vectors, BM25: bm25_vectors}
LISTS, POOL = Track("ubuntu", 1), Track("ubuntu", 2)


def rows(world: World | None = None) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    with TemporaryDirectory() as folder:
        data = write_track(folder, POOL, Sizes(0, 0, 1000), world=world)
        contexts = [example.context for example in stream_examples(data["test"])]
        texts = list(read_pool(data["pool"]).values())
        for name, vectors in VECTORS.items():
            start, start_cpu = time.perf_counter(), time.process_time()
            pool_best(*vectors(contexts, texts), RANKED)
            took, cpu = time.perf_counter() - start, time.process_time() - start_cpu
            what = f"{name} over {len(texts):,} candidates, {len(contexts):,} contexts"
            measured = f"{took:.1f} s ({cpu:.1f} s CPU)"
            yield Row(what, measured, None, f"{LIMIT:.0f} s", took <= LIMIT)
            start = time.perf_counter()
            output = Path(folder, "submission.json")
            predict(Baseline(name), POOL, data["test"], output, pool=data["pool"])
            took = time.perf_counter() - start
            yield Row("… from files to file", f"{took:.1f} s", None, "", None)


def lexical_points(dev: Path) -> dict[str, Point]:
    """Return what TF-IDF and BM25 reach on the dev lists."""
    queries = [query_of(example) for example in stream_examples(dev)]
    sizes = [len(query.candidates) for query in queries]
    points = {}
    for name, vectors in VECTORS.items():
        of_contexts, of_candidates = vectors(
            [query.context for query in queries], all_candidates(queries)
        )
        scores = list_scores(of_contexts, of_candidates, sizes)
        points[name] = Point(0, 0, 0, None, dev_scores(queries, scores))
    return points


def curve(folder: Path, settings: Settings, world: World | None = None) -> Iterator[str]:
    """Yield the lines of the page: lexical baselines, then the curve, then the test scores."""
    data = write_track(folder, LISTS, Sizes(100_000, 1_000, 1_000), world=world)
    yield "| | seconds | examples | loss | Recall@1 | Recall@10 | MRR |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    lexical = lexical_points(data["dev"])
    for name, point in lexical.items():
        yield _line(name, None, point)
    start, start_cpu = time.perf_counter(), time.process_time()
    seen: list[tuple[float, Point]] = []

    def watch(point: Point) -> None:
        seen.append((time.perf_counter() - start, point))
        print(_line(DUAL_ENCODER, *seen[-1]), file=sys.stderr, flush=True)

    train(data["train"], data["dev"], folder / "model", settings=settings, watch=watch)
    for seconds, point in seen:
        yield _line(DUAL_ENCODER, seconds, point)
    yield ""
    to_beat = lexical[BM25].scores["recall_at_10"]
    ahead = [s for s, p in seen if p.scores["recall_at_10"] > to_beat and p.step]
    took, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    yield f"Training took {took:.0f} s ({cpu:.0f} s CPU), with reading the 100,000 examples."
    if ahead and ahead[0] <= LONGEST_TRAINING:
        yield f"Ahead of BM25 in Recall@10 after {ahead[0]:.0f} s, at most {LONGEST_TRAINING} s."
    else:
        yield f"**Not ahead of BM25 in Recall@10 after {LONGEST_TRAINING} s.**"
    yield ""
    yield from _test_scores(folder, data)


def _test_scores(folder: Path, data: dict[str, Path]) -> Iterator[str]:
    yield "| on the test file | Recall@1 | Recall@10 | MRR |"
    yield "|---|---:|---:|---:|"
    for name in (TFIDF, BM25, DUAL_ENCODER):
        output = folder / LISTS.file_name
        model = folder / "model" if name == DUAL_ENCODER else None
        predict(Baseline(name, model), LISTS, data["test"], output)
        scores = evaluate(output, Gold(data["targets"]), LISTS).report().metrics["ranking"]
        recall = scores["recall"]
        yield f"| {name} | {recall['1']:.3f} | {recall['10']:.3f} | {scores['mrr']:.3f} |"


def _line(name: str, seconds: float | None, point: Point) -> str:
    time_spent = "" if seconds is None else f"{seconds:.0f}"
    examples = "" if seconds is None else f"{point.examples:,}"
    loss = "" if point.loss is None else f"{point.loss:.3f}"
    scores = " | ".join(
        f"{point.scores[name]:.3f}" for name in ("recall_at_1", "recall_at_10", "mrr")
    )
    return f"| {name} | {time_spent} | {examples} | {loss} | {scores} |"


def _page(lines: Sequence[str], settings: Settings) -> str:
    packages = ", ".join(f"{n} {version(n)}" for n in ("torch", "numpy", "scipy", "bm25s"))
    return "\n".join(
        [
            "# Dual encoder on synthetic data",
            "",
            "Written by `python -m benchmarks.dstc7_baselines --train`: lists of 100, 100,000",
            "training examples, scores on 1,000 dev examples. These are invented words, so figures",
            "say how methods compare, not how hard the Ubuntu task is.",
            "",
            f"Settings: {', '.join(f'{k}={v}' for k, v in settings.to_json().items())}.",
            f"{packages}; Python {platform.python_version()}; {platform.machine()},",
            f"{os.cpu_count()} cores, of which training used {settings.threads}.",
            "",
            *lines,
            "",
        ]
    )


def main() -> int:
    """Print the rows, and with `--train` write the curve; return 1 when a limit is not met."""
    world, met = World(), True
    for row in rows(world):
        met &= row.met is not False
        print(f"{row.what}: {row.measured}{f' (at most {row.limit})' if row.limit else ''}")
    if "--train" in sys.argv[1:]:
        settings = Settings()
        with TemporaryDirectory() as folder:
            lines = list(curve(Path(folder), settings, world))
        CURVE.write_text(_page(lines, settings), encoding="utf-8")
        print("\n".join(lines))
        met &= not any(line.startswith("**") for line in lines)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
