"""One policy in one task with one seed: trained, tested at checkpoints, resumed after a stop.

Whatever stops it, what it has written is the beginning of the same result.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mwzeval.errors import DependencyError, InputError, Problem, UsageError
from mwzeval.files.reading import read_json
from mwzeval.files.writing import write_atomically
from mwzeval.pydial.dialogue.domain_files import OwnFiles, load_domain
from mwzeval.pydial.offline.datasets import dataset_name, read_dataset, source_of
from mwzeval.pydial.policies.dqn import DQN
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.policies.learner import (
    DivergedError,
    Layout,
    Learner,
    Memory,
    check_arrays,
)
from mwzeval.pydial.policies.neural import NeuralPolicy
from mwzeval.pydial.policies.presets import HANDCRAFTED, RANDOM, Preset, preset_named
from mwzeval.pydial.runs.checkpoints import (
    Checkpoint,
    Origin,
    diverging,
    fitting,
    read_checkpoint,
    write_checkpoint,
)
from mwzeval.pydial.runs.episode_files import read_episodes
from mwzeval.pydial.runs.episode_writing import write_episodes
from mwzeval.pydial.runs.episodes import Episode, TaskRunner
from mwzeval.pydial.runs.joint import JointRunner
from mwzeval.pydial.runs.run_folder import RunSettings
from mwzeval.pydial.runs.times import JobClock
from mwzeval.pydial.tasks import Goodbye, Task, task_named, tasks_named
from mwzeval.pydial.training.entries import Outcome, Watch
from mwzeval.pydial.training.progress import OnProgress, ProgressReport
from mwzeval.pydial.training.retelling import retell
from mwzeval.pydial.workers.threads import single_threaded

if TYPE_CHECKING:
    from mwzeval.pydial.batched.runner import BatchedRunner

PROGRESS = "progress.npz"
TRAINING = "training.jsonl"
SAVE_SECONDS = 60.0
HISTORY = "history"
ANEW = "Without the file the same call trains this policy from the start, to the same result"
OFFLINE_DIVERGED = "Learning from it diverged: record it again, or more of it"
SOURCE = "dataset.json"
"""What the policies of a seed have learned from is noted there."""
WORTH_COMPILING = 1000
"""From so many dialogues on it pays to load, or even to compile, what plays them faster."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done: `checkpoints` are numbers of training dialogues, in rising order.

    `task` may join several, of which dialogues are played in turn. Their training dialogues are
    counted together, and `tests` are played in each.
    """

    task: str
    policy: str
    seed: int
    checkpoints: tuple[int, ...]
    tests: int = 500
    legacy: bool = False
    data: str | None = None
    goodbye: Goodbye = "user"
    own: OwnFiles | None = None
    batch: int = 1  # how many dialogues are played at once, in training and tests
    dataset: str | None = None  # the folder of what offline policies learn from

    @property
    def preset(self) -> Preset:
        """The policy. Raises `UsageError` for an unknown one."""
        return preset_named(self.policy)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The task, or those that are joined. Raises `UsageError` for an unknown one."""
        return tasks_named(self.task)

    @property
    def of_a_test(self) -> int:
        """How many dialogues a test has."""
        return self.tests * len(self.tasks)

    @property
    def tested_at(self) -> tuple[int, ...]:
        """After how many training dialogues it is tested; what does not learn is, before any."""
        return self.checkpoints if self.preset.learns else (0,)

    @property
    def origin(self) -> Origin:
        """Of what its checkpoints are."""
        settings = self.preset.described(self.legacy, self.goodbye)
        if self.batch > 1:
            settings["dialogues_at_once"] = self.batch
        return Origin(self.policy, self.task, self.seed, self.legacy, settings)

    @property
    def name(self) -> str:
        """What it is called: TASK/POLICY/seed-N."""
        return f"{self.task}/{self.policy}/seed-{self.seed}"

    @property
    def work(self) -> int:
        """How many dialogues it takes."""
        return self.tested_at[-1] + self.of_a_test * len(self.tested_at)

    def folder(self, output: str | Path) -> Path:
        """Return where its files are."""
        return Path(output, self.name)

    def test_file(self, output: str | Path, dialogues: int) -> Path:
        """Return where the test after some dialogues is."""
        return self.folder(output) / f"test-{dialogues:06d}.jsonl"

    def model_file(self, output: str | Path, dialogues: int) -> Path:
        """Return where the policy after some dialogues is."""
        return self.folder(output) / f"model-{dialogues:06d}.npz"

    @property
    def about(self) -> dict[str, Any]:
        """What its tests have in common, which they tell wherever they lie."""
        task = {"task": self.task} if len(self.tasks) == 1 else {}
        return {**task, "seed": self.seed, "policy": self.policy, "legacy": self.legacy}

    @property
    def noted(self) -> RunSettings:
        """What the run that it is a part of says of all of its tests."""
        batch = self.batch if self.batch > 1 else None
        return RunSettings(self.tests, self.legacy, self.goodbye, batch)

    def has_test(self, output: str | Path, dialogues: int) -> bool:
        """Tell whether the test after some dialogues is there.

        Raises `InputError` for a file that is there and is not the whole test.
        """
        file = self.test_file(output, dialogues)
        if not file.exists():
            return False
        read_episodes(file, self.task, self.seed, settings=self.noted)
        return True

    def is_done(self, output: str | Path) -> bool:
        """Tell whether all of its tests are there.

        Raises `InputError` for a file that is there and is not the whole test.
        """
        return all(self.has_test(output, at) for at in self.tested_at)


