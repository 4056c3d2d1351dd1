"""Tests of agents of one's own, held against those that a run has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.cli import main
from mwzeval.errors import UsageError
from mwzeval.pydial.agents import play_tests
from mwzeval.pydial.checkpoints import read_checkpoint
from mwzeval.pydial.job import Job
from mwzeval.pydial.run import run
from mwzeval.pydial.simulator.rng import Rng
from tests.pydial.small_domain import CAFES


@pytest.mark.integration
def test_they_are_the_tests_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    task = "Demo-CR-4"  # with errors, and without masks: users say goodbye
    run([task], ["dqn"], tmp_path, dialogues=[5], seeds=1, tests=6, processes=0)
    job = Job(task, "dqn", 0, (5,), tests=6)
    policy = job.preset.learner(268, 16, seed=0, legacy=False)
    policy.load(read_checkpoint(job.model_file(tmp_path, 5), job.origin)[1])

    def agent(observation: Any, mask: Any) -> Any:
        return np.int64(policy.act(observation, mask, Rng(0)))

    file = tmp_path / "folder" / "mine.jsonl"
    episodes = play_tests(agent, task, seed=0, dialogues=6, file=file, policy="mine")
    meta, *lines = file.read_text("utf-8").splitlines()
    first, *theirs = job.test_file(tmp_path, 5).read_text("utf-8").splitlines()
    assert lines == theirs
    said = {"task": task, "seed": 0, "legacy": False, "policy": "mine"}
    assert json.loads(meta) == {"_meta": {**json.loads(first)["_meta"], **said}}
    assert [(each.task, each.seed, each.index) for each in episodes] == [
        (task, 0, index) for index in range(6)
    ]
    test = str(job.test_file(tmp_path, 5))
    assert main(["compare", "--benchmark", "pydial", test, str(file)]) == 0
    assert f"tasks:{task}|environment:clean" in capsys.readouterr().out


def test_in_the_folder_of_a_run_and_in_a_domain_of_ones_own(tmp_path: Path) -> None:
    def agent(observation: Any, mask: Any) -> Any:
        return mask.argmax()

    file = tmp_path / "Demo-CR-3" / "first" / "seed-2" / "test-000000.jsonl"
    play_tests(agent, "Demo-CR-3", seed=2, dialogues=2, file=file, policy="first")
    assert main(["evaluate", "--benchmark", "pydial", str(file.parent.parent)]) == 0
    (episode,) = play_tests(agent, "CR-1", dialogues=1, domain=CAFES)
    assert episode.task == "Own-Cafes-1"


def test_what_is_senseless_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tests.jsonl"
    for action, how, told in (
        *((action, {}, "action") for action in (99, None, "x", "1", np.nan, np.array([1]), 1.7)),
        *((0, {"seed": seed}, "seed") for seed in (-1, "a", 0.0)),
        *((0, {"dialogues": dialogues}, "dialogue") for dialogues in (0, "x", 2.5)),
        *((0, {"legacy": legacy}, "legacy") for legacy in ("x", "no", 1)),
        (0, {"goodbye": "nobody"}, "goodbye"),
    ):

        def agent(observation: Any, mask: Any, action: Any = action) -> Any:
            return action

        with pytest.raises(UsageError, match=told):
            play_tests(agent, "Demo-CR-1", file=file, **how)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="Demo-CR-1"):
        play_tests(lambda observation, mask: 0, "Demo-CR-11")
    assert not file.exists()
