"""Shards on a Dask cluster: the same report, also if a worker is killed."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from mwzeval.cluster import cluster
from mwzeval.errors import DataError, InputError, MwzevalError, UsageError
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.scoring.scorer import Sources
from mwzeval.multiwoz.shards import evaluate_shards, on_cluster
from mwzeval.text import to_json
from tests.parts import cut, rollouts, write_shards
from tests.places import sample_predictions
from tests.waiting import HANGING

pytestmark = pytest.mark.integration

WORKERS = 2
SOURCES = Sources(predicted_states=True, predicted_domains=True)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster("local", WORKERS) as client:
        yield client


@pytest.fixture(scope="module")
def of_rollouts() -> Evaluator:
    return Evaluator(True, True, True, True, corpus="sample", rollouts=True)


def on(client: Any, evaluator: Evaluator, paths: Sequence[str], **options: Any) -> str:
    return to_json(evaluate_shards(evaluator, paths, client=client, **options).to_dict())


def test_cluster_scores_equal_single_process_scores(
    client: Any, evaluator: Evaluator, tmp_path: Path
) -> None:
    predictions = sample_predictions("weak-tracker")
    endings = (".jsonl.zst", ".json", ".jsonl.gz")
    paths = write_shards(tmp_path, cut(predictions, range(3, 62, 3)), endings)
    assert len(paths) > 16, "several merges"
    expected = to_json(evaluator.evaluate(predictions).to_dict())
    assert on(client, evaluator, paths) == on(None, evaluator, paths) == expected


def test_missing_gold_data_on_a_worker_is_an_error(client: Any, tmp_path: Path) -> None:
    paths = write_shards(tmp_path, cut(sample_predictions("good"), [30]))
    lost = Evaluator(success=True, corpus="multiwoz-2.2", data=tmp_path / "nowhere")
    with pytest.raises(DataError, match="nowhere"):
        on_cluster(client, lost, SOURCES, paths)
    # The cluster can still be used after the error.
    sound = Evaluator(success=True, corpus="sample")
    assert on(client, sound, paths) == on(None, sound, paths)


def test_results_of_different_versions_cannot_be_merged(client: Any, tmp_path: Path) -> None:
    # With this many shards, both workers score shards that are merged.
    paths = write_shards(tmp_path, cut(sample_predictions("good"), range(1, 62)))

    def pretend(version: str) -> None:
        import mwzeval.multiwoz.scoring.scored_predictions

        mwzeval.multiwoz.scoring.scored_predictions.__version__ = version  # type: ignore[attr-defined]

    from mwzeval.version import __version__

    evaluator = Evaluator(success=True, corpus="sample")
    worker = next(iter(client.scheduler_info()["workers"]))
    client.run(pretend, "9.9", workers=[worker])
    try:
        with pytest.raises(UsageError, match=r"version: .*9\.9"):
            on(client, evaluator, paths)
    finally:
        client.run(pretend, __version__)


def test_shards_of_a_killed_worker_are_rescored(
    client: Any, of_rollouts: Evaluator, tmp_path: Path
) -> None:
    predictions = rollouts(sample_predictions("good"), 80)  # takes two workers several seconds
    paths = write_shards(tmp_path, cut(predictions, range(124, len(predictions), 124)))
    killed: list[int] = []
    ended = Event()

    def finished_shards(dask_scheduler: Any) -> int:
        return sum(
            str(key).startswith("mwzeval-shard") and task.state in ("memory", "released")
            for key, task in dask_scheduler.tasks.items()
        )

    def kill_a_busy_worker() -> None:
        pids = client.run(os.getpid)
        while not (killed or ended.is_set()):
            done = client.run_on_scheduler(finished_shards)
            busy = {worker for worker, tasks in client.processing().items() if tasks}
            if done >= 5 and busy:
                killed.append(pids[min(busy)])
                os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.01)

    killer = Thread(target=kill_a_busy_worker)
    killer.start()
    found = on(client, of_rollouts, paths)
    ended.set()
    killer.join()
    assert found == to_json(of_rollouts.evaluate(predictions).to_dict())
    assert killed
    client.wait_for_workers(WORKERS, timeout=HANGING)
    assert killed[0] not in client.run(os.getpid).values()


class _DeadlyEvaluator(Evaluator):
    """Kills the process that scores with it, as if memory was exhausted."""

    def part(self, predictions: Any, findings: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


def test_error_names_a_shard_that_kills_its_worker(tmp_path: Path) -> None:
    def allow_no_death(dask_scheduler: Any) -> None:
        dask_scheduler.allowed_failures = 0

    paths = write_shards(tmp_path, cut(sample_predictions("good"), [30]))
    with cluster("local", 1) as alone:
        alone.run_on_scheduler(allow_no_death)
        evaluator = _DeadlyEvaluator(success=True, corpus="sample")
        with pytest.raises(MwzevalError, match=r"part-00\d\.jsonl"):
            on_cluster(alone, evaluator, SOURCES, paths)


def test_worker_memory_is_independent_of_the_number_of_dialogues(
    client: Any, of_rollouts: Evaluator, tmp_path: Path
) -> None:
    def peak_megabytes() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    predictions = rollouts(sample_predictions("good"), 100)
    peaks = []
    for parts in (cut(predictions, range(62, 620, 62))[:9], cut(predictions, [3100])):
        folder = tmp_path / str(len(parts))
        folder.mkdir()
        on(client, of_rollouts, write_shards(folder, parts))
        peaks.append(client.run(peak_megabytes))
    before, after = peaks
    # The second run has 10 times as many dialogues (6 kB each), and 50 times as many per shard.
    assert max(after[worker] - before[worker] for worker in before) < 24


def shards(*words: str, program: str = "from mwzeval.cli import main") -> Any:
    """Run `mwzeval shards` in a separate process."""
    program = f"{program}\nimport sys\nsys.exit(main(['shards', *sys.argv[1:]]))"
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, check=False, text=True)


def test_command_line_connects_to_a_cluster_by_address(
    client: Any, evaluator: Evaluator, tmp_path: Path
) -> None:
    predictions = sample_predictions("good")
    write_shards(tmp_path, cut(predictions, [20, 40]))
    report, pattern = tmp_path / "report.json", str(tmp_path / "part-*")
    address = client.scheduler.address
    done = shards("-bsrd", "--corpus", "sample", "--dask", address, "-o", str(report), pattern)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert report.read_text(encoding="utf-8") == to_json(evaluator.evaluate(predictions).to_dict())


WITHOUT_DASK = """
import sys
for name in ("dask", "distributed", "fsspec"):
    sys.modules[name] = None
