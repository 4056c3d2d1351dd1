"""What jobs report while they run: dialogues for a bar, and entries of the training log."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from mwzeval.errors import Problem, problems_kept
from mwzeval.pydial.runs.job import Job, run_job
from mwzeval.pydial.training.entries import Entry, Watch
from mwzeval.pydial.training.log import LogFile
from mwzeval.pydial.workers.progress import Progress


class Told(NamedTuple):
    """An entry of a job."""

    job: str
    entry: Entry


class Took(NamedTuple):
    """The seconds of a job, or a part of it, that was done to its end."""

    job: str
    seconds: float


Message = int | Told | Took
"""How many dialogues were played, an entry, or how long it took."""


def do_job(job: Job, folder: str | Path, every: int | None, tell: Callable[[Message], None]) -> Job:
    """Do a job, and tell of it; of entries only where they are wanted, `every` so many dialogues.

    Raises what `run_job` raises.
    """
    watch = None
    if every is not None:
        watch = Watch(lambda entry: tell(Told(job.name, entry)), every)
    began = time.monotonic()
    done = run_job(job, folder, on_progress=tell, watch=watch)
    tell(Took(job.name, time.monotonic() - began))
    return done


class Followed:
    """Takes what jobs tell, and keeps what is wrong with their files, while the others go on."""

    def __init__(self, progress: Progress, log: LogFile | None, every: int) -> None:
        self.every = None if log is None else every
        self.problems: list[Problem] = []
        self._progress, self._log = progress, log

    def take(self, message: Message) -> None:
        """Take what a job reports."""
        if isinstance(message, Told):
            if self._log is not None:
                self._log.add(*message)
        elif isinstance(message, Took):
            self._progress.took(*message)
        else:
            self._progress.played(message)

    def done(self, job: Job) -> None:
        """Nothing more comes of a job."""
        self._progress.ended(job)

    def kept(self) -> AbstractContextManager[None]:
        """Keep problems that a job raises."""
        return problems_kept(self.problems)