def runner_of(job: Job, *, compiled: bool = True) -> TaskRunner:
    """Return what plays the dialogues of a job. What sounds alike in them is drawn from the seed.

    Many dialogues of a neural policy are played by compiled code if numba is there, to the same
    result; not `compiled`, the parts of the simulation can be replaced.

    Raises `UsageError` for unknown names, `DataError` and `InputError` for the files of a domain.
    """
    task = task_named(job.task)
    domain = load_domain(task.domain, job.data, own=job.own)
    how: dict[str, Any] = {
        "legacy": job.legacy,
        "confusion_seed": job.seed,
        "goodbye": job.goodbye,
        "looks_again": job.legacy and job.preset.kind is DQN,
    }
    worth = job.preset.learns and job.preset.view == "neural" and job.work >= WORTH_COMPILING
    if compiled and worth:
        # Without numba, or with more values than it has codes for.
        with suppress(DependencyError, UsageError):
            from mwzeval.pydial.batched.task_runner import CompiledTaskRunner

            return CompiledTaskRunner(domain, task, **how)
    return TaskRunner(domain, task, job.preset.view, **how)


def training_runner_of(job: Job) -> TaskRunner | JointRunner:
    """Return what plays the dialogues of a job that may join tasks. Raises as `runner_of` does."""
    runners = [runner_of(replace(job, task=task.name)) for task in job.tasks]
    return runners[0] if len(runners) == 1 else JointRunner(runners)


def batched_runner_of(job: Job) -> BatchedRunner:
    """Return what plays several dialogues of a job at once. Raises as `runner_of` does.

    Raises `DependencyError` without numba.
    """
    from mwzeval.pydial.batched.runner import BatchedRunner

    task = task_named(job.task)
    domain = load_domain(task.domain, job.data, own=job.own)
    return BatchedRunner(domain, task, job.batch, confusion_seed=job.seed, goodbye=job.goodbye)


def run_job(
    job: Job,
    output: str | Path,
    *,
    on_progress: OnProgress | None = None,
    watch: Watch | None = None,
    save_seconds: float = SAVE_SECONDS,
) -> Job:
    """Do what is still to be done of a job, and return it.

    `on_progress` is called with numbers of dialogues played, those of an earlier run included, and
    `watch` tells of them in the same way; of losses it tells while the policy learns.
    Progress is saved after every test, and after `save_seconds`. Raises `InputError` where the
    folder holds another job's files or a part of a test, `MwzevalError` where files cannot be
    written, and what `runner_of` raises (`DataError`, `UsageError`).
    """
    report = ProgressReport(on_progress)
    if job.preset.offline:
        _learn_from_dataset(job, output, report)
        _retell(job, Path(output), watch, None)
    elif job.is_done(output):
        _retell(job, Path(output), watch, None)
        report(job.work)
    else:
        job.folder(output).mkdir(parents=True, exist_ok=True)
        with single_threaded(job.preset):
            if job.preset.learns:
                try:
                    _learn(job, Path(output), report, watch, save_seconds)
                except DivergedError as error:
                    raise InputError([_diverged(job, Path(output), error)]) from None
            else:
                clock = JobClock(job.folder(output))
                tests = tests_untrained(job, runner_of(job))
                write_episodes(job.test_file(output, 0), tests, about=job.about)
                clock.tested(0)
                _retell(job, Path(output), watch, None)
                report(job.tests)
    report.flush()
    return job


