"""Jobs whose dialogues compiled code plays: the same training and tests, bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from mwzeval.pydial.batched.task_runner import CompiledTaskRunner
from mwzeval.pydial.runs import job as jobs
from mwzeval.pydial.runs.episodes import TaskRunner
from mwzeval.pydial.runs.job import Job, run_job, runner_of

pytest.importorskip("torch")
CLEAN = [("dqn", False), ("enac", False), ("a2c-modern", False), ("ppo", False)]
KINDS = [*CLEAN, ("dqn", True), ("a2c", True), ("ppo-recurrent", False)]


@pytest.mark.parametrize(("policy", "legacy"), KINDS)
@pytest.mark.exhaustive(but=3)
def test_a_job_has_the_same_files_with_and_without_compiled_code(
    policy: str, legacy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job("Demo-CR-4", policy, 1, (30, 60), tests=20, legacy=legacy, goodbye="policy")
    files = []
    for worth, kind in ((job.work, CompiledTaskRunner), (job.work + 1, TaskRunner)):
        monkeypatch.setattr(jobs, "WORTH_COMPILING", worth)
        assert type(runner_of(job)) is kind
        folder = tmp_path / kind.__name__
        # It stops after the first test, and goes on.
        run_job(Job(job.task, policy, 1, (30,), 20, legacy, None, "policy"), folder)
        run_job(job, folder)
        made = job.folder(folder).iterdir()
        files.append({f.name: f.read_bytes() for f in made if f.name != "times.json"})
    compiled, scalar = files
    assert compiled.keys() == scalar.keys()
    assert {"test-000030.jsonl", "test-000060.jsonl", "progress.npz"} <= compiled.keys()
    for name, content in compiled.items():
        assert content == scalar[name], name
