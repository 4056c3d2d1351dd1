"""Shards scored on a Dask cluster, to the same bits as in one process.

Every shard is one task, which reads its file, and returns its part. The parts of some neighbours
are merged by further tasks. A task whose worker has died is done again by another one; because a
task only returns what it has found, nothing is lost, and nothing is counted twice.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from uuid import uuid4

from mwzeval.cluster.processes import interrupts_held
from mwzeval.cluster.shards import Found, ShardScorer, found_in
from mwzeval.errors import DependencyError, MwzevalError, UsageError, shorten
from mwzeval.libraries import required
from mwzeval.progress import counting

LOCAL = "local"
ADDRESS = re.compile(r"[a-z]+://.+:[0-9]+")
SHARDS_TOGETHER = 8
"""Neighbouring shards whose parts are merged on the cluster, before they are fetched."""

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
    distributed = _distributed()
    if address == LOCAL:
        import dask

        # Whatever happens to a worker is shown by what happens to its shards.
        with ExitStack() as started:
            started.enter_context(dask.config.set(QUIET_WORKERS))
            try:
                # Dask can end a cluster in order only once it has begun; and it is this process
                # that Ctrl-C is for, not its workers.
                _start_tracker()
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


def _start_tracker() -> None:
    """Start the process that Python tracks shared resources with, where it has one.

    Starting it lets Ctrl-C through again, to all that is started thereafter.
    """
    with suppress(ImportError):
        from multiprocessing.resource_tracker import ensure_running

        ensure_running()


def _distributed() -> Any:
    return required("distributed", "distributed", "evaluating on a cluster needs Dask")


def _connected(distributed: Any, address: str) -> Any:
    if not ADDRESS.fullmatch(address):
        raise UsageError(
            f'"{shorten(address)}" is no address of a Dask scheduler, such as '
            "tcp://192.168.0.1:8786, nor local"
        )
    try:
        asyncio.run(asyncio.wait_for(_greet(distributed, address), ANSWER_SECONDS))
        return distributed.Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, MemoryError, asyncio.TimeoutError) as error:
        # Dask takes the first bytes of whatever answers for a length, and asks for so much memory.
        is_other = isinstance(error, MemoryError)
        silence = f"no answer for {ANSWER_SECONDS} s"
        reason = "what answers is none" if is_other else shorten(str(error), 200) or silence
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


def on_cluster(
    client: Any, scorer: ShardScorer, shards: Sequence[str], *, progress: bool = False
) -> Found:
    """Return what shards have in them, found by the workers of a cluster and merged in order.

    Raises `MwzevalError` when a shard cannot be scored for another reason than what is in it,
    `DependencyError` without Dask or when workers lack a library.
    """
    distributed: Any = _distributed()
    settings = pickle.dumps(scorer)
    run = uuid4().hex
    of_shards = {
        client.submit(_found_in, settings, shard, key=f"mwzeval-shard-{run}-{number}"): shard
        for number, shard in enumerate(shards)
    }
    single = list(of_shards)
    groups = [
        client.submit(
            _merged,
            single[first : first + SHARDS_TOGETHER],
            key=f"mwzeval-sum-{run}-{first}",
            # Before the next shards, or else what these have found would fill the workers.
            priority=1,
        )
        for first in range(0, len(single), SHARDS_TOGETHER)
    ]
    del single
    order = {group.key: place for place, group in enumerate(groups)}
    total = Found()
    waiting: dict[int, Found] = {}
    added = 0
    everything = distributed.as_completed([*of_shards, *groups], loop=client.loop)
    with counting(len(shards), "shards", shown=progress) as count:
        for future in everything:
            shard = of_shards.pop(future, None)
            if future.status != "finished":
                # A sum fails with what it is of.
                failed = (of for other, of in of_shards.items() if other.status == "error")
                _fail(future, shard or next(failed, None))
            if shard is not None:
                count.done += 1
                continue
            waiting[order[future.key]] = future.result()
            future.release()
            while added in waiting:
                total.merge(waiting.pop(added))
                added += 1
    return total


def _found_in(settings: bytes, shard: str) -> Found:
    return found_in(pickle.loads(settings), shard)


def _merged(found: Sequence[Found]) -> Found:
    total = Found()
    for each in found:
        total.merge(each)
    return total


def _fail(future: Any, shard: str | None) -> None:
    """Raise why a task has failed, in the words of the error tree."""
    try:
        error = future.exception()
    except Exception as cancelled:  # the connection is gone
        error = cancelled
    if isinstance(error, MwzevalError):
        raise error
    where = f"{shard}: " if shard else ""
    name = type(error).__name__
    if name == "KilledWorker":
        raise MwzevalError(
            f"{where}every worker that took it died, perhaps because it ran out of memory: write "
            "one dialogue a line (.jsonl), or smaller shards"
        )
    if isinstance(error, ImportError):
        raise DependencyError(f"{where}the workers lack what this process has: {error}")
    raise MwzevalError(f"{where}scoring failed on the cluster ({name}: {error})")
