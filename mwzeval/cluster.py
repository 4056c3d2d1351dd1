"""Work that is shared out: over processes of this machine, and over a Dask cluster.

A process works in one thread, and does not outlive the process that it works for.
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

    Ctrl-C interrupts this process alone, with which the workers end, however it ends. They are
    spawned, for a copy of this process would have a NumPy whose number of threads is settled.
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
    """Block SIGINT in this block, and for ever in processes and threads that it starts."""
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

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="ends with its parent", daemon=True).start()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes that are started meanwhile do linear algebra in one thread: more would wait."""
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
"""By default workers look up to a hundred times a second at what they are doing; it shows."""


@contextmanager
def cluster(address: str, workers: int | None = None) -> Iterator[Any]:
    """Connect to a Dask scheduler (`tcp://host:8786`), or start one here (`local`).

    `workers` are the processes of a local cluster (default: one per core). Yields a Dask client.
    Raises `DependencyError` without Dask, `UsageError` when nobody answers at the address, or no
    worker is there, `MwzevalError` when workers do not start here.
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

    # Whatever happens to a worker is shown by what happens to its shards.
    with dask.config.set(QUIET_WORKERS), ExitStack() as started:
        try:
            # The process in which Python tracks shared resources: starting it unblocks Ctrl-C.
            with suppress(ImportError):
                from multiprocessing.resource_tracker import ensure_running

                ensure_running()
            # Dask can end a cluster in order only once it has begun, and Ctrl-C is for this
            # process, not for the workers.
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
            # A worker that is killed meanwhile, no memory or no port for it: of any class.
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
        # A client would wait for a silent scheduler without end.
        asyncio.run(asyncio.wait_for(greet(), ANSWER_SECONDS))
        client = distributed.Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, MemoryError, asyncio.TimeoutError) as error:
        # Dask takes the first bytes of whatever answers for a length, and asks for so much memory.
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
