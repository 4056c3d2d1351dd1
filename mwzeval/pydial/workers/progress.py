"""How much of a run is done, and how long the rest takes, told on standard error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mwzeval.output import tell
from mwzeval.pydial.runs.job import Job

LINE_SECONDS = 60.0
"""Without a terminal a line is written so often, and less often when it takes long."""
LINE_PART = 0.1
"""Of the time until now, after which there is another line."""
MOST_NAMED = 3
Rest = tuple[float, Sequence[str]]
"""Seconds that the rest takes, and the policies that this leaves out, of which none was timed."""


class WorkLeft:
    """Jobs that are still to be done, and the seconds that those of their policies have taken.

    Jobs of whose folder there is something before are not timed: they only go on.
    """

    def __init__(self, jobs: Sequence[Job], folder: Path) -> None:
        self._left = {job.name: job for job in jobs if not _seems_done(job, folder)}
        self.total, self.before = len(jobs), len(jobs) - len(self._left)
        self._fresh = {name for name, job in self._left.items() if not job.folder(folder).exists()}
        self._took: dict[str, float] = {}
        self._seconds: dict[str, float] = {}
        self._work: dict[str, int] = {}

    @property
    def done(self) -> int:
        """How many jobs are done, or were given up."""
        return self.total - len(self._left)

    def took(self, name: str, seconds: float) -> None:
        """Add the seconds of a part of a job, which was done without mistakes."""
        self._took[name] = self._took.get(name, 0.0) + seconds

    def ended(self, job: Job) -> None:
        """Nothing more comes of a job."""
        if self._left.pop(job.name, None) and job.name in self._fresh and job.name in self._took:
            of = job.policy
            self._seconds[of] = self._seconds.get(of, 0.0) + self._took[job.name]
            self._work[of] = self._work.get(of, 0) + job.work

    def seconds(self, at_once: int) -> Rest | None:
        """Return how long jobs that have not ended take, as if none had begun.

        `at_once` is the number of jobs done beside each other. None where nothing was timed.
        """
        untimed = tuple(sorted({j.policy for j in self._left.values()} - self._work.keys()))
        each = [
            job.work * self._seconds[job.policy] / self._work[job.policy]
            for job in self._left.values()
            if job.policy not in untimed
        ]
        # The last jobs are not shared out: no rest is shorter than the longest of them.
        return (max(sum(each) / at_once, *each), untimed) if each else None


def _seems_done(job: Job, folder: Path) -> bool:
    """Tell whether there are files of all tests; whether these are whole, the job itself sees."""
    return all(job.test_file(folder, at).exists() for at in job.tested_at)


def duration_text(seconds: float) -> str:
    """Return a time in the two units that matter, such as "3 h 20 min"."""
    minutes = round(seconds / 60)
    if seconds < 30:
        return "less than 1 min"
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def plan_text(jobs: Sequence[Job], before: int, folder: Path) -> str:
    """Return how much work a run is, and how much of it was done before."""
    parts = " × ".join(
        _number(len({getattr(job, field) for job in jobs}), one, many)
        for field, one, many in (
            ("task", "task", "tasks"),
            ("policy", "policy", "policies"),
            ("seed", "seed", "seeds"),
        )
    )
    text = f"{_number(len(jobs), 'job', 'jobs')} ({parts}), "
    text += _number(sum(job.work for job in jobs), "dialogue", "dialogues")
    if before:
        text += f"; {before:,} of them {'is' if before == 1 else 'are'} done already in {folder}"
    return text


def rest_text(rest: Rest) -> str:
    """Return about how long the rest takes."""
    seconds, untimed = rest
    if not untimed:
        return f"{'about ' * (seconds >= 30)}{duration_text(seconds)} left"
    named = ", ".join(untimed[:MOST_NAMED]) + ", …" * (len(untimed) > MOST_NAMED)
    return f"{duration_text(seconds)} left and that of {named}, not timed yet"


def _number(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


class Progress:
    """A bar on a terminal, lines now and then elsewhere; with not `shown` nothing.

    `at_once` is the number of jobs done beside each other.
    """

    def __init__(self, jobs: Sequence[Job], folder: Path, at_once: int, *, shown: bool) -> None:
        self._left = WorkLeft(jobs, folder)
        self._at_once = max(at_once, 1)
        if shown:
            tell(plan_text(jobs, self._left.before, folder))
        total = sum(job.work for job in jobs)
        # Dialogues of policies take seconds or milliseconds: a rate of them says nothing.
        style = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} dialogues [{elapsed}{postfix}]"
        off = None if shown else True
        self._bar: Any = tqdm(total=total, unit_scale=True, bar_format=style, disable=off)
        self._has_lines = shown and self._bar.disable
        self._dialogues, self._total = 0, total
        self._began = self._line = self._ended = time.monotonic()
        self._rest: Rest | None = None

    def played(self, dialogues: int) -> None:
        """Count dialogues, those of earlier calls included."""
        self._dialogues += dialogues
        now = time.monotonic()
        if not self._bar.disable:
            self._bar.set_postfix_str(self._text(now), refresh=False)
            self._bar.update(dialogues)
        pause = max(LINE_SECONDS, LINE_PART * (now - self._began))
        if self._has_lines and now - self._line >= pause:
            self._line = now
            tell(f"{self._dialogues / self._total:.0%} of all dialogues; {self._text(now)}")

    def took(self, name: str, seconds: float) -> None:
        """Add the seconds of a part of a job, which was done without mistakes."""
        self._left.took(name, seconds)

    def ended(self, job: Job) -> None:
        """Nothing more comes of a job."""
        self._left.ended(job)
        self._rest, self._ended = self._left.seconds(self._at_once), time.monotonic()

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()

    def _text(self, now: float) -> str:
        text = f"{self._left.done:,} of {self._left.total:,} jobs done"
        if self._rest is None:
            return text
        seconds, untimed = self._rest
        return f"{text}, {rest_text((max(seconds - (now - self._ended), 0.0), untimed))}"
