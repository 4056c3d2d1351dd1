"""A job of a run: one policy, trained and tested in one task with one seed, in one thread.

A job is done when the run folder contains the results of its tests. An interrupted job starts from
the beginning.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from mwzeval.errors import DataError, DependencyError, InputError, Problem
from mwzeval.files.reading import read_bytes, read_json
from mwzeval.files.writing import write_atomically
from mwzeval.libraries import required
from mwzeval.pydial.domain import OwnFiles, load_domain
from mwzeval.pydial.episode_files import RunSettings, episodes_text, read_episodes
from mwzeval.pydial.episodes import Episode, TaskRunner
from mwzeval.pydial.log import EVERY, TrainingLog, log_text, read_rows
from mwzeval.pydial.policies import ActionPolicy, Learner
from mwzeval.pydial.policies.dqn import DQN
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.policies.neural import DivergedError, NeuralPolicy
from mwzeval.pydial.policies.presets import (
    HANDCRAFTED,
    Origin,
    Preset,
    checkpoint_content,
    load_weights,
    preset_named,
    read_checkpoint,
)
from mwzeval.pydial.tasks import Goodbye, task_named, tasks_of


@contextmanager
def single_threaded(preset: Preset | None) -> Iterator[None]:
    """Limit computation to one thread, because sums from several threads may differ in last bits.

    Raises `DependencyError` for a neural policy without PyTorch.
    """
    if preset is not None and preset.learns and preset.view != "kernel":
        # PyTorch is imported before the limit is set, because a later import would ignore it.
        required("torch")
    torch: Any = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else None
    with threadpool_limits(limits=1):
        try:
            if torch:
                torch.set_num_threads(1)
            yield
        finally:
            if torch:
                torch.set_num_threads(threads)


TRAINING, METRICS, TIMES = "training.jsonl", "metrics.csv", "times.json"
Files = Mapping[str, str | bytes]


@dataclass(frozen=True, slots=True)
class Job:
    """A policy that is trained and tested in one task with one seed. `checkpoints` are increasing
    numbers of training dialogues.

    With `compiled`, numba compiles the simulation for neural policies. Compilation does not change
    the results.
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
    compiled: bool = False

    @property
    def preset(self) -> Preset:
        """The preset of the policy. Raises `UsageError` if the name of the policy is unknown."""
        return preset_named(self.policy)

    @property
    def is_compiled(self) -> bool:
        """Whether compiled code plays the dialogues."""
        return self.compiled and self.preset.learns and self.preset.view == "neural"

    @property
    def tested_at(self) -> tuple[int, ...]:
        """The numbers of training dialogues before each test; (0,) for a policy that does not
        learn.
        """
        return self.checkpoints if self.preset.learns else (0,)

    @property
    def origin(self) -> Origin:
        """Information about the policy for its checkpoints."""
        settings = self.preset.described(self.legacy, self.goodbye)
        return Origin(self.policy, self.task, self.seed, self.legacy, settings)

    @property
    def name(self) -> str:
        """The name of the job, TASK/POLICY/seed-N."""
        return f"{self.task}/{self.policy}/seed-{self.seed}"

    @property
    def work(self) -> int:
        """The number of training and test dialogues in the job."""
        return self.tested_at[-1] + self.tests * len(self.tested_at)

    def learner(self, runner: TaskRunner) -> Learner:
        """Return the untrained policy that the job trains."""
        size, actions = runner.size, runner.actions
        return self.preset.learner(size, actions, seed=self.seed, legacy=self.legacy)

    def folder(self, output: str | Path) -> Path:
        """Return the folder of the job's files."""
        return Path(output, self.name)

    def test_file(self, output: str | Path, dialogues: int) -> Path:
        """Return the test file for a number of training dialogues."""
        return self.folder(output) / f"test-{dialogues:06d}.jsonl"

    def model_file(self, output: str | Path, dialogues: int) -> Path:
        """Return the file of the policy's weights after a number of training dialogues."""
        return self.folder(output) / f"model-{dialogues:06d}.safetensors"

    @property
    def about(self) -> dict[str, Any]:
        """Information for the headers of the test files."""
        return {
            "task": self.task,
            "seed": self.seed,
            "policy": self.policy,
            "legacy": self.legacy,
        }

    @property
    def settings(self) -> RunSettings:
        """The settings that all tests of a run share."""
        return RunSettings(self.tests, self.legacy, self.goodbye)

    def results(self, output: str | Path) -> list[Path]:
        """Return the paths of the test files and model files of the job."""
        places = [self.test_file, self.model_file] if self.preset.learns else [self.test_file]
        return [place(output, at) for place in places for at in self.tested_at]

    def is_done(self, output: str | Path) -> bool:
        """Return whether all test files and model files of the job exist and are undamaged."""
        return all(map(Path.exists, self.results(output))) and not self.damage(output)

    def damage(self, output: str | Path) -> list[Problem]:
        """Return the first problem of each damaged file of the job; `TIMES` is not checked."""
        folder = self.folder(output)
        files = [*self.results(output), folder / TRAINING, folder / METRICS]
        there = filter(Path.exists, files)
        return [problem for file in there for problem in self.problems_in(file)[:1]]

    def problems_in(self, file: Path) -> tuple[Problem, ...]:
        """Return all problems in one file of the job."""
        try:
            if file.name == METRICS:
                read_rows(read_bytes(file), file)
            elif file.name == TRAINING:
                settings = replace(self.settings, tests=None)
                read_episodes(file, self.task, self.seed, settings=settings)
            elif file.name.startswith("test-"):
                read_episodes(file, self.task, self.seed, settings=self.settings)
            else:
                _, weights = read_checkpoint(file, self.origin)
                first = tasks_of(task_named(self.task).domain)[0]
                alike = replace(self, task=first, seed=0, checkpoints=(), compiled=False)
                # This may run on the client of a cluster, which may have neither data nor PyTorch.
                with suppress(DataError, DependencyError):
                    load_weights(file, _receiver(alike), weights)
        except InputError as error:
            return error.problems
        return ()


