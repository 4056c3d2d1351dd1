"""Dask clusters: their workers start, and ignore Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from mwzeval.cluster import cluster
from mwzeval.errors import MwzevalError

pytestmark = pytest.mark.integration
WORKERS = 2


def _held_signals() -> set[int]:
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, []))


@pytest.mark.skipif(sys.platform == "win32", reason="no signal is held there")
def test_ctrl_c_is_not_for_workers() -> None:
    with cluster("local", WORKERS) as client:
        workers = client.run(_held_signals, nanny=False)
    assert len(workers) == WORKERS
    assert all(signal.SIGINT in held for held in workers.values())
    assert signal.SIGINT not in _held_signals()


def test_workers_that_do_not_start_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Python runs this first in every process, and those of a cluster are spawned.
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "if any('spawn' in word for word in sys.orig_argv):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with (
        pytest.raises(MwzevalError, match="Dask"),
        cluster("local", 1),
    ):
        pass
