"""A job of a run: one policy, trained and tested in one task with one seed.

A job is done when its tests are in the folder of the run. A job that was interrupted starts again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mwzeval.errors import DependencyError, InputError, Problem
from mwzeval.files.reading import read_json
from mwzeval.files.writing import write_atomically
from mwzeval.pydial.dialogue.domain_files import OwnFiles, load_domain
from mwzeval.pydial.policies.dqn import DQN
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.policies.learner import DivergedError
from mwzeval.pydial.policies.neural import NeuralPolicy
from mwzeval.pydial.policies.presets import RANDOM, Preset, preset_named
from mwzeval.pydial.runs.checkpoints import Origin, checkpoint_content
from mwzeval.pydial.runs.episode_files import episodes_text, read_episodes
from mwzeval.pydial.runs.episodes import Episode, TaskRunner
from mwzeval.pydial.runs.run_folder import RunSettings
from mwzeval.pydial.runs.threads import single_threaded
from mwzeval.pydial.tasks import Goodbye, task_named
from mwzeval.pydial.training.log import EVERY, TrainingLog, log_text

TRAINING, METRICS, TIMES = "training.jsonl", "metrics.csv", "times.json"
WORTH_COMPILING = 1000
"""From so many dialogues on it pays to load, or even to compile, what plays them faster."""
Files = Mapping[str, str | bytes]


@dataclass(frozen=True, slots=True)
class Job:
    """A policy to train and test; `checkpoints` are numbers of training dialogues, rising."""

    task: str
    policy: str
    seed: int
    checkpoints: tuple[int, ...]
    tests: int = 500
    legacy: bool = False
    data: str | None = None
    goodbye: Goodbye = "user"
    own: OwnFiles | None = None

    @property
    def preset(self) -> Preset:
        """The policy. Raises `UsageError` for an unknown one."""
        return preset_named(self.policy)

    @property
    def tested_at(self) -> tuple[int, ...]:
        """After how many training dialogues it is tested; (0,) if the policy does not learn."""
        return self.checkpoints if self.preset.learns else (0,)

    @property
    def origin(self) -> Origin:
        """What its checkpoints say of the policy."""
        settings = self.preset.described(self.legacy, self.goodbye)
        return Origin(self.policy, self.task, self.seed, self.legacy, settings)

    @property
    def name(self) -> str:
        """Its name, TASK/POLICY/seed-N."""
        return f"{self.task}/{self.policy}/seed-{self.seed}"

    @property
    def work(self) -> int:
        """The number of dialogues that it plays."""
        return self.tested_at[-1] + self.tests * len(self.tested_at)

    def folder(self, output: str | Path) -> Path:
        """Return the folder of its files."""
        return Path(output, self.name)

    def test_file(self, output: str | Path, dialogues: int) -> Path:
        """Return the file of the test after some training dialogues."""
        return self.folder(output) / f"test-{dialogues:06d}.jsonl"

    def model_file(self, output: str | Path, dialogues: int) -> Path:
        """Return the file of the policy after some training dialogues."""
        return self.folder(output) / f"model-{dialogues:06d}.safetensors"

    @property
    def about(self) -> dict[str, Any]:
        """What the headers of its tests say."""
        return {
            "task": self.task,
            "seed": self.seed,
            "policy": self.policy,
            "legacy": self.legacy,
        }

    @property
    def settings(self) -> RunSettings:
        """The settings that all tests of its run have in common."""
        return RunSettings(self.tests, self.legacy, self.goodbye)

    def is_done(self, output: str | Path) -> bool:
        """Return whether all of its tests and models exist.

        Raises `InputError` for a file that is not a complete test.
        """
        files = [self.test_file(output, at) for at in self.tested_at]
        for file in files:
            if file.exists():
                read_episodes(file, self.task, self.seed, settings=self.settings)
        if self.preset.learns:
            files += [self.model_file(output, at) for at in self.tested_at]
        return all(file.exists() for file in files)


def runner_of(job: Job, *, compiled: bool = True) -> TaskRunner:
    """Return what plays the dialogues of a job; its confusion table is drawn from the seed.

    Many dialogues of a neural policy are played by compiled code if numba is installed, to the same
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
        with suppress(DependencyError):
            from mwzeval.pydial.runs.compiled_runner import CompiledTaskRunner

            return CompiledTaskRunner(domain, task, **how)
    return TaskRunner(domain, task, job.preset.view, **how)


def run_job(
    job: Job,
    output: str | Path,
    *,
    on_progress: Callable[[int], object] = lambda dialogues: None,
    log_every: int = EVERY,
) -> None:
    """Train and test the policy of a job unless that is done, and write its files.

    `on_progress` is called with numbers of dialogues that were played. Raises what `is_done`,
    `files_of` and `write_files` raise.
    """
    if job.is_done(output):
        on_progress(job.work)
    else:
        write_files(job, output, files_of(job, on_progress, log_every))


