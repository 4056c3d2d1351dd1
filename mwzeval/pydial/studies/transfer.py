"""Policies of a run, tested in other tasks of their domain than those they were trained in.

Tests are kept below the folder of the run, and not done again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mwzeval.errors import UsageError
from mwzeval.pydial.dialogue.user import UserSimulator
from mwzeval.pydial.dialogue.user_parameters import UserModel
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.runs.checkpoints import diverging, load_weights, read_checkpoint
from mwzeval.pydial.runs.episode_files import read_episodes
from mwzeval.pydial.runs.episode_writing import write_episodes
from mwzeval.pydial.runs.episodes import Episode, TaskRunner
from mwzeval.pydial.runs.job import (
    Job,
    runner_of,
    tests_untrained,
)
from mwzeval.pydial.runs.run_folder import TESTS, location_of, run_settings
from mwzeval.pydial.runs.threads import single_threaded
from mwzeval.pydial.tasks import USERS, in_order, task_named, varied

FOLDER = "cross"
MODEL = re.compile(r"([^/]+)/([^/]+)/seed-(\d+)/model-(\d+)\.safetensors")
Users = Mapping[str, UserModel]
"""Users whose parameters come from files, by name."""


def played_in(
    job: Job, tested: str, output: str | Path, tests: int, users: Users | None = None
) -> tuple[Episode, ...]:
    """Return the test dialogues of a job's policy, after its last checkpoint, in a task.

    They are the first `tests` users whom the policies of that task are tested with. A test of the
    run itself is taken as it is. `users` are needed for tasks with users from files. Raises
    `InputError` for a damaged model or test, `UsageError` for unknown names, `DataError` for the
    files of a domain and `MwzevalError` where a file cannot be written.
    """
    at = job.tested_at[-1]
    place = job.test_file(output, at)
    of_run = run_settings(Path(output)).tests or job.tests
    if tested != job.task or tests != of_run or not place.exists():
        name = f"seed-{job.seed}-{at:06d}-{tests}.jsonl"
        place = Path(output) / FOLDER / job.policy / f"{job.task}-in-{tested}" / name
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with single_threaded(job.preset), diverging(job.model_file(output, at)):
            played = _played(job, tested, output, tests, users or {})
            write_episodes(place, played, {**job.about, "task": tested})
    return read_episodes(place, tested, job.seed, settings=replace(job.settings, tests=tests))


def _played(
    job: Job, tested: str, output: str | Path, tests: int, users: Users
) -> Iterator[Episode]:
    task = task_named(tested)
    own = users.get(task.user_model)
    if own is not None:
        task = varied(task, user=USERS[0])
    other = replace(job, task=task.name, tests=tests)
    runner = runner_of(other, compiled=own is None)
    simulation = runner.process.simulation
    if own is not None:
        simulation.users = UserSimulator(simulation.domain, own, legacy=job.legacy)
    if not job.preset.learns:
        yield from tests_untrained(other, runner)
        return
    policy = learned_policy(job, runner, output)
    yield from runner.tests(policy, job.seed, tests)


def learned_policy(job: Job, runner: TaskRunner, output: str | Path) -> Any:
    """Return what a job has learned after its last checkpoint, for tests by `runner`.

    Raises `InputError` for a damaged model, `DependencyError` for a neural one without PyTorch.
    """
    policy = job.preset.learner(runner.size, runner.actions, seed=job.seed, legacy=job.legacy)
    model = job.model_file(output, job.tested_at[-1])
    load_weights(model, policy, read_checkpoint(model, job.origin)[1])
    return policy


def learned_in(output: str | Path, *, untrained: bool = False) -> dict[str, Any]:
    """Return what a run has learned, as arguments of `run.planned`.

    With `untrained` policies that do not learn, and were tested, are there, too. Raises
    `UsageError` where there is no folder, or nothing of that in it, and `InputError` for settings
    that are wrong.
    """
    folder = Path(output)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {output}")
    found = [
        (match[1], match[2], int(match[3]), int(match[4]))
        for file in sorted(folder.glob("*/*/seed-*/model-*.safetensors"))
        if (match := MODEL.fullmatch(file.relative_to(folder).as_posix()))
    ]
    dialogues = sorted({each[3] for each in found})
    if untrained:
        places = map(location_of, sorted(folder.glob(f"*/*/{TESTS}")))
        found += [
            (place.task, place.policy, place.seed, 0)
            for place in places
            if place is not None and place.policy in PRESETS and not PRESETS[place.policy].learns
        ]
    tasks, policies, seeds = ({each[part] for each in found} for part in range(3))
    plan = {
        "tasks": list(in_order(str(task) for task in tasks)),
        "policies": [name for name in PRESETS if name in policies],
        "seeds": sorted(seeds),
    }
    if not all(plan.values()):
        raise UsageError(f"{output} holds nothing that was learned in a run (`mwzeval pydial run`)")
    if dialogues:
        plan["dialogues"] = dialogues
    noted = asdict(run_settings(folder))
    return plan | {key: value for key, value in noted.items() if value is not None}
