"""Compiled code: jobs have the same files, and the same tests pass, with and without it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.pydial.runs import job as jobs
from mwzeval.pydial.runs.compiled_runner import CompiledTaskRunner
from mwzeval.pydial.runs.episodes import TaskRunner
from mwzeval.pydial.runs.job import Job, read_times, run_job, runner_of
from mwzeval.pydial.simulator import many
from tests.places import ROOT

pytestmark = pytest.mark.integration
pytest.importorskip("torch")
CLEAN = [("dqn", False), ("enac", False), ("a2c-modern", False), ("ppo", False)]
KINDS = [*CLEAN, ("dqn", True), ("a2c", True)]


@pytest.mark.parametrize(("policy", "legacy"), KINDS)
def test_a_job_has_the_same_files_with_and_without_compiled_code(
    policy: str, legacy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job("Demo-CR-4", policy, 1, (30, 60), tests=20, legacy=legacy, goodbye="policy")
    files = []
    for worth, kind in ((job.work, CompiledTaskRunner), (job.work + 1, TaskRunner)):
        monkeypatch.setattr(jobs, "WORTH_COMPILING", worth)
        assert type(runner_of(job)) is kind
        folder = tmp_path / kind.__name__
        run_job(job, folder)
        made = job.folder(folder).iterdir()
        files.append({f.name: f.read_bytes() for f in made if f.name != "times.json"})
    compiled, scalar = files
    assert compiled.keys() == scalar.keys()
    assert {"test-000030.jsonl", "test-000060.jsonl", "training.jsonl"} <= compiled.keys()
    for name, content in compiled.items():
        assert content == scalar[name], name


def test_seconds_of_training_are_without_those_of_compiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call of compiled code takes two seconds of a clock that no test waits for."""
    seconds = [0.0]

    def clock() -> float:
        seconds[0] += 0.001
        return seconds[0]

    def compiling(made: Callable[[], Callable[..., Any]]) -> Callable[[], Callable[..., Any]]:
        function, calls = made(), [0]

        def called(*arguments: Any) -> Any:
            calls[0] += 1
            seconds[0] += 2.0 * (calls[0] == 1)
            return function(*arguments)

        return lambda: called

    monkeypatch.setattr(time, "thread_time", clock)
    monkeypatch.setattr(jobs, "WORTH_COMPILING", 1)
    job = Job("Demo-CR-1", "dqn", 1, (20,), tests=2)
    runner_of(job)  # what is imported is not compiled
    for name in ("advance_function", "random_function"):
        monkeypatch.setattr(many, name, compiling(getattr(many, name)))
    run_job(job, tmp_path)
    assert 0 < read_times(job.folder(tmp_path)).training[20] < 1.5


@pytest.mark.slow
def test_compiled_code_passes_the_same_tests() -> None:
    options = ["-q", "-p", "no:cacheprovider", "-m", ""]
    tests = "tests/pydial/environments/test_vector_environment.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, tests],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_that_it_compiles_is_told_once_and_then_it_is_kept(tmp_path: Path) -> None:
    module = "mwzeval.pydial.environments.vector_environment"
    code = f"""
from {module} import make_vector_environment
print(make_vector_environment("Demo-CR-1", num_envs=1).reset(seed=1)[1]["exchange"])
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "NUMBA_CACHE_DIR": str(tmp_path)}
    for due in (1, 0):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.stdout == "[1]\n", done.stderr
        assert done.stderr.count("numba") == due