from mwzeval.cli import main
"""


def test_missing_library_error_names_the_extra(tmp_path: Path) -> None:
    paths = write_shards(tmp_path, cut(sample_predictions("good"), [30]))
    words = ["-bs", "-o", str(tmp_path / "report.json"), *paths]
    assert shards(*words, program=WITHOUT_DASK).returncode == 0
    for more, library in ((["--dask", "local"], "Dask"), (["memory://part-*"], "fsspec")):
        done = shards(*words, *more, program=WITHOUT_DASK)
        assert (done.returncode, done.stdout) == (2, "")
        assert library in done.stderr
        assert "mwzeval[distributed]" in done.stderr


@pytest.mark.parametrize("listens", [False, True])
def test_unreachable_scheduler_error_names_the_address(listens: bool, tmp_path: Path) -> None:
    paths = write_shards(tmp_path, cut(sample_predictions("good"), [30]))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        if listens:  # accepts connections but never answers
            listener.listen()
        done = shards("-bs", "--dask", address, "-o", str(tmp_path / "report.json"), *paths)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert address in done.stderr


def test_invalid_shards_are_errors_or_skipped_on_a_cluster(
    client: Any, evaluator: Evaluator, tmp_path: Path
) -> None:
    paths = write_shards(tmp_path, cut(sample_predictions("good"), [20, 40]))
    Path(paths[1]).write_bytes(b"{")
    with pytest.raises(InputError, match=r"part-001\.jsonl"):
        on(client, evaluator, paths)
    found = on(client, evaluator, paths, skip_bad=True)
    assert found == on(None, evaluator, paths, skip_bad=True)
    assert "skipped_shards" in found
