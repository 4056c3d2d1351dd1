"""Processes that share work: each in one thread, and none outlives the one it works for."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

PR_SET_PDEATHSIG = 1
"""The option of Linux' `prctl` that names the signal which comes when the parent dies."""


def processors() -> int:
    """Return how many processors this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def pool(
    processes: int,
    *,
    initializer: Callable[..., object] | None = None,
    initargs: tuple[Any, ...] = (),
) -> Iterator[ProcessPoolExecutor]:
    """Yield worker processes; what waits is dropped when the block is left.

    Ctrl-C interrupts this process alone, which says when the workers stop. They end with this
    process, however it ends: otherwise a worker whose parent was killed would finish its task and
    then wait for ever. They are spawned, for a copy of this process would have a NumPy whose number
    of threads is settled.
    """
    # Imported here, because most commands need no processes and are to start at once.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    class Executor(ProcessPoolExecutor):
        def submit(self, *called: Any, **named: Any) -> Any:
            # This starts processes; one that Ctrl-C ends while it imports prints a traceback.
            with interrupts_held():
                return super().submit(*called, **named)

    with one_thread_each():
        executor = Executor(
            processes,
            multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(initializer, initargs),
        )
        try:
            yield executor
        finally:
            executor.shutdown(cancel_futures=True)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Block SIGINT in this block, and for ever in processes and threads that it starts.

    Where the system has no signal masks, nothing is blocked.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(initializer: Callable[..., object] | None, initargs: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    if initializer is not None:
        initializer(*initargs)


def end_with_parent() -> None:
    """Let this process end as soon as its parent is gone."""
    import multiprocessing

    if sys.platform == "linux":
        import ctypes

        # A thread that waits gets no turn while something outside Python computes.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="ends with its parent", daemon=True).start()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes that are started meanwhile do linear algebra in one thread.

    Threads of several processes that wait for each other take longer than the work does.
    """
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
