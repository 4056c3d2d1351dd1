"""Checkpoints: a loaded policy acts like the saved policy; other files are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.episodes import rng_of
from mwzeval.pydial.job import METRICS, TRAINING, Job
from mwzeval.pydial.play import adapter_for
from mwzeval.pydial.policies import Learner
from mwzeval.pydial.policies.presets import (
    FORMER_SETTINGS,
    PRESETS,
    Origin,
    checkpoint_content,
    load_weights,
    preset_named,
    read_checkpoint,
)
from mwzeval.pydial.retest import retest
from mwzeval.pydial.tasks import task_named
from tests.command_lines import Run
from tests.pydial.runs import overflowing, run_job, small_run

Array = NDArray[Any]
TASK = "Demo-CR-1"
SIZE, ACTIONS = 5, 3
ORIGIN = Origin("dqn", "CR-1", 3, False, {"hidden": [300, 100], "discount": 0.99})
WEIGHTS: dict[str, Array] = {
    "dense": np.arange(12, dtype=np.float32).reshape(3, 4),
    "none": np.zeros((0, 7)),
}
CONTENT = checkpoint_content(ORIGIN, 40, WEIGHTS)


def test_checkpoints_round_trip_and_report_every_origin_difference(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(CONTENT)
    origin, weights = read_checkpoint(tmp_path / "a", ORIGIN)
    assert origin == ORIGIN
    assert {name: array.tolist() for name, array in weights.items()} == {
        name: array.tolist() for name, array in WEIGHTS.items()
    }
    with pytest.raises(InputError) as error:
        read_checkpoint(tmp_path / "a", replace(ORIGIN, task="LAP-6", settings={"discount": 1.0}))
    task, settings = error.value.problems
    assert "LAP-6" in task.message
    assert "discount" in settings.message


@pytest.mark.parametrize(
    ("policy", "setting", "other"),
    [("enac", "credit", "return"), ("enac", "discount", 1.0), ("ppo", "greedy", True)],
)
def test_former_settings_are_accepted_only_with_their_present_value(
    policy: str, setting: str, other: Any, tmp_path: Path
) -> None:
    origin = Job("CR-1", policy, 3, (40,)).origin
    before = {**origin.settings, **FORMER_SETTINGS[policy]}
    for settings in (before, {**before, setting: other}):
        content = checkpoint_content(replace(origin, settings=settings), 40, WEIGHTS)
        (tmp_path / "a").write_bytes(content)
        if settings == before:
            assert read_checkpoint(tmp_path / "a", origin)[0] == origin
        else:
            with pytest.raises(InputError, match=setting):
                read_checkpoint(tmp_path / "a", origin)


WRONG: list[dict[str, Any]] = [
    {key: wrong} for key, wrong in (("policy", None), ("task", []), ("seed", -1), ("settings", []))
]


@pytest.mark.parametrize(
    "content",
    [
        *(b"PK", CONTENT[:200], CONTENT[:-1]),
        *(checkpoint_content(replace(ORIGIN, **wrong), 3, WEIGHTS) for wrong in WRONG),
        checkpoint_content(ORIGIN, -1, WEIGHTS),
        # The format is true instead of 1; removed blanks keep the length.
        CONTENT.replace(b'\\"format\\": 1,', b'\\"format\\":true,'),
    ],
)
def test_invalid_checkpoint_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InputError) as error:
        read_checkpoint(tmp_path / "a")
    (problem,) = error.value.problems
    assert (problem.kind, problem.file) == ("bad-model", str(tmp_path / "a"))


def trained(policy: str, dialogues: int) -> Learner:
    """Return a small policy after training on random dialogues."""
    if PRESETS[policy].view != "kernel":
        pytest.importorskip("torch").set_num_threads(1)
    learner = PRESETS[policy].learner(SIZE, ACTIONS, seed=1)
    generator = np.random.default_rng(0)
    mask = np.ones(ACTIONS, dtype=np.bool_)
    for _ in range(dialogues):
        learner.begin()
        for number in range(10):
            learner.record(generator.random(SIZE, np.float32), mask, number % ACTIONS, -1.0)
        learner.end()
    return learner


def altered(arrays: dict[str, Array]) -> Iterator[dict[str, Array]]:
    """Yield arrays with one missing array, wrong shape or invalid numbers."""
    for name, array in arrays.items():
        yield {key: value for key, value in arrays.items() if key != name}
        yield {**arrays, name: array[np.newaxis]}
        yield {**arrays, name: np.concatenate([array, array])}
        if array.dtype.kind == "f":
            yield {**arrays, name: np.full_like(array, np.nan)}
        else:
            yield {**arrays, name: array + 10**9}
            yield {**arrays, name: array - 10**9}
    yield {**arrays, "unknown": np.zeros(3)}


@pytest.mark.parametrize("policy", [name for name, preset in PRESETS.items() if preset.learns])
def test_mismatched_weights_are_refused(policy: str, tmp_path: Path) -> None:
    learned, learner = trained(policy, 74), trained(policy, 0)
    arrays = {name: array.copy() for name, array in learned.weights().items()}
    for other in altered(arrays):
        with pytest.raises(InputError) as error:
            load_weights(tmp_path / "a", learner, other)
        assert error.value.problems[0].file == str(tmp_path / "a")
    load_weights(tmp_path / "a", learner, arrays)
    assert all(np.array_equal(learner.weights()[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if not preset.learns])
def test_policies_without_learning_have_no_learner(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        preset_named(name).learner(3, 2, seed=0)


@pytest.mark.parametrize("said", [True, "nobody", None])
def test_invalid_goodbye_settings_in_a_checkpoint_are_refused(said: object, tmp_path: Path) -> None:
    (job,) = small_run(tmp_path, "gp-sarsa", TASK)
    model = job.model_file(tmp_path, 3)
    origin, weights = read_checkpoint(model)
    other = replace(origin, settings={**origin.settings, "goodbye": said})
    model.write_bytes(checkpoint_content(other, 2, weights))
    with pytest.raises(InputError, match="goodbye"):
        adapter_for(model, load_domain("Demo-CR"), task_named("Demo-CR-3"))


@pytest.mark.integration
@pytest.mark.parametrize("policy", ["a2c", "enac", "ppo"])
def test_overflowing_weights_are_reported_with_their_file(policy: str, tmp_path: Path) -> None:
    pytest.importorskip("torch").set_num_threads(1)
    job = Job(TASK, policy, 1, (2,), tests=1)
    run_job(job, tmp_path)
    model = overflowing(job.model_file(tmp_path, 2))
    adapter = adapter_for(model, load_domain("Demo-CR"), task_named(TASK))
    adapter.process.begin(rng_of(1, 0))
    uses: tuple[Callable[[], object], ...] = (
        lambda: adapter.choose(rng_of(1, 1)),
        lambda: retest(tmp_path, [job]),
    )
    for use in uses:
        with np.errstate(all="ignore"), pytest.raises(InputError) as raised:
            use()
        (problem,) = raised.value.problems
        assert (problem.kind, problem.file) == ("diverged", str(model))


@pytest.mark.integration
def test_retest_tests_all_other_policies_before_reporting_a_damaged_model(tmp_path: Path) -> None:
    pytest.importorskip("torch").set_num_threads(1)
    bad, good = (Job(TASK, policy, 1, (2,), tests=1) for policy in ("enac", "ppo"))
    for job in (bad, good):
        run_job(job, tmp_path)
    bad.model_file(tmp_path, 2).write_bytes(b"PK")
    for errors in ((0.5,), ()):
        with pytest.raises(InputError) as raised:
            retest(tmp_path, [bad, good], errors=errors, tests=1)
        (problem,) = raised.value.problems
        assert problem.file == str(bad.model_file(tmp_path, 2))
    tested = {file.parent.name for file in tmp_path.glob("cross/ppo/*/*.jsonl")}
    assert {"Demo-CR-1-in-Demo-CR-1@errors=50", "Demo-CR-1-in-Demo-CR-6"} < tested


@pytest.mark.integration
@pytest.mark.parametrize("processes", ["0", "1"])
def test_jobs_with_damaged_files_are_repeated(processes: str, tmp_path: Path, run: Run) -> None:
    jobs = small_run(tmp_path, "gp-sarsa", TASK, seeds=7)
    damaged = [jobs[0].test_file(tmp_path, 3), *(job.model_file(tmp_path, 3) for job in jobs[1:4])]
    damaged += [jobs[4].folder(tmp_path) / TRAINING, jobs[5].folder(tmp_path) / METRICS]
    whole = [file.read_bytes() for file in damaged]
    origin, weights = read_checkpoint(damaged[2])
    wide = {**weights, "points": np.zeros((len(weights["points"]), 7))}
    infinite = {**weights, "means": np.full_like(weights["means"], np.nan)}
    for file, content in zip(
        damaged,
        (
            *(whole[0][:-40], whole[1][:-40]),
            checkpoint_content(origin, 3, wide),
            checkpoint_content(replace(origin, seed=3), 3, infinite),
            *(whole[4][:-40], b"step,value"),
        ),
        strict=True,
    ):
        file.write_bytes(content)
    assert [job.is_done(tmp_path) for job in jobs] == [False] * 6 + [True]
    command = ["pydial", "run", "--tasks", TASK, "--policies", "gp-sarsa", "--dialogues", "3"]
    command += ["--seeds", "7", "--tests", "2", "--processes", processes, "-o", str(tmp_path)]
    printed = run(*command).err
    assert all(str(file) in printed for file in damaged)
    assert printed.count(" is trained and tested again") == len(damaged)
    assert not any(advice in printed for advice in ("Remove it", "another file"))
    assert [file.read_bytes() for file in damaged] == whole
    assert "again" not in run(*command).err
