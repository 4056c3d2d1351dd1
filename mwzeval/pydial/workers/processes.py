"""Jobs in processes of this machine."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from mwzeval.cluster import pool
from mwzeval.pydial.runs.job import Job
from mwzeval.pydial.workers.followed import Followed, do_job


def in_processes(jobs: Sequence[Job], folder: Path, processes: int, followed: Followed) -> None:
    """Do jobs in so many processes. Raises what `run_job` raises, but for `InputError`."""
    played: Any = multiprocessing.get_context("spawn").SimpleQueue()
    with pool(min(processes, len(jobs)), initializer=_begin_worker, initargs=(played,)) as executor:
        waiting: set[Future[Job]] = set()
        of_future: dict[Future[Job], Job] = {}
        for job in jobs:
            future = executor.submit(_do_in_worker, job, str(folder), followed.every)
            waiting.add(future)
            of_future[future] = job
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                while not played.empty():
                    followed.take(played.get())
                for future in done:
                    with followed.kept():
                        future.result()
                    followed.done(of_future[future])
        except BaseException:
            # What runs goes on to its end otherwise; all that is done is in files.
            executor.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


class _Worker:
    played: Any = None


def _begin_worker(played: Any) -> None:
    _Worker.played = played


def _do_in_worker(job: Job, folder: str, every: int | None) -> Job:
    return do_job(job, folder, every, _Worker.played.put)
