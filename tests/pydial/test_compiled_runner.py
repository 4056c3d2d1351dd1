"""With compiled code, jobs write the same files and the same tests pass."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mwzeval.pydial.job import Job, runner_of, training_seconds
from mwzeval.pydial.simulator import compiled
from mwzeval.pydial.simulator.compiled import CompiledProcess
from tests.places import ROOT
from tests.pydial.runs import python, run_job

pytestmark = pytest.mark.integration
pytest.importorskip("torch")
CLEAN = [("dqn", False), ("enac", False), ("a2c-modern", False), ("ppo", False)]
KINDS = [*CLEAN, ("dqn", True), ("a2c", True)]


@pytest.mark.parametrize(("policy", "legacy"), KINDS)
def test_compiled_and_plain_jobs_write_the_same_files(
    policy: str, legacy: bool, tmp_path: Path
) -> None:
    plain = Job("Demo-CR-4", policy, 1, (30, 60), tests=20, legacy=legacy, goodbye="policy")
    files = []
    for job in (replace(plain, compiled=True), plain):
        assert isinstance(runner_of(job).process, CompiledProcess) is job.compiled
        folder = tmp_path / str(job.compiled)
        run_job(job, folder)
        made = job.folder(folder).iterdir()
        files.append({f.name: f.read_bytes() for f in made if f.name != "times.json"})
    with_numba, scalar = files
    assert with_numba.keys() == scalar.keys()
    assert {"test-000030.jsonl", "test-000060.jsonl", "training.jsonl"} <= with_numba.keys()
    for name, content in with_numba.items():
        assert content == scalar[name], name


def test_training_seconds_exclude_compilation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call of compiled code takes two seconds on a simulated clock."""
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
    job = Job("Demo-CR-1", "dqn", 1, (20,), tests=2, compiled=True)
    runner_of(job)  # imports modules, which is not compilation
    for name in ("advance_function", "random_function"):
        monkeypatch.setattr(compiled, name, compiling(getattr(compiled, name)))
    run_job(job, tmp_path)
    assert 0 < training_seconds(job.folder(tmp_path))[20] < 1.5


@pytest.mark.slow
def test_compiled_code_passes_the_same_tests() -> None:
    options = ["-q", "-p", "no:cacheprovider", "-m", ""]
    tests = "tests/pydial/test_vector_environment.py"
    code = f"import sys, pytest; sys.exit(pytest.main({[*options, tests]}))"
    python(code, NUMBA_DISABLE_JIT="0")


def test_runs_compile_only_on_request_and_once_for_all_processes(tmp_path: Path) -> None:
    def messages(cache: str, run: str, *options: str) -> int:
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
        environment["NUMBA_CACHE_DIR"] = str(tmp_path / cache)
        command = [sys.executable, "-m", "mwzeval", "pydial", "run", "--tasks=Demo-CR-1"]
        command += ["--policies=ppo", "--dialogues=20", "--tests=1", "--seeds=2", *options]
        command += ["--processes=2", "-o", str(tmp_path / run)]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stderr.count("numba compiles")

    assert messages("cache", "plain") == 0
    assert not (tmp_path / "cache").exists()
    assert messages("cache", "first", "--compiled") == 1
    assert messages("cache", "again", "--compiled") == 0
