"""Policies in the tasks of the embedded domains: that they learn, and what they may say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mwzeval.errors import UsageError
from mwzeval.pydial.decision_process import Mask
from mwzeval.pydial.episode_files import read_episodes
from mwzeval.pydial.episodes import TaskRunner
from mwzeval.pydial.job import Job, run_job, runner_of
from mwzeval.pydial.policies.handcrafted import RandomPolicy
from mwzeval.pydial.policies.learner import State
from mwzeval.pydial.policies.presets import PRESETS, preset_named
from mwzeval.pydial.run import planned
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.tasks import GOODBYES, Goodbye


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
    """A random policy that notes what it may do."""

    view = "neural"

    def __init__(self) -> None:
        self.masks: list[Mask] = []
        self.recorded: list[tuple[State, Mask, int, float]] = []

    def act(self, state: State, mask: Mask, rng: Rng, training: bool = False) -> int:
        self.masks.append(mask)
        return super().act(state, mask, rng, training)

    def begin(self) -> None:
        pass

    def record(self, state: State, mask: Mask, action: int, reward: float) -> None:
        self.recorded.append((state, mask, action, reward))

    def end(self) -> None:
        pass


def runner(task: str, goodbye: Goodbye = "policy") -> TaskRunner:
    whole = runner_of(Job(task, "dqn", 0, (1,)))
    simulation = whole.process.simulation
    return TaskRunner(simulation.domain, simulation.task, "neural", goodbye=goodbye)


@pytest.mark.parametrize("goodbye", GOODBYES)
@pytest.mark.parametrize(("task", "masked"), [("Demo-CR-2", False), ("Demo-CR-1", True)])
def test_a_policy_may_leave_goodbyes_to_the_user(task: str, masked: bool, goodbye: Goodbye) -> None:
    of_task = runner(task, goodbye)
    bye = of_task.process.actions.index("bye")
    witness = Witness()
    for index in range(5):
        of_task.test(witness, 0, index)
    allowed = {bool(mask[bye]) for mask in witness.masks}
    # Where a mask tells when, it is as before: once the user has said it.
    assert allowed == ({False, True} if masked else {goodbye == "policy"})


@pytest.mark.parametrize(
    ("legacy", "said", "who"),
    [
        (False, None, "user"),
        (True, None, "policy"),
        (False, "policy", "policy"),
        (True, "user", "user"),
    ],
)
@pytest.mark.parametrize("policy", ["dqn", "gp-sarsa"])
def test_who_says_goodbye_can_be_chosen(
    policy: str, legacy: bool, said: Goodbye | None, who: Goodbye
) -> None:
    (job,) = planned(["Demo-CR-2"], [policy], seeds=1, legacy=legacy, goodbye=said)
    assert job.origin.settings["goodbye"] == who
    of_task, witness = runner_of(job), Witness()
    of_task.test(witness, 0, 0)
    assert bool(witness.masks[0][of_task.process.actions.index("bye")]) is (who == "policy")


def test_nobody_else_says_goodbye() -> None:
    with pytest.raises(UsageError, match='"nobody"'):
        planned(["Demo-CR-2"], ["dqn"], goodbye="nobody")


@pytest.mark.parametrize(
    ("policy", "legacy", "again"),
    [("dqn", True, True), ("dqn", False, False), ("a2c", True, False), ("gp-sarsa", True, False)],
)
def test_legacy_dqn_alone_looks_at_masks_twice(policy: str, legacy: bool, again: bool) -> None:
    of_task = runner_of(Job("Demo-CR-1", policy, 0, (1,), legacy=legacy))
    assert of_task.process.simulation.switches.looks_again is again


def test_a_policy_records_each_exchange_with_its_reward() -> None:
    of_task, witness = runner("Demo-CR-1"), Witness()
    episode = of_task.train(witness, 0, 3)  # type: ignore[arg-type]
    rewards = [reward for *_, reward in witness.recorded]
    assert len(rewards) == episode.exchanges
    assert sum(rewards) == episode.reward == 20 * episode.success - episode.exchanges
    assert set(rewards[:-1]) <= {-1.0}
    for state, mask, action, _ in witness.recorded:
        assert state.shape == (of_task.size,)
        assert mask[action]


def test_tests_leave_no_trace_in_training() -> None:
    with_tests, without = runner("Demo-CR-3"), runner("Demo-CR-3")
    for index in range(4):
        testing = with_tests.for_tests()
        testing.test(Witness(), 9, index)
        assert with_tests.train(Witness(), 1, index) == without.train(Witness(), 1, index)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if not preset.learns])
def test_what_does_not_learn_is_no_learner(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        preset_named(name).learner(3, 2, seed=0)
