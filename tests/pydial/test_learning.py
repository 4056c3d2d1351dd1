"""Learning and allowed actions of policies and agents in the embedded domains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.errors import UsageError
from mwzeval.pydial.agents import play_tests
from mwzeval.pydial.decision_process import Mask
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.episode_files import read_episodes
from mwzeval.pydial.episodes import TaskRunner
from mwzeval.pydial.job import Job, runner_of
from mwzeval.pydial.policies import State
from mwzeval.pydial.policies.handcrafted import RandomPolicy
from mwzeval.pydial.policies.presets import read_checkpoint
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tasks import GOODBYES, TASKS, Goodbye
from tests.command_lines import Run
from tests.pydial.runs import PYDIAL, TASK, handcrafted_episodes, run_job, small_run
from tests.pydial.small_domain import CAFES


@pytest.mark.parametrize(
    ("policy", "dialogues", "success"),
    [
        ("gp-sarsa", 150, 80.0),
        ("dqn", 450, 75.0),
        ("a2c", 450, 60.0),
        ("enac", 300, 60.0),
        ("ppo", 300, 80.0),
    ],
)
@pytest.mark.integration
def test_a_policy_learns_the_smallest_embedded_task(
    policy: str, dialogues: int, success: float, tmp_path: Path
) -> None:
    if policy != "gp-sarsa":
        pytest.importorskip("torch").set_num_threads(1)
    job = Job("Demo-CR-1", policy, 1, (dialogues,), tests=60)
    run_job(job, tmp_path)
    episodes = read_episodes(job.test_file(tmp_path, dialogues), job.task, job.seed)
    assert 100 * np.mean([episode.success for episode in episodes]) >= success


class Witness(RandomPolicy):
    """A random policy that records its training data."""

    def __init__(self) -> None:
        self.recorded: list[tuple[State, Mask, int, float]] = []

    def begin(self) -> None:
        pass

    def record(self, state: State, mask: Mask, action: int, reward: float) -> None:
        self.recorded.append((state, mask, action, reward))

    def end(self) -> None:
        pass


def runner(task: str) -> TaskRunner:
    return TaskRunner(load_domain(TASKS[task].domain), TASKS[task], "neural")


def test_training_records_each_exchange_with_its_reward() -> None:
    of_task, witness = runner("Demo-CR-1"), Witness()
    episode = of_task.train(witness, 0, 3)  # type: ignore[arg-type]
    rewards = [reward for *_, reward in witness.recorded]
    assert len(rewards) == episode.exchanges
    assert sum(rewards) == episode.reward == 20 * episode.success - episode.exchanges
    assert set(rewards[:-1]) <= {-1.0}
    for state, mask, action, _ in witness.recorded:
        assert state.shape == (of_task.size,)
        assert mask[action]


def test_test_dialogues_do_not_affect_training() -> None:
    with_tests, without = runner(TASK), runner(TASK)
    for index in range(4):
        with with_tests.testing():
            with_tests.test(RandomPolicy(), 9, index)
        assert with_tests.train(Witness(), 1, index) == without.train(Witness(), 1, index)  # type: ignore[arg-type]


def test_dialogues_do_not_depend_on_earlier_dialogues() -> None:
    domain, task = load_domain("Demo-CR"), TASKS[TASK]
    whole = handcrafted_episodes(Simulation(domain, task), range(12), 5)
    assert whole[8:] == handcrafted_episodes(Simulation(domain, task), range(8, 12), 5)
    assert [episode.index for episode in whole] == list(range(12))
    assert all(e.reward == 20 * e.success - e.exchanges for e in whole)
    assert whole != handcrafted_episodes(Simulation(domain, task), range(12), 6)


@pytest.mark.parametrize("goodbye", GOODBYES)
def test_bye_is_masked_in_some_exchanges_and_allowed_in_others(goodbye: Goodbye) -> None:
    allowed = set()
    bye = runner("Demo-CR-1").process.actions.index("bye")

    def agent(observation: Any, mask: Any) -> Any:
        allowed.add(bool(mask[bye]))
        return mask.nonzero()[0][-1]

    play_tests(agent, "Demo-CR-1", dialogues=5, goodbye=goodbye)
    assert allowed == {False, True}


@pytest.mark.parametrize(
    ("policy", "legacy", "again"),
    [("dqn", True, True), ("dqn", False, False), ("a2c", True, False), ("gp-sarsa", True, False)],
)
def test_only_legacy_dqn_checks_masks_twice(policy: str, legacy: bool, again: bool) -> None:
    of_task = runner_of(Job("Demo-CR-1", policy, 0, (1,), legacy=legacy))
    assert of_task.process.simulation.switches.looks_again is again


@pytest.mark.integration
def test_agent_tests_match_the_tests_of_a_run(tmp_path: Path, run: Run) -> None:
    pytest.importorskip("torch")
    task = "Demo-CR-4"  # has errors and no masks, so users may say goodbye
    (job,) = small_run(tmp_path, "dqn", task, dialogues=[5], tests=6)
    policy = job.preset.learner(268, 16, seed=0, legacy=False)
    policy.load(read_checkpoint(job.model_file(tmp_path, 5), job.origin)[1])

    def agent(observation: Any, mask: Any) -> Any:
        return np.int64(policy.act(observation, mask, Rng(0)))

    file = tmp_path / "folder" / "mine.jsonl"
    episodes = play_tests(agent, task, seed=0, dialogues=6, file=file, policy="mine")
    test = job.test_file(tmp_path, 5)
    meta, *lines = file.read_text("utf-8").splitlines()
    first, *theirs = test.read_text("utf-8").splitlines()
    assert lines == theirs
    assert json.loads(meta)["_meta"] == json.loads(first)["_meta"] | {"policy": "mine"}
    assert [episode.unit for episode in episodes] == [f"{task}/0/{index:06d}" for index in range(6)]
    shown = run("compare", *PYDIAL, str(test), str(file))
    assert f"tasks:{task}|environment:clean" in shown.out


def test_agent_tests_work_in_run_folders_and_custom_domains(tmp_path: Path, run: Run) -> None:
    def agent(observation: Any, mask: Any) -> Any:
        return mask.argmax()

    file = tmp_path / TASK / "first" / "seed-2" / "test-000000.jsonl"
    play_tests(agent, TASK, seed=2, dialogues=2, file=file, policy="first")
    assert run("evaluate", *PYDIAL, str(file.parent.parent), "-o", "-").code == 0
    (episode,) = play_tests(agent, "CR-1", dialogues=1, domain=CAFES)
    assert episode.task == "Own-Cafes-1"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        *(({"action": action}, "action") for action in (99, None, "x", np.nan, [1], 1.7)),
        *(({"seed": seed}, "seed") for seed in (-1, "a", 0.0)),
        *(({"dialogues": dialogues}, "dialogue") for dialogues in (0, "x", 2.5)),
        *(({"legacy": legacy}, "legacy") for legacy in ("x", 1)),
        ({"goodbye": "nobody"}, "goodbye"),
        ({"task": "Demo-CR-11"}, "Demo-CR-1"),
    ],
)
def test_invalid_arguments_are_refused(wrong: dict[str, Any], told: str, tmp_path: Path) -> None:
    file = tmp_path / "tests.jsonl"
    options = {"task": "Demo-CR-1", "file": file, **wrong}
    action = options.pop("action", 0)
    with pytest.raises(UsageError, match=told):
        play_tests(lambda observation, mask: action, **options)
    assert not file.exists()