@cache
def _receiver(job: Job) -> Learner:
    """Return a policy to check weights, whose shapes are the same in all tasks of a domain."""
    return job.learner(runner_of(job))


def runner_of(job: Job) -> TaskRunner:
    """Return the runner that plays the dialogues of a job. The seed of the job determines the
    confusion table.

    Raises `UsageError` if a name is unknown, and `DataError` or `InputError` if the files of the
    domain are missing or invalid. Raises `DependencyError` if the job is compiled but numba is not
    installed.
    """
    task = task_named(job.task)
    domain = load_domain(task.domain, job.data, own=job.own)
    return TaskRunner(
        domain,
        task,
        job.preset.view,
        legacy=job.legacy,
        confusion_seed=job.seed,
        goodbye=job.goodbye,
        looks_again=job.legacy and job.preset.kind is DQN,
        compiled=job.is_compiled,
    )


def write_files(job: Job, output: str | Path, files: Files) -> None:
    """Write the files of a job, but do not overwrite complete tests. Raises `MwzevalError`."""
    folder = job.folder(output)
    folder.mkdir(parents=True, exist_ok=True)
    # Tests are written last, because a job with tests counts as done.
    for name in sorted(files, key=lambda name: (name.startswith("test-"), name)):
        place = folder / name
        if not (name.startswith("test-") and place.exists() and not job.problems_in(place)):
            write_atomically(place, files[name])


def files_of(
    job: Job,
    on_progress: Callable[[int], object] = lambda dialogues: None,
    log_every: int = EVERY,
) -> dict[str, str | bytes]:
    """Train and test the policy of a job; return the contents of its files by name.

    The files contain models, tests, training dialogues, training metrics (means of `log_every`
    dialogues) and CPU seconds. `on_progress` is called with the number of dialogues played since
    the last call. Raises `InputError` if the policy's training diverges, and the
    errors of `runner_of`.
    """
    with single_threaded(job.preset):
        runner = runner_of(job)
        try:
            return _trained_and_tested(job, runner, on_progress, log_every)
        except DivergedError as error:
            raise InputError([Problem("diverged", f"{error}: {job.name} diverged")]) from None


def tests_of(job: Job, runner: TaskRunner, learned: ActionPolicy | None) -> Iterator[Episode]:
    """Yield the test dialogues of a policy.

    `learned` is the trained policy, if the policy learns.
    """
    numbers = range(job.tests)
    if job.policy == HANDCRAFTED:
        handcrafted = HandcraftedPolicy()
        return (runner.test_act_policy(handcrafted, job.seed, index) for index in numbers)
    policy = RandomPolicy() if learned is None else learned
    return (runner.test(policy, job.seed, index) for index in numbers)


def _trained_and_tested(
    job: Job, runner: TaskRunner, on_progress: Callable[[int], object], log_every: int
) -> dict[str, str | bytes]:
    learner = job.learner(runner) if job.preset.learns else None
    log = TrainingLog(None, name=job.name, every=log_every)
    if isinstance(learner, NeuralPolicy):
        learner.losses = log.losses
    files: dict[str, str | bytes] = {}
    trained: list[Episode] = []
    training: dict[int, float] = {}
    testing: dict[int, float] = {}
    seconds, since = 0.0, time.thread_time()
    for checkpoint in job.tested_at:
        if learner is not None:
            while len(trained) < checkpoint:
                episode = runner.train(learner, job.seed, len(trained))
                trained.append(episode)
                log.dialogue(*episode.outcome)
                on_progress(1)
            content = checkpoint_content(job.origin, checkpoint, learner.weights())
            files[job.model_file("", checkpoint).name] = content
            seconds, since = seconds + time.thread_time() - since, time.thread_time()
            training[checkpoint] = round(seconds, 3)
        tests = []
        with runner.testing():
            for episode in tests_of(job, runner, learner):
                tests.append(episode)
                on_progress(1)
        files[job.test_file("", checkpoint).name] = episodes_text(tests, job.about)
        log.test(tests)
        testing[checkpoint], since = round(time.thread_time() - since, 3), time.thread_time()
    if learner is not None:
        files[TRAINING] = episodes_text(trained, {})
    times = json.dumps({"training": training, "tests": testing}) + "\n"
    return files | {METRICS: log_text(log.rows), TIMES: times}


def training_seconds(folder: Path) -> dict[int, float]:
    """Return the CPU seconds of a job by number of training dialogues; {} without a file of times.

    Raises `InputError` if the file is damaged.
    """
    file = folder / TIMES
    if not file.is_file():
        return {}
    plain = read_json(file)
    try:
        seconds = {int(at): float(number) for at, number in plain["training"].items()}
        if not all(number >= 0 for number in seconds.values()):
            raise ValueError("negative seconds")
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        message = "expected the CPU seconds of a job"
        raise InputError([Problem("times", message, file=str(file))]) from None
    return seconds