def write_files(job: Job, output: str | Path, files: Files) -> None:
    """Write the files of a job; tests that exist stay. Raises `MwzevalError`."""
    folder = job.folder(output)
    folder.mkdir(parents=True, exist_ok=True)
    # The tests come last: with them the job counts as done.
    for name in sorted(files, key=lambda name: (name.startswith("test-"), name)):
        if not (name.startswith("test-") and (folder / name).exists()):
            write_atomically(folder / name, files[name])


def files_of(
    job: Job, on_progress: Callable[[int], object], log_every: int = EVERY
) -> dict[str, str | bytes]:
    """Train and test the policy of a job; return its files by name.

    These are models, tests, training dialogues, metrics (means of `log_every` training dialogues)
    and CPU seconds. Raises `InputError` if training diverges, and what `runner_of` raises.
    """
    with single_threaded(job.preset):
        runner = runner_of(job)
        if not job.preset.learns:
            began = time.thread_time()
            tests = _counted(tests_untrained(job, runner), on_progress)
            seconds = time.thread_time() - began
            log = TrainingLog(None, name=job.name)
            log.test(tests)
            return {
                job.test_file("", 0).name: episodes_text(tests, job.about),
                METRICS: log_text(log.rows),
                TIMES: _times_text({}, {0: seconds}),
            }
        try:
            return _trained(job, runner, on_progress, log_every)
        except DivergedError as error:
            raise InputError([Problem("diverged", f"{error}: {job.name} diverged")]) from None


def _counted(episodes: Iterable[Episode], on_progress: Callable[[int], object]) -> list[Episode]:
    played = []
    for episode in episodes:
        played.append(episode)
        on_progress(1)
    return played


def tests_untrained(job: Job, runner: TaskRunner) -> Iterator[Episode]:
    """Yield the test dialogues of a policy that does not learn."""
    if job.policy == RANDOM:
        yield from runner.tests(RandomPolicy(), job.seed, job.tests)
        return
    policy = HandcraftedPolicy()
    yield from (runner.test_act_policy(policy, job.seed, index) for index in range(job.tests))


def _trained(
    job: Job, runner: TaskRunner, on_progress: Callable[[int], object], log_every: int
) -> dict[str, str | bytes]:
    policy: Any = job.preset.learner(runner.size, runner.actions, seed=job.seed, legacy=job.legacy)
    log = TrainingLog(None, name=job.name, every=log_every)
    if isinstance(policy, NeuralPolicy):
        policy.losses = log.losses
    files: dict[str, str | bytes] = {}
    trained: list[Episode] = []
    training: dict[int, float] = {}
    testing: dict[int, float] = {}
    seconds, since = 0.0, time.thread_time()
    for checkpoint in job.checkpoints:
        while len(trained) < checkpoint:
            episode = runner.train(policy, job.seed, len(trained))
            trained.append(episode)
            log.dialogue(*episode.outcome)
            on_progress(1)
        content = checkpoint_content(job.origin, checkpoint, policy.weights())
        files[job.model_file("", checkpoint).name] = content
        seconds, since = seconds + time.thread_time() - since, time.thread_time()
        tests = _counted(runner.for_tests().tests(policy, job.seed, job.tests), on_progress)
        files[job.test_file("", checkpoint).name] = episodes_text(tests, job.about)
        log.test(tests)
        training[checkpoint] = seconds
        testing[checkpoint], since = time.thread_time() - since, time.thread_time()
    return files | {
        TRAINING: episodes_text(trained, {}),
        METRICS: log_text(log.rows),
        TIMES: _times_text(training, testing),
    }


@dataclass(frozen=True, slots=True)
class JobTimes:
    """CPU seconds by number of training dialogues: of all training up to there, of the test."""

    training: Mapping[int, float] = field(default_factory=dict)
    tests: Mapping[int, float] = field(default_factory=dict)


def _times_text(*seconds: Mapping[int, float]) -> str:
    rounded = ({str(at): round(s, 3) for at, s in times.items()} for times in seconds)
    return json.dumps(dict(zip(JobTimes.__slots__, rounded, strict=True))) + "\n"


def read_times(folder: Path) -> JobTimes:
    """Return the CPU seconds of a job, nothing if there is no file. Raises `InputError`."""
    file = folder / TIMES
    if not file.is_file():
        return JobTimes()
    plain = read_json(file)
    try:
        times = [{int(at): float(s) for at, s in plain[k].items()} for k in JobTimes.__slots__]
        if not all(seconds >= 0 for column in times for seconds in column.values()):
            raise ValueError("negative seconds")
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        message = "expected the CPU seconds of a job; the file can be deleted"
        raise InputError([Problem("times", message, file=str(file))]) from None
    return JobTimes(*times)
