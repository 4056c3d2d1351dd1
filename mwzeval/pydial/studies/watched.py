"""What a system knows in each exchange of its dialogues, and whether they succeed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.acts import Act
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.actions import Mask
from mwzeval.pydial.environments.decision_process import DecisionProcess
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.policies.learner import ActionPolicy, State
from mwzeval.pydial.policies.presets import HANDCRAFTED
from mwzeval.pydial.runs.checkpoints import diverging
from mwzeval.pydial.runs.episodes import ActPolicy
from mwzeval.pydial.runs.job import Job, runner_of
from mwzeval.pydial.studies.transfer import OTHERS, learned_policy
from mwzeval.pydial.workers.threads import single_threaded


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """Exchanges of dialogues, in order.

    `states` are neural vectors, shape (exchanges, size), which have the belief and whether an
    offer was made; `exchanges` the number of each, from 1; `lengths` those of the dialogues, and
    `successes`, shape (dialogues,), whether they succeeded. `values` are what the policy's critic
    expects, None where it has none.
    """

    states: NDArray[np.float32]
    exchanges: NDArray[np.float64]
    lengths: tuple[int, ...]
    successes: NDArray[np.float64]
    values: NDArray[np.float64] | None = None

    @property
    def features(self) -> NDArray[np.float64]:
        """What is known in each exchange, shape (exchanges, size + 1)."""
        return np.column_stack([self.states, self.exchanges / 25.0])

    @property
    def outcomes(self) -> NDArray[np.float64]:
        """Whether the dialogue of each exchange succeeds, shape (exchanges,)."""
        return np.repeat(self.successes, self.lengths)


class _Watching:
    """A policy whose states are noted."""

    def __init__(self, policy: Any, process: DecisionProcess) -> None:
        self._policy, self._process = policy, process
        self.states: list[NDArray[np.float32]] = []

    def note(self) -> None:
        process = self._process
        vector = process.neural(process.simulation.belief, process.summary)
        self.states.append(np.array(vector, dtype=np.float32))


class _WatchingActions(_Watching):
    def act(self, state: State, mask: Mask, rng: Rng, training: bool = False) -> int:
        self.note()
        policy: ActionPolicy = self._policy
        return policy.act(state, mask, rng, training)


class _WatchingActs(_Watching):
    def act(self, belief: Belief, rng: Rng) -> Act:
        self._process.observed()
        self.note()
        policy: ActPolicy = self._policy
        return policy.act(belief, rng)


def watched(job: Job, output: str | Path, dialogues: Sequence[int]) -> Watched:
    """Return what the policy of a job, after its last checkpoint, knows in dialogues.

    They are the test dialogues of these numbers. Raises `InputError` for a damaged model,
    `DataError` for the files of a domain and `DependencyError` without PyTorch.
    """
    runner = runner_of(job, compiled=False)
    process = runner.process
    task = process.simulation.task
    states: list[NDArray[np.float32]] = []
    lengths: list[int] = []
    successes: list[bool] = []
    policy: Any
    model = job.model_file(output, job.tested_at[-1])
    with single_threaded(job.preset), diverging(model, OTHERS):
        if job.policy == HANDCRAFTED:
            most = task.max_informed_slots
            policy = HandcraftedPolicy(
                process.simulation.domain, legacy=job.legacy, most_informed=most
            )
        else:
            learns = job.preset.learns
            policy = learned_policy(job, runner, output) if learns else RandomPolicy()
        for index in dialogues:
            if job.policy == HANDCRAFTED:
                acts = _WatchingActs(policy, process)
                episode = runner.test_act_policy(acts, job.seed, index)
                noted = acts.states
            else:
                actions = _WatchingActions(policy, process)
                episode = runner.test(actions, job.seed, index)
                noted = actions.states
            if noted:
                states += noted
                lengths.append(len(noted))
                successes.append(episode.success)
        together = np.stack(states)
        has_critic = hasattr(policy, "values")
        return Watched(
            together,
            np.concatenate([np.arange(1.0, length + 1) for length in lengths]),
            tuple(lengths),
            np.array(successes, dtype=np.float64),
            policy.values(together, lengths) if has_critic else None,
        )
