"""Policies of a run with users that they were not trained with: a table of policies by users.

Each user has the same goals: those of the run's tests, seed by seed and dialogue by dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mwzeval.conversation.models import ModelOptions
from mwzeval.conversation.pool import RunSetting
from mwzeval.conversation.runs import RunSummary
from mwzeval.errors import InputError, MwzevalError, Problem, UsageError, problems_kept
from mwzeval.pydial.policies.presets import HANDCRAFTED, PRESETS
from mwzeval.pydial.results.means import MISSING, mean_cell, notes_on_means
from mwzeval.pydial.results.over_seeds import interval_over_seeds
from mwzeval.pydial.results.run_results import LIMITS, Figure
from mwzeval.pydial.runs.episode_files import check_records, read_texts
from mwzeval.pydial.runs.job import Job
from mwzeval.pydial.runs.live import LiveOptions, LiveSetting
from mwzeval.pydial.runs.run_folder import Selection
from mwzeval.pydial.runs.scoring import mean_of
from mwzeval.scores.findings import Findings
from mwzeval.scores.sheets import Cell, Document, sheet

FOLDER = "users"
"""Of the folder of a run; there the dialogues are kept."""
FIGURES: dict[Figure, str] = {"success": "Success, %", "reward": "Reward"}
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")
Hold = Callable[[RunSetting, str, int], RunSummary]
"""Holds the dialogues of a setting, and keeps them in a file; with that seed."""


@dataclass(frozen=True, slots=True)
class UserResult:
    """A policy of a run with a user: success (percent) and mean reward of each seed."""

    policy: str
    task: str
    user: str
    success: tuple[float, ...]
    reward: tuple[float, ...]


def cross_users(
    output: str | Path,
    jobs: Sequence[Job],
    users: Sequence[str],
    tests: int,
    hold: Hold,
    model: ModelOptions | None = None,
) -> tuple[UserResult, ...]:
    """Let what a run has learned, after its last checkpoint, talk to `users`; return the results.

    `jobs` are those of the run, `model` how users behind an endpoint are asked. Beside their
    policies there is the handcrafted one. Dialogues, `tests` a seed, are kept below `output`, and
    not held again. Raises `UsageError` for unknown users and when none of the jobs has a model,
    `InputError` for a damaged file, `MwzevalError` where a server does not answer or a file cannot
    be written.
    """
    if any(job.legacy for job in jobs):
        raise UsageError("policies of a run with --legacy talk to its own users alone")
    learned = [
        job
        for job in jobs
        if job.preset.learns and job.model_file(output, job.tested_at[-1]).exists()
    ]
    if not learned:
        raise UsageError(f"{output} holds nothing that was learned in a run (`mwzeval pydial run`)")
    by_hand = dict.fromkeys(replace(job, policy=HANDCRAFTED) for job in learned)
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    problems: list[Problem] = []
    for job in (*by_hand, *learned):
        for user in users:
            with problems_kept(problems):
                figures = _held(job, user, Path(output), tests, hold, model)
                found.setdefault((job.policy, job.task, user), []).append(figures)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    return tuple(UserResult(*key, *zip(*figures, strict=True)) for key, figures in found.items())


def _held(
    job: Job, user: str, output: Path, tests: int, hold: Hold, model: ModelOptions | None
) -> tuple[float, float]:
    at = job.tested_at[-1]
    agent = str(job.model_file(output, at)) if job.preset.learns else job.policy
    name = f"{_NOT_IN_NAMES.sub('-', user)[-40:]}-{sha256(user.encode()).hexdigest()[:6]}"
    place = output / FOLDER / name / job.task / job.policy / f"seed-{job.seed}"
    place.mkdir(parents=True, exist_ok=True)
    file = str(place / f"{at:06d}-{tests}.jsonl")
    options = LiveOptions(
        agent,
        job.task,
        tests,
        job.seed,
        job.data,
        user=user,
        user_model=model or ModelOptions("user"),
    )
    setting = LiveSetting(options)
    summary = hold(setting, file, job.seed)
    if summary.problem:
        raise MwzevalError(summary.problem)
    findings = Findings()
    records, _ = check_records(read_texts(file, Selection()), file, Selection(), findings)
    findings.check()
    episodes = [record.episode for record in records]
    return mean_of("success", episodes), mean_of("reward", episodes)


def users_document(results: Sequence[UserResult]) -> Document:
    """Return tables of success and reward: a row a policy, a column a user."""
    records = [record for result in results for record in _records(result)]
    users = tuple(dict.fromkeys(result.user for result in results))
    cells = {(r["policy"], r["task"], r["user"], r["figure"]): _cell(r) for r in records}
    rows = tuple(dict.fromkeys((result.task, result.policy) for result in results))
    sheets = tuple(
        sheet(
            title,
            ["Task", "Policy", *users],
            [
                [task, PRESETS[policy].label]
                + [cells.get((policy, task, user, figure), Cell(MISSING)) for user in users]
                for task, policy in sorted(rows, key=lambda row: row[0])
            ],
        )
        for figure, title in FIGURES.items()
    )
    notes = ("All users have the same goals.", *notes_on_means(r["seeds"] for r in records))
    return Document((), sheets, notes, tuple(records), {"users": records})


def _records(result: UserResult) -> Iterator[dict[str, Any]]:
    for figure in FIGURES:
        values = result.success if figure == "success" else result.reward
        interval = interval_over_seeds(values, limits=LIMITS[figure])
        yield {
            "policy": result.policy,
            "task": result.task,
            "user": result.user,
            "figure": figure,
            "value": float(np.mean(values)),
            "low": None if interval is None else interval.low,
            "high": None if interval is None else interval.high,
            "seeds": len(values),
        }


def _cell(record: dict[str, Any]) -> Cell:
    return mean_cell(record["value"], record["low"], record["high"], record["seeds"])
