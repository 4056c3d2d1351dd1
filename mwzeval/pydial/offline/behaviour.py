"""Who plays the dialogues of a data set, and the dialogues as arrays.

A dialogue depends on nothing but the seed of the data set and its number. What the user and the
channel draw comes from a generator with a seed of its own, what the policy draws from another, so
that an environment that is reset with that seed goes through the same observations when the same
actions are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.files.reading import read_model
from mwzeval.pydial.dialogue.domain import Domain
from mwzeval.pydial.dialogue.rng import Rng, rng_from
from mwzeval.pydial.environments.decision_process import DecisionProcess, Mask
from mwzeval.pydial.environments.options import as_numpy
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.policies.presets import HANDCRAFTED, RANDOM
from mwzeval.pydial.runs.play import ActionPolicyAdapter, adapter_for
from mwzeval.pydial.simulator.view import Belief
from mwzeval.pydial.tasks import Goodbye, Task

MIXED = "mixed"
BEHAVIOURS = (RANDOM, HANDCRAFTED, MIXED)
USERS, POLICY = 2, 3
"""Generators are numbered apart from those of training and tests (0 and 1)."""


class HandcraftedActions(HandcraftedPolicy):
    """The handcrafted policy with summary actions: for each of its acts the action that says it.

    Where that is masked, or there is none, it takes any allowed action.
    """

    def choose(self, belief: Belief, mask: Mask, rng: Rng) -> int:
        """Return the number of an action that `mask`, shape (actions,), allows."""
        action = self.action(belief, Rng(0))  # what is drawn for the act is of no interest
        if action >= 0 and mask[action]:
            return action
        return int(rng.choose(np.flatnonzero(mask).tolist()))


Choose = Callable[[Rng], int]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A policy, or several in turns, at its place in a task.

    `policies` are names with what chooses an action in the `process`; dialogue i is of policy
    i modulo their number. `model` is a digest of the checkpoint where there is one.
    """

    name: str
    process: DecisionProcess
    policies: tuple[tuple[str, Choose], ...]
    model: str | None = None

    @property
    def goodbye(self) -> Goodbye:
        """Who ends dialogues where no mask tells when."""
        return self.process.goodbye


def behaviour_named(
    policy: str | Path, domain: Domain, task: Task, *, confusion_seed: int = 0
) -> Behaviour:
    """Return "random", "handcrafted", "mixed" or the policy in a checkpoint file, in a task.

    "mixed" is handcrafted in dialogues of even number, and random in the others. Raises
    `UsageError` for a name that is none of them, `InputError` for a file that is no checkpoint for
    this domain.
    """
    name = str(policy)
    place = adapter_for(
        RANDOM if name in BEHAVIOURS else name, domain, task, confusion_seed=confusion_seed
    )
    assert isinstance(place, ActionPolicyAdapter)
    process = place.process
    simulation = process.simulation
    if place.preset is not None:
        name, digest = place.preset.name, sha256(read_model(name)).hexdigest()
        return Behaviour(name, process, ((name, place.choose),), digest)
    at_random, by_hand = RandomPolicy(), HandcraftedActions()
    known: dict[str, Choose] = {
        HANDCRAFTED: lambda rng: by_hand.choose(simulation.belief, process.mask, rng),
        RANDOM: lambda rng: at_random.act(None, process.mask, rng),
    }
    return Behaviour(
        name, process, tuple(known.items() if name == MIXED else [(name, known[name])])
    )


@dataclass(frozen=True, slots=True)
class Recording:
    """A dialogue of n exchanges as arrays: what a Gymnasium environment tells, in its terms.

    `seed` is what an environment is reset with. `observations` has shape (n + 1, size), the last
    all zeros; `actions` and `rewards` have shape (n,). Each array of `infos` has n + 1 rows.
    """

    seed: int
    policy: str
    observations: NDArray[np.float32]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    infos: dict[str, NDArray[Any]]


def recordings(behaviour: Behaviour, seed: int, dialogues: int) -> Iterator[Recording]:
    """Yield the dialogues of a data set, numbered from 0 on."""
    for index in range(dialogues):
        policy, choose = behaviour.policies[index % len(behaviour.policies)]
        yield _recorded(behaviour.process, policy, choose, seed, index)


def user_seed(seed: int, index: int) -> int:
    """Return the seed of all that is drawn in a dialogue, but by the policy: below 2**63."""
    words = np.random.SeedSequence((seed, USERS, index)).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))


def _recorded(
    process: DecisionProcess, policy: str, choose: Choose, seed: int, index: int
) -> Recording:
    drawn = user_seed(seed, index)
    rng = rng_from(np.random.default_rng((seed, POLICY, index)))
    process.simulation.forget()
    _, info = process.begin(rng_from(np.random.default_rng(drawn)))
    observations, infos = [process.neural_vector()], [as_numpy(info)]
    actions, rewards, ended = [], [], False
    while not ended:
        actions.append(choose(rng))
        _, reward, ended, info = process.step(actions[-1])
        seen = np.zeros_like(observations[0]) if ended else process.neural_vector()
        observations.append(seen)
        rewards.append(reward)
        infos.append(as_numpy(info))
    return Recording(
        drawn,
        policy,
        np.stack(observations),
        np.array(actions, dtype=np.int64),
        np.array(rewards),
        {key: np.stack([each[key] for each in infos]) for key in infos[0]},
    )