def _learn_from_dataset(job: Job, output: str | Path, report: ProgressReport) -> None:
    """Train and test an offline policy on the first N dialogues of its data set, each time anew.

    Raises `UsageError` where there is no such data set, `InputError` where it is damaged, of
    something else, or another than the folder's tests come from, `DependencyError` without h5py
    or PyTorch, and `MwzevalError` where files cannot be written.
    """
    source = check_source(job)
    folder = job.folder(output)
    _note(folder / SOURCE, source)
    if job.is_done(output):
        report(job.work)
        return
    place = Path(str(job.dataset), dataset_name(job.task))
    with single_threaded(job.preset), diverging(place, OFFLINE_DIVERGED):
        _learn_offline(job, output, report)


def _learn_offline(job: Job, output: str | Path, report: ProgressReport) -> None:
    runner = runner_of(job)
    data = read_dataset(
        str(job.dataset), job.task, runner.size, runner.actions, job.checkpoints[-1]
    )
    before = 0
    for checkpoint in job.checkpoints:
        if not job.has_test(output, checkpoint):
            policy: Any = job.preset.learner(runner.size, runner.actions, seed=job.seed)
            for dialogue in data.dialogues[:checkpoint]:
                policy.begin()
                for exchange in dialogue:
                    policy.record(*exchange)
                policy.end()
            policy.fit()
            model = Checkpoint(job.origin, checkpoint, False, policy.memory(whole=False), {})
            write_checkpoint(job.model_file(output, checkpoint), model)
            testing = runner.for_tests()
            episodes = [testing.test(policy, job.seed, index) for index in range(job.tests)]
            write_episodes(job.test_file(output, checkpoint), episodes, about=job.about)
        report(checkpoint - before + job.tests)
        before = checkpoint


def check_datasets(jobs: Sequence[Job]) -> None:
    """Raise `UsageError` or `InputError` where there is nothing that offline policies learn from.

    Each needs a data set with as many dialogues as it is to learn from.
    """
    for job in {job.task: job for job in jobs if job.preset.offline}.values():
        if job.dataset is None:
            raise UsageError(
                f"{job.policy} learns from a data set: name its folder with --dataset (`mwzeval "
                "pydial record` makes one)"
            )
        check_source(job)


def check_source(job: Job) -> dict[str, Any]:
    """Return what the data set of a job is of.

    Raises `UsageError` where there is none, it has too few dialogues, or the job is not about such
    ones, and `InputError` for metadata that are damaged.
    """
    if job.legacy:
        raise UsageError("data sets are of the clean environment: leave out legacy")
    place, source, _ = source_of(str(job.dataset), job.task, job.checkpoints[-1])
    if source.get("goodbye") != job.goodbye:
        raise UsageError(
            f"{place}: there goodbye is said by the {source.get('goodbye')}, here by the "
            f"{job.goodbye}: say the same with --goodbye"
        )
    return source


