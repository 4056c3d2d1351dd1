"""Speed and memory of DSTC7 scoring and reading, on synthetic data at full scale.

`python -m benchmarks.dstc7 [EXAMPLES]` prints the table alone, on Linux. The train file that is
streamed has 100,000 examples (1.8 GB in a temporary folder, a minute to write) unless another
number is given.
"""

from __future__ import annotations

import gzip
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import REPETITIONS, ProcessCost, Row
from mwzeval.dstc7.reading.dialogues import read_examples, read_pool
from mwzeval.dstc7.reading.submission import write_submission
from mwzeval.dstc7.reading.tracks import Track
from mwzeval.dstc7.scoring.evaluation import Gold, ScoredSubmission, evaluate, score
from mwzeval.dstc7.scoring.explanation import explain_all
from mwzeval.dstc7.synthetic import Sizes, World, write_track

TRAIN = 100_000
TRACK = Track("ubuntu", 1)
SCORING_MS, PROCESS_SECONDS, STREAM_MB, REFUSE_MB = 10, 1.2, 150, 600
PACKED_MB = 2_000

EVALUATE = """
import sys
from mwzeval.dstc7.scoring.evaluation import Gold, evaluate
from mwzeval.text import to_json
sys.stdout.write(to_json(evaluate(sys.argv[1], Gold(*sys.argv[2:])).report()))
"""

STREAM = """
import sys
from mwzeval.dstc7.reading.dialogues import stream_examples
assert sum(1 for _ in stream_examples(sys.argv[1])) == int(sys.argv[2])
"""

PEAK = """
from pathlib import Path
status = Path("/proc/self/status").read_text()
sys.stderr.write(status.partition("VmHWM:")[2].split()[0])
"""

REFUSE = """
import sys
from mwzeval.dstc7.scoring.evaluation import Gold, validate
found = validate(sys.argv[1], Gold(sys.argv[2]), "dstc7-ubuntu-1")
assert [problem.kind for problem in found if problem.severity == "error"] == ["too-large"]
"""


def rows(train: int = TRAIN) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world = World()
        files = write_track(folder, TRACK, Sizes(0, 0, 1_000), world=world)
        submission = _random_submission(folder, files["test"])
        gold = Gold(files["targets"], files["test"])
        yield from _scoring(evaluate(submission, gold))
        yield from _processes(submission, files)
        yield from _reading(folder, files["test"], world)
        yield from _streaming(folder, files["targets"], world, train)


def _random_submission(folder: Path, dialogues: Path) -> Path:
    generator = np.random.default_rng(1)
    path = folder / TRACK.file_name
    rankings = []
    for example in read_examples(dialogues):
        confidences = np.sort(generator.random(len(example.candidates)))[::-1].tolist()
        ids = generator.permutation([c.candidate_id for c in example.candidates]).tolist()
        rankings.append((example.example_id, list(zip(ids, confidences, strict=True))))
    write_submission(path, rankings)
    return path


def _median(call: Callable[[], object]) -> float:
    """Return seconds of processor time, which other processes hardly change."""
    times = []
    for _ in range(REPETITIONS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


def _scoring(evaluated: ScoredSubmission) -> Iterator[Row]:
    took = 1000 * _median(lambda: score(evaluated.loaded).scored_table.scores())
    what = "DSTC7: scoring 1,000 × 100 after loading"
    yield Row(what, f"{took:.1f} ms", None, f"{SCORING_MS} ms", took <= SCORING_MS)
    took = 1000 * _median(lambda: list(explain_all(evaluated.loaded)))
    yield Row("DSTC7: explaining 1,000 examples", f"{took:.0f} ms", None, "", None)


def _processes(submission: Path, files: dict[str, Path]) -> Iterator[Row]:
    gold = [str(files["targets"])]
    for what, more in (("targets", []), ("targets and dialogues", [str(files["test"])])):
        arguments = [EVALUATE, str(submission), *gold, *more]
        cost = _fastest([_measured(*arguments) for _ in range(REPETITIONS)])
        yield Row(
            f"DSTC7: evaluate as a process, {what}",
            f"{cost.wall_seconds:.2f} s, {cost.peak_megabytes:.0f} MB",
            None,
            f"{PROCESS_SECONDS} s",
            cost.wall_seconds <= PROCESS_SECONDS,
        )


def _measured(script: str, *arguments: str) -> ProcessCost:
    """Run a script and return what it took.

    Its memory is what it says itself: what the system says of a child process can be the memory of
    its parent, which here is larger.
    """
    start = time.perf_counter()
    command = [sys.executable, "-c", script + PEAK, *arguments]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return ProcessCost(time.perf_counter() - start, int(done.stderr) / 1024)


def _fastest(costs: list[ProcessCost]) -> ProcessCost:
    """Return the one that the machine's other work slowed least."""
    return min(costs, key=lambda cost: cost.wall_seconds)


def _reading(folder: Path, dialogues: Path, world: World) -> Iterator[Row]:
    took = _median(lambda: read_examples(dialogues))
    size = dialogues.stat().st_size / 1e6
    yield Row(f"DSTC7: reading 1,000 examples ({size:.0f} MB)", f"{took:.2f} s", None, "", None)
    files = write_track(folder, Track("ubuntu", 2), Sizes(0, 0, 1), world=world)
    took = _median(lambda: read_pool(files["pool"]))
    yield Row("DSTC7: reading the pool of 120,000", f"{took:.2f} s", None, "", None)


def _streaming(folder: Path, targets: Path, world: World, train: int) -> Iterator[Row]:
    start = time.perf_counter()
    files = write_track(folder, TRACK, Sizes(train, 0, 0), world=world)
    took = time.perf_counter() - start
    size = files["train"].stat().st_size / 1e9
    what = f"{train:,} examples ({size:.2f} GB)"
    yield Row(f"DSTC7: writing {what}", f"{took:.0f} s", None, "", None)
    cost = _measured(STREAM, str(files["train"]), str(train))
    yield Row(
        f"DSTC7: streaming {what}",
        f"{cost.wall_seconds:.0f} s, {cost.peak_megabytes:.0f} MB",
        None,
        f"{STREAM_MB} MB",
        cost.peak_megabytes <= STREAM_MB,
    )
    packed = folder / "packed.json.gz"
    with gzip.open(packed, "wb", compresslevel=1) as stream:
        for _ in range(PACKED_MB):
            stream.write(b"[" + b" " * 999_999)
    cost = _measured(REFUSE, str(packed), str(targets))
    yield Row(
        f"DSTC7: refusing {PACKED_MB / 1000:g} GB, compressed, as a submission",
        f"{cost.wall_seconds:.1f} s, {cost.peak_megabytes:.0f} MB",
        None,
        f"{REFUSE_MB} MB",
        cost.peak_megabytes <= REFUSE_MB,
    )


def main() -> int:
    """Print the table."""
    missed = False
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else TRAIN):
        print(f"{row.what}: {row.measured} (at most {row.limit or '–'})", flush=True)
        missed |= row.met is False
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
