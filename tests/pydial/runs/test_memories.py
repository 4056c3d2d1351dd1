"""Checkpoints whose arrays are not those of their policy are refused before anything is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.cli import main
from mwzeval.errors import InputError
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.environments.actions import ABOUT_SLOTS, GENERAL
from mwzeval.pydial.environments.slot_features import OF_DIALOGUE, OF_SLOT
from mwzeval.pydial.policies.learner import Learner, Memory
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.runs.checkpoints import read_checkpoint, write_checkpoint
from mwzeval.pydial.runs.job import PROGRESS, Job, run_job
from mwzeval.pydial.runs.play import adapter_for
from mwzeval.pydial.runs.run import run
from mwzeval.pydial.studies.cross_environment import cross
from mwzeval.pydial.tasks import task_named

pytestmark = pytest.mark.integration
Array = NDArray[Any]
LEARNERS = [name for name, preset in PRESETS.items() if preset.learns]
TASK, OTHER = "Demo-CR-1", "Demo-CR-3"
EXCHANGES = 10


def sizes(policy: str) -> tuple[int, int]:
    """Return the size of a state and the number of actions of a small problem."""
    if PRESETS[policy].any_domain:
        return len(OF_DIALOGUE) + len(OF_SLOT), len(ABOUT_SLOTS) + len(GENERAL)
    return 5, 3


def new(policy: str) -> Learner:
    """Return a small policy that has learned nothing."""
    if PRESETS[policy].view != "kernel":
        pytest.importorskip("torch").set_num_threads(1)
    return PRESETS[policy].learner(*sizes(policy), seed=1)


def let_learn(learner: Learner, policy: str, dialogues: int) -> None:
    generator = np.random.default_rng(0)
    size, actions = sizes(policy)
    mask = np.ones(actions, dtype=np.bool_)
    for _ in range(dialogues):
        learner.begin()
        for number in range(EXCHANGES):
            learner.record(generator.random(size, np.float32), mask, number % actions, -1.0)
        learner.end()


WAYS: dict[str, Callable[[Array], Array]] = {
    "longer": lambda array: np.concatenate([array, array]) if array.ndim else np.stack([array] * 2),
    "flatter": lambda array: array.reshape(-1) if array.ndim != 1 else array[:, np.newaxis],
    "complex": lambda array: array.astype(np.complex128),
    "of another type": lambda array: array.astype(
        np.float16 if array.dtype != np.float16 else "f8"
    ),
    "text": lambda array: np.full(array.shape, "x"),
}


def altered(arrays: dict[str, Array]) -> Iterator[tuple[str, dict[str, Array]]]:
    """Yield arrays of which one is damaged, with what was done to it."""
    for name, array in arrays.items():
        yield f"{name} missing", {key: value for key, value in arrays.items() if key != name}
        for how, change in WAYS.items():
            yield f"{name} {how}", {**arrays, name: change(array)}
        if array.dtype == np.int64:
            yield f"{name} large", {**arrays, name: array + 10**9}
            yield f"{name} negative", {**arrays, name: array - 10**9}
    yield "one too many", {**arrays, "kept.other": np.zeros(3), "optimizer.1.2.3": np.zeros(3)}


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "for tests"])
@pytest.mark.parametrize("policy", LEARNERS)
def test_a_policy_takes_nothing_but_its_own_memory(policy: str, whole: bool) -> None:
    learned = new(policy)
    # So many that each has updated its networks, and keeps some dialogues.
    let_learn(learned, policy, 74)
    arrays, about = learned.memory(whole=whole)
    is_optimized = policy != "gp-sarsa" and not PRESETS[policy].offline  # in this program
    assert not whole or any("optimizer" in name for name in arrays) == is_optimized
    learner = new(policy)
    for how, other in altered(arrays):
        if whole or how != "one too many":
            with pytest.raises(ValueError, match=r"missing|expected|kept|part|shapes"):
                learner.remember(Memory(other, about), whole=whole)
    if whole and about:
        wrongs: list[dict[str, Any]] = [{"dialogues": -1}, {"dialogues": "x"}, {"generator": []}]
        for wrong in wrongs:
            with pytest.raises((ValueError, TypeError)):
                learner.remember(Memory(arrays, {**about, **wrong}))
    learner.remember(Memory(arrays, about), whole=whole)
    again, _ = learner.memory(whole=whole)
    assert all(np.array_equal(again[name], array) for name, array in arrays.items())
    if whole:
        let_learn(learner, policy, 2)


@pytest.mark.parametrize("policy", [name for name in LEARNERS if not PRESETS[name].offline])
def test_other_checkpoints_are_told_with_what_to_do(policy: str, tmp_path: Path) -> None:
    if PRESETS[policy].view != "kernel":
        pytest.importorskip("torch").set_num_threads(1)
    job = Job(TASK, policy, 0, (2,), tests=1)
    run_job(job, tmp_path)
    progress = job.folder(tmp_path) / PROGRESS
    model = job.model_file(tmp_path, 2)
    domain = load_domain("Demo-CR")

    uses: tuple[tuple[Path, Callable[[], object]], ...] = (
        (progress, lambda: run_job(replace(job, checkpoints=(3,)), tmp_path)),
        (model, lambda: cross(tmp_path, [job], environments=(1, 3))),
        (model, lambda: adapter_for(model, domain, task_named(OTHER))),
    )

    def refused() -> None:
        for file, use in uses:
            with pytest.raises(InputError) as error:
                use()
            (problem,) = error.value.problems
            assert (problem.kind, problem.file) == ("bad-checkpoint", str(file))

    for file in (progress, model):
        whole = read_checkpoint(file)
        name = min(whole.memory.arrays)
        arrays = {**whole.memory.arrays, name: np.zeros((7, 7, 7))}
        write_checkpoint(file, replace(whole, memory=Memory(arrays, whole.memory.about)))
    refused()
    for file in (progress, model):
        file.write_bytes(file.read_bytes()[:2000])
    refused()
    assert not list(tmp_path.glob("cross/*/*/*.jsonl"))


@pytest.mark.parametrize("said", [True, "nobody", None])
def test_a_checkpoint_says_who_says_goodbye(said: object, tmp_path: Path) -> None:
    job = Job(TASK, "gp-sarsa", 0, (2,), tests=1)
    run_job(job, tmp_path)
    model = job.model_file(tmp_path, 2)
    whole = read_checkpoint(model)
    settings = {**whole.origin.settings, "goodbye": said}
    write_checkpoint(model, replace(whole, origin=replace(whole.origin, settings=settings)))
    with pytest.raises(InputError, match="goodbye"):
        adapter_for(model, load_domain("Demo-CR"), task_named(OTHER))


@pytest.mark.parametrize("processes", [0, 1])
def test_a_bad_checkpoint_does_not_stop_the_other_jobs(
    processes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([TASK], ["gp-sarsa"], tmp_path, dialogues=[3], seeds=3, tests=2, processes=0)
    jobs = [Job(TASK, "gp-sarsa", seed, (3, 5), tests=2) for seed in range(3)]
    for job in jobs[:2]:
        (job.folder(tmp_path) / PROGRESS).write_bytes(b"PK")
    command = ["pydial", "run", "--tasks", TASK, "--policies", "gp-sarsa", "--dialogues", "3,5"]
    command += ["--seeds", "3", "--tests", "2", "--processes", str(processes), "-o", str(tmp_path)]
    assert main(command) == 2
    told = capsys.readouterr().err
    for job in jobs[:2]:
        assert str(job.folder(tmp_path) / PROGRESS) in told
    assert [job.is_done(tmp_path) for job in jobs] == [False, False, True]
    for job in jobs[:2]:
        (job.folder(tmp_path) / PROGRESS).unlink()
    assert main(command) == 0
