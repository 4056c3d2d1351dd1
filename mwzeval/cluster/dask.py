"""Connections to Dask clusters: that of a scheduler, or one of this machine's processes."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from mwzeval.cluster.processes import interrupts_held
from mwzeval.errors import MwzevalError, UsageError, shorten
from mwzeval.libraries import required

LOCAL = "local"
ANSWER_SECONDS = 8
"""How long a scheduler may take to answer."""
WORKER_SECONDS = 30
"""How long to wait for a first worker of a scheduler that has answered."""
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
    if address == LOCAL:
        import dask

        # Whatever happens to a worker is shown by what happens to its shards.
        with ExitStack() as started:
            started.enter_context(dask.config.set(QUIET_WORKERS))
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
                    f"the Dask workers of this machine did not start ({reason}): try again, or "
                    "with fewer workers"
                ) from error
            yield client
        return
    if workers is not None:
        raise UsageError(f"the workers of {shorten(address)} are its own: leave out their number")
    with _connected(distributed, address) as client:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise UsageError(
                f"the Dask scheduler at {shorten(address)} has no worker: start some with "
                f"`dask worker {shorten(address)}`"
            ) from None
        yield client


def _connected(distributed: Any, address: str) -> Any:
    if not re.fullmatch(r"[a-z]+://.+:[0-9]+", address):
        raise UsageError(
            f'"{shorten(address)}" is no address of a Dask scheduler, such as '
            "tcp://192.168.0.1:8786, nor local"
        )
    try:
        asyncio.run(asyncio.wait_for(_greet(distributed, address), ANSWER_SECONDS))
        return distributed.Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, MemoryError, asyncio.TimeoutError) as error:
        # Dask takes the first bytes of whatever answers for a length, and asks for so much memory.
        reason = shorten(str(error), 200) or f"no answer for {ANSWER_SECONDS} s"
        if isinstance(error, MemoryError):
            reason = "what answers is none"
        raise UsageError(
            f"no Dask scheduler answers at {shorten(address)} ({reason}): start one with "
            "`dask scheduler`, which prints its address, or use --dask local"
        ) from None


async def _greet(distributed: Any, address: str) -> None:
    """Ask the scheduler who it is: a client would wait for a silent one without end."""
    scheduler = distributed.rpc(address)
    try:
        await scheduler.identity()
    finally:
        await scheduler.close_rpc()
