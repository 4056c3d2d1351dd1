"""Parallel work: in processes on this machine, and on a Dask cluster.

Each worker process uses one thread and ends together with its parent process.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from mwzeval.errors import MwzevalError, UsageError, shorten
from mwzeval.libraries import required

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def processors() -> int:
    """Return the number of processors that this process may use."""
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
    """Yield an executor of worker processes; pending tasks are canceled at the end of the block.

    Ctrl-C interrupts only this process; the workers end with it. Workers are spawned, because NumPy
    in a forked process could not change its number of threads.
    """
    # Imported here because most commands need no processes and should start quickly.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    class Executor(ProcessPoolExecutor):
        def submit(self, *called: Any, **named: Any) -> Any:
            # This starts processes; Ctrl-C in a process during imports would print a traceback.
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
    """Block SIGINT in the `with` block, and permanently in processes and threads started there."""
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
    """End this process as soon as its parent process ends."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="ends with its parent", daemon=True).start()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Limit linear algebra to one thread in processes that this block starts."""
    before = {name: os.environ[name] for name in THREADS if name in os.environ}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name in THREADS:
            os.environ.pop(name, None)
        os.environ.update(before)


LOCAL = "local"
ANSWER_SECONDS = 8
WORKER_SECONDS = 30
QUIET_WORKERS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
}
"""The Dask settings that disable profiling, which workers otherwise do up to a hundred times a
second."""


@contextmanager
def cluster(address: str, workers: int | None = None) -> Iterator[Any]:
    """Connect to a Dask scheduler (`tcp://host:8786`), or start a local cluster (`local`).

    `workers` is the number of processes of a local cluster (default: one per core). Yields a Dask
    client. Raises `DependencyError` if Dask is not installed. Raises `UsageError` if the scheduler
    does not answer or has no workers, and `MwzevalError` if local workers do not start.
    """
    distributed: Any = required("distributed", "distributed", "evaluating on a cluster needs Dask")
    if address != LOCAL:
        if workers is not None:
            raise UsageError(
                f"{shorten(address)} has its own workers: leave out the number of workers"
            )
        with _connected(distributed, address) as client:
            yield client
        return
    import dask

    # The results of the shards show every failure of a worker.
    with dask.config.set(QUIET_WORKERS), ExitStack() as started:
        try:
            # Python's resource tracker is started now; its start would later unblock Ctrl-C.
            with suppress(ImportError):
                from multiprocessing.resource_tracker import ensure_running

                ensure_running()
            # Dask can shut down a cluster only after it has started, and Ctrl-C must reach this
            # process only, not the workers.
            with interrupts_held():
                local = started.enter_context(
                    distributed.LocalCluster(
                        n_workers=workers or os.cpu_count() or 1,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address="127.0.0.1:0",
                        silence_logs=logging.CRITICAL,
                    )
                )
                client = started.enter_context(distributed.Client(local))
        except Exception as error:
            # The error may have any class: a killed worker, no memory, no free port.
            reason = shorten(str(error), 200) or type(error).__name__
            raise MwzevalError(
                f"the Dask workers on this machine did not start ({reason}): try again, perhaps "
                "with fewer workers"
            ) from error
        yield client


def _connected(distributed: Any, address: str) -> Any:
    import asyncio

    async def greet() -> None:
        scheduler = distributed.rpc(address)
        try:
            await scheduler.identity()
        finally:
            await scheduler.close_rpc()

    try:
        # A client would wait forever for a silent scheduler.
        asyncio.run(asyncio.wait_for(greet(), ANSWER_SECONDS))
        client = distributed.Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, MemoryError, asyncio.TimeoutError) as error:
        # Dask reads the first bytes of any answer as a length, and allocates this much memory.
        reason = shorten(str(error), 200) or f"no answer within {ANSWER_SECONDS} s"
        raise UsageError(
            f"no Dask scheduler answers at {shorten(address)} ({reason}): start one with "
            "`dask scheduler`, which prints its address, such as tcp://192.168.0.1:8786, or use "
            "--dask local"
        ) from None
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        client.close()
        raise UsageError(
            f"the Dask scheduler at {shorten(address)} has no worker: start some with "
            f"`dask worker {shorten(address)}`"
        ) from None
    return client
