"""Policies tested in other environments than they were trained in, or in other domains.

Source: Casanueva et al. (2017), Table 8: environments 1, 3 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mwzeval.errors import InputError, Problem, UsageError, problems_kept
from mwzeval.pydial.board import published_results
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results.means import MISSING, mean_cell, notes_on_means
from mwzeval.pydial.results.over_seeds import (
    corrected,
    interval_over_seeds,
    p_value_to_published,
)
from mwzeval.pydial.results.run_results import LIMITS
from mwzeval.pydial.results.tables import NOTE_ON_PAPER
from mwzeval.pydial.runs.job import Job
from mwzeval.pydial.runs.scoring import mean_of
from mwzeval.pydial.studies.transfer import played_in
from mwzeval.pydial.tasks import in_order, task_named
from mwzeval.scores.sheets import Cell, Document, sheet
from mwzeval.statistics.intervals import CONFIDENCE

ENVIRONMENTS = (1, 3, 6)
FIGURES = {
    "reward": "Reward in other environments",
    "success": "Success rate in other environments (%)",
}
"""What tables are of, and their titles."""


@dataclass(frozen=True, slots=True)
class CrossResult:
    """What a policy has in a task after training in another: of each seed the mean reward and the
    success rate in percent."""

    policy: str
    trained: str
    tested: str
    rewards: tuple[float, ...]
    success: tuple[float, ...]


def cross(
    output: str | Path,
    jobs: Sequence[Job],
    *,
    environments: Sequence[int] = ENVIRONMENTS,
    tested_in: Sequence[str] | None = None,
    tests: int = 500,
    on_progress: Callable[[int], None] | None = None,
) -> tuple[CrossResult, ...]:
    """Test what a run has learned, after its last checkpoint, in other environments.

    `jobs` are those of the run. What was learned in `environments` is tested in the others of them
    in the same domain; with `tested_in` all is tested in these tasks. Tests of `tests` dialogues
    are kept below `output`, and not done again; `on_progress` is called with their number. Raises
    `UsageError` when none of the jobs has a model to test, or a task is of another domain,
    `InputError` for damaged models and tests, when all others are tested, `DataError` for the files
    of a domain and `MwzevalError` where a file cannot be written.
    """
    means: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    problems: list[Problem] = []
    planned = [(job, _tasks_of_tests(job, environments, tested_in)) for job in jobs]
    for job, tasks in planned:
        model = job.model_file(output, job.tested_at[-1])
        if not job.preset.learns or not model.exists():
            continue
        for tested in tasks:
            with problems_kept(problems):
                episodes = played_in(job, tested, output, tests)
                mean = mean_of("reward", episodes), mean_of("success", episodes)
                means.setdefault((job.policy, job.task, tested), []).append(mean)
            if on_progress is not None:
                on_progress(tests)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    if not means:
        where = "" if tested_in else f" in environments {', '.join(map(str, environments))}"
        raise UsageError(f"{output} holds nothing that was learned{where}")
    return tuple(CrossResult(*key, *zip(*of, strict=True)) for key, of in means.items())


def _tasks_of_tests(
    job: Job, environments: Sequence[int], tested_in: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the tasks in which what a job has learned is tested. Raises `UsageError`."""
    trained = task_named(job.task)
    if tested_in is None:
        if trained.environment not in environments:
            return ()
        others = (f"{trained.domain}-{number}" for number in environments)
        return tuple(name for name in others if name != trained.name)
    tasks = [task_named(name) for name in dict.fromkeys(tested_in)]
    foreign = [task.name for task in tasks if task.domain != trained.domain]
    if foreign and job.preset.learns:
        raise UsageError(
            f"what {job.policy} has learned in {job.task} cannot act in {', '.join(foreign)}, of "
            "another domain"
        )
    return tuple(task.name for task in tasks)


def cross_document(crossed: Sequence[CrossResult]) -> Document:
    """Return tables of rewards like the paper's Table 8, with the paper's own behind, and those of
    success rates: of each domain that was tested in, one."""
    records = _with_tests(list(_records(crossed)))
    tested = in_order(c.tested for c in crossed)
    by_place = {(r["policy"], r["trained"], r["tested"]): r for r in records}
    domains = dict.fromkeys(task_named(name).domain for name in tested)
    tables = []
    for figure, title in FIGURES.items():
        for domain in domains:
            tasks = [name for name in tested if task_named(name).domain == domain]
            rows: list[list[Cell | str]] = []
            for policy, trained in dict.fromkeys((c.policy, c.trained) for c in crossed):
                found = [by_place.get((policy, trained, task)) for task in tasks]
                if any(found):
                    cells = (_cell(cell, figure) for cell in found)
                    rows.append([trained, PRESETS[policy].label, *cells])
            of = f", {domain}" if len(domains) > 1 else ""
            tables.append(sheet(f"{title}{of}", ["Trained in", "Policy", *tasks], rows))
    return Document((), tuple(tables), tuple(_notes(records)), tuple(records), {"cross": records})


def _notes(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    if any(record["published"] is not None for record in records):
        yield "In brackets the paper's Table 8."
    yield from notes_on_means(record["seeds"] for record in records)
    if any(record["p_published"] is not None for record in records):
        yield NOTE_ON_PAPER


def _with_tests(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records with corrected p values of the difference to the paper."""
    p_values = corrected({index: record["p_published"] for index, record in enumerate(records)})
    return [{**record, "p_published": p_values.get(index)} for index, record in enumerate(records)]


def _records(crossed: Sequence[CrossResult]) -> Iterator[dict[str, Any]]:
    for c in crossed:
        interval = interval_over_seeds(c.rewards)
        success = interval_over_seeds(c.success, limits=LIMITS["success"])
        tables = published_results().cross.get(PRESETS[c.policy].published or "", {})
        published = tables.get(c.trained, {}).get(c.tested)
        p_value = None if published is None else p_value_to_published(c.rewards, published, 0.0)
        yield {
            "policy": c.policy,
            "trained": c.trained,
            "tested": c.tested,
            "reward": float(np.mean(c.rewards)),
            "low": None if interval is None else interval.low,
            "high": None if interval is None else interval.high,
            "success": float(np.mean(c.success)),
            "success_low": None if success is None else success.low,
            "success_high": None if success is None else success.high,
            "seeds": len(c.rewards),
            "published": published,
            "p_published": p_value,
        }


def _cell(record: dict[str, Any] | None, figure: str) -> Cell:
    if record is None:
        return Cell(MISSING)
    prefix, published = ("", record["published"]) if figure == "reward" else ("success_", None)
    value, low, high = record[figure], record[f"{prefix}low"], record[f"{prefix}high"]
    cell = mean_cell(value, low, high, record["seeds"])
    if published is None:
        return cell
    mark, p_value = cell.mark, record["p_published"]
    if p_value is not None and p_value <= 1 - CONFIDENCE:
        mark = "▲" if value > published else "▼"
    return Cell(f"{cell.text} ({published:.1f})", mark=mark)
