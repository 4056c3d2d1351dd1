"""Worker processes (also Dask's) have one thread, ignore Ctrl-C, and end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path

import pytest

from mwzeval.cluster import THREADS, cluster, pool
from mwzeval.errors import MwzevalError
from tests.places import ROOT
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

NEVER_DONE = """
import sys, time
from pathlib import Path
from mwzeval.cluster import pool
from tests.cluster.test_processes import note_and_wait
if __name__ == "__main__":
    with pool(2) as executor:
        list(executor.map(note_and_wait, [sys.argv[1] + "/a", sys.argv[1] + "/b"]))
"""


def note_and_wait(path: str) -> None:
    place = Path(path)
    place.write_text(str(os.getpid()), encoding="utf-8")
    place.rename(f"{place}.pid")  # atomic: readers never see an incomplete file
    time.sleep(600)


def threads() -> list[str | None]:
    return [os.environ.get(name) for name in THREADS]


def blocked_signals() -> set[int]:
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, []))


def is_running(number: int) -> bool:
    try:
        status = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_exit_when_their_parent_is_killed(number: signal.Signals, tmp_path: Path) -> None:
    program = [sys.executable, "-c", NEVER_DONE, str(tmp_path)]
    parent = subprocess.Popen(program, cwd=ROOT, stderr=subprocess.DEVNULL)
    places = [tmp_path / "a.pid", tmp_path / "b.pid"]
    wait_until("both workers have begun", lambda: all(place.exists() for place in places))
    workers = [int(place.read_text(encoding="utf-8")) for place in places]
    assert all(is_running(worker) for worker in workers)
    parent.send_signal(number)
    parent.wait()
    wait_until("no worker is left", lambda: not any(is_running(worker) for worker in workers))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signal masks")
def test_pool_workers_ignore_interrupts_from_startup() -> None:
    with pool(1) as executor:
        done = executor.submit(os.getpid)
        (worker,) = active_children()
        assert worker.pid is not None
        while not done.done():
            os.kill(worker.pid, signal.SIGINT)
            time.sleep(0.001)
        assert done.result() == worker.pid
    assert signal.SIGINT not in blocked_signals()


def test_workers_use_one_thread_and_parent_thread_counts_are_unchanged() -> None:
    before = threads()
    with pool(1) as executor:
        assert executor.submit(threads).result() == ["1"] * len(THREADS)
    assert threads() == before


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signal masks")
def test_cluster_workers_block_interrupts() -> None:
    with cluster("local", 2) as client:
        workers = client.run(blocked_signals, nanny=False)
    assert [signal.SIGINT in held for held in workers.values()] == [True, True]
    assert signal.SIGINT not in blocked_signals()


def test_workers_that_fail_to_start_raise_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every Python process runs this file first; it kills spawned processes, such as workers.
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "if any('spawn' in word for word in sys.orig_argv):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(MwzevalError, match="Dask"), cluster("local", 1):
        pass
