"""Episodes: dialogues that a policy plays in a task, for training or as a test.

Source: Casanueva et al. (2017), section 4. An episode depends on its seed, its number and the
weights of the policy. Training and test dialogues have separate random numbers. All policies and
checkpoints are tested with the same users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mwzeval.conversation.trajectory import Record
from mwzeval.errors import UsageError, shorten
from mwzeval.pydial.acts import Act
from mwzeval.pydial.decision_process import DecisionProcess
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.goals import Goal, plain_goal
from mwzeval.pydial.policies.learner import ActionPolicy, Learner, View
from mwzeval.pydial.simulator.rng import Rng, rng_from
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.simulator.talk import SimulatedUser, hold_dialogue, keep_user_turn, turns_of
from mwzeval.pydial.simulator.view import Belief
from mwzeval.pydial.tasks import Goodbye, Task
from mwzeval.statistics.trials import trial_name

KEPT = 10
"""The number of dialogues at the start of a test whose utterances are saved."""
LARGEST_SEED = 10**18 - 1
"""The largest seed that PyTorch and the readers of episode files accept."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished dialogue, identified by a task, a seed and the number `index`.

    `trial` is the number of the dialogue if the same user has several dialogues, otherwise None. If
    the dialogue was recorded, `talk` contains its `goal` and `turns` in the format of episode
    files.
    """

    task: str
    seed: int
    index: int
    success: bool
    exchanges: int
    reward: float
    trial: int | None = None
    talk: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def item(self) -> str:
        """The name of the simulated user in this episode."""
        return item_name(self.task, self.seed, self.index)

    @property
    def outcome(self) -> tuple[bool, int, float]:
        """The outcome of the episode: success, number of turns, and total reward."""
        return self.success, self.exchanges, self.reward

    @property
    def unit(self) -> str:
        """The name of the row that contains the episode's scores."""
        return trial_name(self.item, self.trial)


def item_name(task: str, seed: int, index: int) -> str:
    """Return the name of user number `index` of a task and a seed, such as `CR-1/0/000007`."""
    return f"{task}/{seed}/{index:06d}"


def check_seeds(*seeds: int) -> None:
    """Raise `UsageError` if a seed is invalid. Seeds are nonnegative and have at most 18 digits."""
    for seed in seeds:
        if not 0 <= seed <= LARGEST_SEED:
            raise UsageError(f"a seed must be from 0 to {LARGEST_SEED}, not {shorten(str(seed))}")


class ActPolicy(Protocol):
    """The interface of policies that return dialogue acts instead of summary actions."""

    def act(self, belief: Belief, rng: Rng) -> Act:
        """Return the system act that the policy chooses for a belief."""
        ...


def rng_of(seed: int, index: int) -> Rng:
    """Return the random generator for a dialogue that does not belong to a run."""
    return rng_from(np.random.default_rng((seed, index)))


def play(
    simulation: Simulation, policy: ActPolicy, dialogues: int, seed: int, *, first: int = 0
) -> Iterator[Episode]:
    """Play dialogues, numbered from `first`; each depends only on its seed and number."""
    for index in range(first, first + dialogues):
        yield _played(simulation, policy, rng_of(seed, index), seed, index)


def _played(simulation: Simulation, policy: ActPolicy, rng: Rng, seed: int, index: int) -> Episode:
    """Play a dialogue to its end and return it."""
    record = Record() if index < KEPT else None
    user = SimulatedUser(simulation, rng, record)
    hold_dialogue(user, lambda: lambda belief: policy.act(belief, rng), record, failures=())
    success, exchanges, reward, _ = user.outcome()
    talk = _talk(simulation.goal, record)
    return Episode(simulation.task.name, seed, index, success, exchanges, reward, talk=talk)


def _talk(goal: Goal, record: Record | None) -> dict[str, Any]:
    """Return the goal and the turns of a finished dialogue, or {} without a record."""
    if record is None:
        return {}
    return {"goal": plain_goal(goal), "turns": turns_of(record.acts)}


TRAINING, TEST = 0, 1


def rng_of_phase(phase: int, seed: int, index: int) -> Rng:
    """Return the separate random generator of a training or test dialogue."""
    return rng_from(np.random.default_rng((seed, phase, index)))


class TaskRunner:
    """Plays a task with policies that observe the belief in the form named by `view`.

    With `goodbye` "user", policies cannot end dialogues in environments without masks.
    `looks_again` is an option for the legacy DQN policy (see `DecisionProcess`). With `compiled`,
    numba compiles the simulation for the view "neural"; the parts of a compiled simulation cannot
    be replaced.
    """

    def __init__(
        self,
        domain: Domain,
        task: Task,
        view: View,
        *,
        legacy: bool = False,
        confusion_seed: int = 0,
        goodbye: Goodbye = "policy",
        looks_again: bool = False,
        compiled: bool = False,
    ) -> None:
        self.view = view
        self.process = DecisionProcess(
            domain,
            task,
            legacy=legacy,
            confusion_seed=confusion_seed,
            keep_alternatives=legacy and view != "kernel",
            looks_again=looks_again,
            goodbye=goodbye,
            kernel=view == "kernel",
        )
        if compiled:
            from mwzeval.pydial.simulator.compiled import CompiledProcess

            self.process = CompiledProcess(self.process)
        self.actions = len(self.process.actions)
        self.size = len(self.process.names) if view == "neural" else self.process.kernel_size

    def for_tests(self) -> TaskRunner:
        """Return an independent runner with the same initial state."""
        other = copy(self)
        other.process = self.process.sibling()
        return other

    def train(self, policy: Learner, seed: int, index: int) -> Episode:
        """Play a training dialogue, from which the policy learns."""
        return self._play(policy, policy, TRAINING, seed, index)

    def test(self, policy: ActionPolicy, seed: int, index: int) -> Episode:
        """Play a test dialogue with a policy that chooses summary actions."""
        return self._play(policy, None, TEST, seed, index)

    def _play(
        self, policy: ActionPolicy, learner: Learner | None, phase: int, seed: int, index: int
    ) -> Episode:
        training = learner is not None
        process = self.process
        record = None if training or index >= KEPT else Record()
        rng, vector = process.start(np.random.default_rng((seed, phase, index)))
        if record is not None:
            keep_user_turn(record, process.view)
        if learner is not None:
            learner.begin()
        two_views = training and self.view == "kernel" and process.simulation.legacy
        total = 0.0
        while True:
            mask = process.mask
            action = policy.act(vector, mask, rng, training)
            # In legacy GP-SARSA, the vectors for choosing actions and for learning differ.
            learns_from = process.kernel_vector(choosing=False) if two_views else vector
            vector, reward, ended, info = process.step(action)
            total += reward
            if learner is not None:
                learner.record(learns_from, mask, action, reward)
            if record is not None:
                record.heard(str(process.view.system_act))
            if ended:
                break
            if record is not None:
                keep_user_turn(record, process.view)
        if learner is not None:
            learner.end()
        talk = {} if record is None else _talk(process.view.goal, record)
        name = process.simulation.task.name
        return Episode(name, seed, index, info["success"], info["exchange"], total, talk=talk)

    def test_act_policy(self, policy: ActPolicy, seed: int, index: int) -> Episode:
        """Play a test dialogue with a policy that returns dialogue acts."""
        rng = rng_of_phase(TEST, seed, index)
        return _played(self.process.simulation, policy, rng, seed, index)
