"""Test trained policies under other conditions than in training.

Conditions are environments of the domain, error rates, simulated users, and users behind an
endpoint or in custom code. Test files are saved in the run folder; files that exist are reused.

Source: Casanueva et al. (2017), Table 8: environments 1, 3 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from mwzeval.conversation.models import ModelOptions
from mwzeval.conversation.pool import NO_LIMITS, TimeLimits
from mwzeval.conversation.protocols import USER_ERROR
from mwzeval.conversation.runs import run
from mwzeval.errors import (
    InputError,
    MwzevalError,
    UsageError,
    shorten,
    unknown,
)
from mwzeval.output import notify
from mwzeval.pydial.episode_files import (
    TESTS,
    Selection,
    location_of,
    read_episodes,
    read_records,
    run_settings,
    write_episodes,
)
from mwzeval.pydial.episodes import Episode
from mwzeval.pydial.job import Job, runner_of, single_threaded, tests_of
from mwzeval.pydial.live import AGENDA, LiveOptions, LiveSetting
from mwzeval.pydial.policies.presets import PRESETS, diverging, load_weights, read_checkpoint
from mwzeval.pydial.results import SeedScores, scores_of_seeds
from mwzeval.pydial.tasks import USERS, in_order, name_part, task_named, varied
from mwzeval.pydial.user_parameters import UserModel
from mwzeval.scores.findings import Findings

ENVIRONMENTS = (1, 3, 6)
SIMULATED, LIVE = "cross", "users"
"""Subfolders of the run folder for tests with simulated users and with live users."""
Users = Mapping[str, UserModel]
"""Users whose parameters come from files, by name."""


@dataclass(frozen=True, slots=True)
class LiveUsers:
    """The settings of dialogues with live users (see `conversation.runs.run`)."""

    model: ModelOptions = field(default_factory=partial(ModelOptions, "user"))
    limits: TimeLimits = NO_LIMITS
    jobs: int = 1
    concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class Retest:
    """The test results of a policy that was trained in one task and tested under one condition.

    `tested` is the name of the test task, including error rate and simulated users. `user` names a
    user behind an endpoint or in custom code; otherwise, it is None. `tests` contains the test
    results of each seed.
    """

    policy: str
    trained: str
    tested: str
    user: str | None
    tests: SeedScores


def retest(
    output: str | Path,
    jobs: Sequence[Job],
    *,
    tested_in: Sequence[str] | None = None,
    errors: Sequence[float] = (),
    users: Sequence[str] = (),
    own: Users | None = None,
    tests: int = 500,
    live: LiveUsers = LiveUsers(),
) -> tuple[Retest, ...]:
    """Test the policies of a run, after their last checkpoint, under other conditions.

    `jobs` are the jobs of the run; jobs without a checkpoint are skipped. Policies are tested in
    the tasks `tested_in` of the same domain, with each error rate in `errors` (from 0 to 1) and
    each user model in `users`. Users are names in `USERS` or `own`, agenda, openai:MODEL,
    package.module:Name or file.py:Name. By default, task, error rate and users are those of
    training. Without any condition, policies that were trained in environment 1, 3 or 6
    are tested in the other two of these environments.

    Raises `UsageError` if a condition is unknown or there is nothing to test, and `DataError` if
    the files of a domain are missing. Raises `InputError` if files are damaged (after all other
    tests), and `MwzevalError` if a server does not answer or a file cannot be written.
    """
    own = own or {}
    lacking = [
        job.name
        for job in jobs
        if job.preset.learns and not job.model_file(output, job.tested_at[-1]).exists()
    ]
    if lacking:
        after = jobs[0].checkpoints[-1]
        named = shorten(", ".join(lacking), 200)
        notify(
            f"{len(lacking)} policies have no saved model after {after} training dialogues: {named}"
        )
    planned = [
        (job, condition)
        for job in jobs
        if job.name not in lacking
        for condition in _conditions(job, tested_in, errors, (*users, *own), own)
    ]
    if not planned:
        raise UsageError(f"{output} has no policies to test under these conditions")
    found: dict[tuple[str, str, str, str | None], dict[int, Sequence[Episode]]] = {}
    findings = Findings()
    for job, (tested, user) in dict.fromkeys(planned):
        with findings.collecting():
            if user is None:
                episodes = played_in(job, tested, output, tests, own)
            else:
                episodes = _live_tests(job, tested, user, Path(output), tests, live)
            found.setdefault((job.policy, job.task, tested, user), {})[job.seed] = episodes
    if findings.errors:
        raise InputError(dict.fromkeys(findings.errors))
    return tuple(Retest(*key, scores_of_seeds(of_seed)) for key, of_seed in found.items())


def _conditions(
    job: Job,
    tested_in: Sequence[str] | None,
    errors: Sequence[float],
    users: Sequence[str],
    own: Users,
) -> Iterator[tuple[str, str | None]]:
    """Yield pairs of a task name and a live user, which may be None."""
    trained = task_named(job.task)
    tasks = [trained] if tested_in is None else [task_named(name) for name in tested_in]
    for task in tasks:
        if task.domain != trained.domain:
            raise UsageError(
                f"a policy of {trained.name} cannot act in {task.name}: their domains differ"
            )
    if tested_in is None and not errors and not users:
        if job.preset.learns and trained.environment in ENVIRONMENTS:
            others = (f"{trained.domain}-{number}" for number in ENVIRONMENTS)
            yield from ((name, None) for name in others if name != trained.name)
        return
    for task in tasks:
        for user in users or (task.user_model,):
            if user in USERS or user in own:
                for rate in errors or (task.error_rate,):
                    yield varied(task, errors=rate, user=user).name, None
            elif user == AGENDA or ":" in user:
                for rate in errors or (task.error_rate,):
                    yield varied(task, errors=rate).name, user
            else:
                more = f", a file, {AGENDA}, openai:MODEL, package.module:Name, file.py:Name"
                raise UsageError(unknown("users", user, USERS, more))


def played_in(
    job: Job, tested: str, output: str | Path, tests: int, users: Users
) -> tuple[Episode, ...]:
    """Play test dialogues of a task with a job's policy after its last checkpoint.

    The dialogues are the first `tests` test dialogues of that task. Test results that exist in the
    run or in files are read instead of played. Raises the errors of `retest`.
    """
    at = job.tested_at[-1]
    place = job.test_file(output, at)
    of_run = run_settings(Path(output)).tests or job.tests
    if tested != job.task or tests != of_run or not place.exists():
        name = f"seed-{job.seed}-{at:06d}-{tests}.jsonl"
        place = Path(output) / SIMULATED / job.policy / f"{job.task}-in-{tested}" / name
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with single_threaded(job.preset), diverging(job.model_file(output, at)):
            played = _played(job, tested, output, tests, users)
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
    runner = runner_of(other)
    simulation = runner.process.simulation
    if own is not None:
        simulation.set_user_model(own)
    policy = job.learner(runner) if job.preset.learns else None
    if policy is not None:
        model = job.model_file(output, job.tested_at[-1])
        load_weights(model, policy, read_checkpoint(model, job.origin)[1])
    return tests_of(other, runner, policy)


def _live_tests(
    job: Job, tested: str, user: str, output: Path, tests: int, live: LiveUsers
) -> tuple[Episode, ...]:
    if job.legacy:
        raise UsageError("policies of a run with --legacy are tested with simulated users only")
    at = job.tested_at[-1]
    agent = str(job.model_file(output, at)) if job.preset.learns else job.policy
    name = f"{name_part(user)[-40:]}-{sha256(user.encode()).hexdigest()[:6]}"
    place = output / LIVE / name / tested / job.policy / f"seed-{job.seed}"
    place.mkdir(parents=True, exist_ok=True)
    file = str(place / f"{at:06d}-{tests}.jsonl")
    options = LiveOptions(
        agent, tested, tests, job.seed, job.data, user=user, user_model=live.model, own=job.own
    )
    summary = run(
        LiveSetting(options),
        file,
        seed=job.seed,
        jobs=live.jobs,
        concurrency=live.concurrency,
        limits=live.limits,
        progress=False,
    )
    if summary.problem:
        raise MwzevalError(summary.problem)
    findings = Findings()
    text = Path(file).read_text(encoding="utf-8")
    if failed := text.count(f'"end":"{USER_ERROR}"'):
        notify(f"{failed} of {tests} dialogues ended with an error of the user: {file}")
    records, _ = read_records(file, Selection(), findings)
    findings.check()
    return tuple(record.episode for record in records)


def plan_of_run(output: str | Path) -> dict[str, Any]:
    """Return the policies of a run in the form of arguments for `run.planned`.

    The result has the trained policies, and the policies without training that were tested. Raises
    `UsageError` if the run has no policies, and `InputError` if its settings are damaged.
    """
    folder = Path(output)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {output}")
    models = sorted(folder.glob("*/*/seed-*/model-*.safetensors"))
    tests = map(location_of, sorted(folder.glob(f"*/*/{TESTS}")))
    trained = [place for file in models if (place := location_of(file, "model"))]
    untrained = [
        place
        for place in tests
        if place and place.policy in PRESETS and not PRESETS[place.policy].learns
    ]
    found = trained + untrained
    policies = {place.policy for place in found}
    plan: dict[str, Any] = {
        "tasks": list(in_order(place.task for place in found)),
        "policies": [name for name in PRESETS if name in policies],
        "seeds": sorted({place.seed for place in found}),
    }
    if not all(plan.values()):
        former = any(folder.glob("*/*/seed-*/model-*.npz"))
        raise UsageError(
            f"{output} has no policies of a run (`mwzeval pydial run`)"
            + "; models of an earlier version, model-*.npz, cannot be read" * former
        )
    if trained:
        plan["dialogues"] = sorted({place.dialogues for place in trained})
    noted = asdict(run_settings(folder))
    return plan | {key: value for key, value in noted.items() if value is not None}
