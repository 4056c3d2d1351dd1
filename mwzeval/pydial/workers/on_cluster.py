"""Jobs on a Dask cluster, whose workers get files and give back files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mwzeval.errors import InputError, MwzevalError
from mwzeval.files.writing import write_atomically
from mwzeval.pydial.runs.job import Job
from mwzeval.pydial.workers.followed import Followed, Message, Told, Took, do_job


def on_cluster(client: Any, jobs: Sequence[Job], folder: Path, followed: Followed) -> None:
    """Do jobs a checkpoint at a time on the workers of a Dask `client`.

    Raises `MwzevalError` where a job fails on a worker, for another reason than its files.
    """
    distributed: Any = import_module("distributed")

    def submit(job: Job) -> Any:
        part = None
        with followed.kept():
            part = next_part(job, folder)
        if part is None:
            followed.take(job.work - reported.get(job, 0))
            followed.done(job)
            return None
        future = client.submit(_do_part, part, job_files(part, folder), followed.every, pure=False)
        of_future[future.key] = job
        return future

    of_future: dict[str, Job] = {}
    reported: dict[Job, int] = {}
    # Without the loop it looks for a default client, which ours is only for `local`.
    waiting = distributed.as_completed(
        [future for job in jobs if (future := submit(job)) is not None], loop=client.loop
    )
    for future in waiting:
        job = of_future.pop(future.key)
        try:
            part, files, told = future.result()
        except InputError as error:
            # A worker has the files in a folder of its own.
            followed.problems += (
                replace(p, file=_here(p.file, job, folder)) for p in error.problems
            )
            followed.done(job)
            continue
        except MwzevalError:
            raise
        except Exception as error:
            raise MwzevalError(
                f"{job.task}, {job.policy}, seed {job.seed} failed on the cluster ({error!r})"
            ) from error
        place = job.folder(folder)
        place.mkdir(parents=True, exist_ok=True)
        # The tests last: with them the part counts as done.
        for name in sorted(files):
            write_atomically(place / name, files[name])
        for each in told:
            followed.take(each)
        future.release()
        followed.take(part.work - reported.get(job, 0))
        reported[job] = part.work
        following = submit(job)
        if following is not None:
            waiting.add(following)


def _here(file: str | None, job: Job, folder: Path) -> str | None:
    """Return where a file of a job is that a worker has named."""
    return None if file is None else str(job.folder(folder) / Path(file).name)


def next_part(job: Job, folder: Path) -> Job | None:
    """Return a job up to the next test that is not there; None when all are.

    Raises `InputError` for a test that is there and is not whole.
    """
    for number, at in enumerate(job.tested_at, start=1):
        if not job.has_test(folder, at):
            return replace(job, checkpoints=job.checkpoints[:number])
    return None


def job_files(job: Job, folder: str | Path) -> dict[str, bytes]:
    """Return the files of a job by name, without the models, which are not needed to go on."""
    place = job.folder(folder)
    if not place.is_dir():
        return {}
    return {
        file.name: file.read_bytes()
        for file in sorted(place.iterdir())
        if file.is_file() and not file.name.startswith((".", "model-"))
    }


def _do_part(
    part: Job, files: dict[str, bytes], every: int | None
) -> tuple[Job, dict[str, bytes], list[Told | Took]]:
    """Do a part of a job in a folder of this worker; return all files that are new or other.

    With it comes what the part has told of training, and how long it took.
    """
    messages: list[Message] = []
    with TemporaryDirectory() as folder:
        place = part.folder(folder)
        place.mkdir(parents=True)
        for name, content in files.items():
            (place / name).write_bytes(content)
        do_job(part, folder, every, messages.append)
        made = {file.name: file.read_bytes() for file in place.iterdir()}
    told = [message for message in messages if not isinstance(message, int)]
    return part, {name: raw for name, raw in made.items() if files.get(name) != raw}, told