def _note(file: Path, source: dict[str, Any]) -> None:
    """Note what is learned from, or compare it with what is noted."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(source, indent=1) + "\n")
    elif (found := read_json(file)) != source:
        message = (
            f"what is here has learned from {json.dumps(found)}, not {json.dumps(source)}: use "
            "another folder"
        )
        raise InputError([Problem("other-dataset", message, file=str(file))])


def _diverged(job: Job, output: Path, error: DivergedError) -> Problem:
    progress = job.folder(output) / PROGRESS
    advice = "training diverged"
    if progress.exists():
        advice += f", or the file was damaged. {ANEW}"
    return Problem("diverged", f"{error}: {advice}", file=str(progress))


def tests_untrained(job: Job, runner: TaskRunner) -> Iterator[Episode]:
    """Yield the test dialogues of a policy that does not learn, which `runner` plays.

    Several at once are played without it.
    """
    if job.batch > 1 and job.policy == HANDCRAFTED:
        yield from batched_runner_of(job).test_handcrafted(job.seed, job.tests)
        return
    if job.policy == RANDOM:
        policy = RandomPolicy()
        yield from (runner.test(policy, job.seed, index) for index in range(job.tests))
        return
    simulation = runner.process.simulation
    act_policy = HandcraftedPolicy(
        simulation.domain, legacy=job.legacy, most_informed=simulation.task.max_informed_slots
    )
    yield from (runner.test_act_policy(act_policy, job.seed, index) for index in range(job.tests))


def _learn(
    job: Job, output: Path, report: ProgressReport, watch: Watch | None, save_seconds: float
) -> None:
    runner = training_runner_of(job)
    side_by_side = batched_runner_of(job) if job.batch > 1 else None
    policy: Any = job.preset.learner(runner.size, runner.actions, seed=job.seed, legacy=job.legacy)
    progress = job.folder(output) / PROGRESS
    done, history = _resumed(job, progress, runner, policy)
    report(done)
    _retell(job, output, watch, history)
    if watch is not None and isinstance(policy, NeuralPolicy):
        policy.losses = watch.losses
    saved = time.monotonic()
    clock = JobClock(job.folder(output), done=done)
    for checkpoint in job.checkpoints:
        while done < checkpoint:
            if side_by_side is None:
                played = [runner.train(policy, job.seed, done)]
            else:
                played = side_by_side.train(policy, job.seed, done, checkpoint)
            history += map(_outcome, played)
            done += len(played)
            if watch is not None:
                watch.trained(history[-len(played) :])
            report(len(played))
            if time.monotonic() - saved > save_seconds and done < checkpoint:
                _save(job, progress, runner, policy, history)
                clock.trained(done, checkpoint=False)
                saved = time.monotonic()
        test = job.test_file(output, checkpoint)
        if done > checkpoint or job.has_test(output, checkpoint):
            report(job.of_a_test)
            continue
        _save(job, progress, runner, policy, history)
        clock.trained(done, checkpoint=True)
        saved = time.monotonic()
        model = Checkpoint(job.origin, done, False, policy.memory(whole=False), {})
        write_checkpoint(job.model_file(output, checkpoint), model)
        if side_by_side is None:
            episodes = runner.for_tests().tests(policy, job.seed, job.tests)
        else:
            episodes = side_by_side.test(policy, job.seed, job.tests)
        _write_training(job, output, history)
        write_episodes(test, episodes, say_task=len(job.tasks) > 1, about=job.about)
        clock.tested(checkpoint)
        if watch is not None:
            watch.tested([_outcome(episode) for episode in episodes])
        report(job.of_a_test)


def _retell(job: Job, output: Path, watch: Watch | None, history: list[Outcome] | None) -> None:
    """Tell of what is done; `history` are the training dialogues, None: those of the file."""

    def read(file: Path) -> list[Outcome]:
        settings = replace(job.noted, tests=None)
        return [*map(_outcome, read_episodes(file, job.task, job.seed, settings=settings))]

    training = job.folder(output) / TRAINING if history is None else history
    told = None if job.preset.offline else training
    retell(watch, told, [(at, job.test_file(output, at)) for at in job.tested_at], read)


def _resumed(
    job: Job, progress: Path, runner: TaskRunner | JointRunner, policy: Learner
) -> tuple[int, list[Outcome]]:
    if not progress.exists():
        return 0, []
    with fitting(progress, ANEW):
        checkpoint = read_checkpoint(progress, job.origin)
        arrays = dict(checkpoint.memory.arrays)
        history = arrays.pop(HISTORY, None)
        if not checkpoint.whole or history is None:
            raise ValueError("it is not enough to go on learning")
        check_arrays({HISTORY: history}, {HISTORY: Layout(np.float64, (checkpoint.dialogues, 3))})
        policy.remember(Memory(arrays, checkpoint.memory.about))
        runner.carry_over(dict(checkpoint.more))
    missed = [
        at
        for at in job.checkpoints
        if at < checkpoint.dialogues and not (progress.parent / job.test_file("", at).name).exists()
    ]
    if missed:
        raise InputError(
            [
                Problem(
                    "passed-checkpoint",
                    f"training has gone on to {checkpoint.dialogues} dialogues, past the test after"
                    f" {missed[0]}: leave that checkpoint out, or remove the folder",
                    file=str(progress.parent),
                )
            ]
        )
    rows = [(bool(success), int(length), reward) for success, length, reward in history.tolist()]
    return checkpoint.dialogues, rows


def _save(
    job: Job,
    progress: Path,
    runner: TaskRunner | JointRunner,
    policy: Learner,
    history: list[Outcome],
) -> None:
    memory = policy.memory()
    arrays = {**memory.arrays, HISTORY: np.array(history, dtype=np.float64).reshape(-1, 3)}
    whole = Memory(arrays, memory.about)
    more = runner.carried_over()
    write_checkpoint(progress, Checkpoint(job.origin, len(history), True, whole, more))


def _outcome(episode: Episode) -> Outcome:
    return episode.success, episode.exchanges, episode.reward


def _write_training(job: Job, output: Path, history: list[Outcome]) -> None:
    tasks = [task.name for task in job.tasks]
    episodes = (
        Episode(tasks[index % len(tasks)], job.seed, index // len(tasks), *row)
        for index, row in enumerate(history)
    )
    write_episodes(job.folder(output) / TRAINING, episodes, say_task=len(tasks) > 1)
