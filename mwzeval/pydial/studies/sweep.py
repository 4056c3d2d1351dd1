"""Policies of a run, tested at other error rates and with users they were not trained with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mwzeval.errors import InputError, Problem, UsageError, problems_kept, unknown
from mwzeval.pydial.board import FIGURES as LABELS
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results.means import MISSING, mean_cell, notes_on_means
from mwzeval.pydial.results.over_seeds import interval_over_seeds
from mwzeval.pydial.results.run_results import (
    FIGURES,
    LIMITS,
    Figure,
    PolicyTests,
    tests_of_seeds,
)
from mwzeval.pydial.runs.job import Job
from mwzeval.pydial.studies.transfer import Users, played_in
from mwzeval.pydial.tasks import USERS, Task, in_order, task_named, varied
from mwzeval.scores.sheets import Cell, Document, Sheet, sheet

ERRORS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Rates of wrong first hypotheses."""
TRAINED = "*"
NOTE_ON_TRAINED = f"{TRAINED} with the errors and the users of training."


@dataclass(frozen=True, slots=True)
class Swept:
    """The tests of a policy, trained in one task, at one rate of errors with one kind of users.

    `errors` is from 0 to 1; `tests` has the figures of each seed.
    """

    trained: str
    policy: str
    errors: float
    user: str
    tests: PolicyTests


def sweep(
    output: str | Path,
    jobs: Sequence[Job],
    *,
    errors: Sequence[float] = ERRORS,
    users: Sequence[str] = (),
    own: Users | None = None,
    tests: int = 500,
    on_progress: Callable[[int], None] | None = None,
) -> tuple[Swept, ...]:
    """Test the policies of a run, after their last checkpoint, at error rates and with users.

    `errors` are from 0 to 1. `users` are some of `USERS`, by default those that each policy was
    trained with, and then come those of `own`, whose parameters are from files. `jobs` are those of
    the run; one that has learned nothing yet is left out. Tests of `tests` dialogues are kept below
    `output`, and not done again; `on_progress` is called with their number. Raises `UsageError` for
    other rates or users, or when there is nothing to test, and what `played_in` raises:
    `InputError` for damaged files when all others are tested.
    """
    own = own or {}
    planned = list(dict.fromkeys(_planned(output, jobs, errors, users, own)))
    if not planned:
        raise UsageError(f"{output} holds nothing to be tested: train it with `mwzeval pydial run`")
    found: dict[tuple[str, str, float, str], dict[int, Any]] = {}
    problems: list[Problem] = []
    for job, trained, task in planned:
        key = trained, job.policy, task.error_rate, task.user_model
        with problems_kept(problems):
            episodes = played_in(job, task.name, output, tests, own)
            found.setdefault(key, {})[job.seed] = episodes
        if on_progress is not None:
            on_progress(tests)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    return tuple(
        Swept(*key, tests_of_seeds((key[0], key[1], 0), of_seed)) for key, of_seed in found.items()
    )


def _planned(
    output: str | Path,
    jobs: Sequence[Job],
    errors: Sequence[float],
    users: Sequence[str],
    own: Users,
) -> Iterator[tuple[Job, str, Task]]:
    """Yield what is to be tested, a task of its training, and the one of the test.

    Raises `UsageError` for other rates or users.
    """
    for name in users:
        if name not in USERS and name not in own:
            raise UsageError(unknown("users", name, USERS, ", or a file of parameters"))
    for job in jobs:
        if job.preset.learns and not job.model_file(output, job.tested_at[-1]).exists():
            continue
        task = task_named(job.task)
        for user in (*(users or (task.user_model,)), *own):
            for rate in errors:
                yield job, task.name, varied(task, errors=rate, user=user)


def sweep_document(swept: Sequence[Swept]) -> Document:
    """Return a table for each kind of users and figure: a row a policy, a column an error rate."""
    records = [record for figure in FIGURES for record in _records(swept, figure)]
    users = dict.fromkeys(s.user for s in swept)
    sheets = [_sheet(records, user, figure) for figure in FIGURES for user in users]
    return Document((), tuple(sheets), tuple(_notes(records)), tuple(records), {"sweep": records})


def _notes(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from notes_on_means(record["seeds"] for record in records)
    if any(record["as_trained"] for record in records):
        yield NOTE_ON_TRAINED


def _records(swept: Sequence[Swept], figure: Figure) -> Iterator[dict[str, Any]]:
    for s in swept:
        values = list(s.tests.of(figure).values())
        interval = interval_over_seeds(values, limits=LIMITS[figure])
        task = task_named(s.trained)
        yield {
            "trained": s.trained,
            "policy": s.policy,
            "user": s.user,
            "errors": s.errors,
            "figure": figure,
            "value": float(np.mean(values)),
            "low": None if interval is None else interval.low,
            "high": None if interval is None else interval.high,
            "seeds": len(values),
            "as_trained": s.user == task.user_model and s.errors == task.error_rate,
        }


def _sheet(records: Sequence[Mapping[str, Any]], user: str, figure: Figure) -> Sheet:
    shown = [r for r in records if r["user"] == user and r["figure"] == figure]
    by_place = {(r["trained"], r["policy"], r["errors"]): r for r in shown}
    errors = sorted({r["errors"] for r in shown})
    header = ["Trained in", "Policy", *(f"{100 * rate:g} %" for rate in errors)]
    rows: list[list[Cell | str]] = [
        [
            trained,
            PRESETS[policy].label,
            *(_cell(by_place.get((trained, policy, e))) for e in errors),
        ]
        for trained in in_order(r["trained"] for r in shown)
        for policy in PRESETS
        if any((trained, policy, rate) in by_place for rate in errors)
    ]
    return sheet(f"{LABELS[figure].capitalize()} with {user} users, by errors", header, rows)


def _cell(record: Mapping[str, Any] | None) -> Cell:
    if record is None:
        return Cell(MISSING)
    cell = mean_cell(record["value"], record["low"], record["high"], record["seeds"])
    return replace(cell, mark=cell.mark + TRAINED * record["as_trained"])
