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
    start: str | None = "spawn",
) -> Iterator[ProcessPoolExecutor]:
    """Yield worker processes; what waits is dropped when the block is left.

    Ctrl-C is for this process alone, which says when they stop, from their first moment on. They
    end with this process, however it ends: a worker whose parent was killed would go on to
    the end of its task, and then wait for ever. `start` is how they are started (see
    `multiprocessing`; None: as is usual on the system). The usual way on Linux copies a process
    whose NumPy has threads already, and how many is settled when it is imported.
    """
    # Imported here, because most commands need no processes and are to start at once.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    class Executor(ProcessPoolExecutor):
        def submit(self, *called: Any, **named: Any) -> Any:
            # Here processes are started. What Ctrl-C ends while they import tells tracebacks.
            with interrupts_held():
                return super().submit(*called, **named)

    with one_thread_each():
        executor = Executor(
            processes,
            multiprocessing.get_context(start),
            initializer=_begin,
            initargs=(initializer, initargs),
        )
        try:
            yield executor
        finally:
            executor.shutdown(cancel_futures=True)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until this block ends; what is started within never hears it.

    Processes and threads inherit that. Where the system knows no such thing, nothing is held.
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

    _be_killed_with_parent()

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="ends with its parent", daemon=True).start()


def _be_killed_with_parent() -> None:
    """Let the system end this process with its parent, where it can.

    A thread that waits for that end does not get its turn while something outside Python computes.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


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
