"""Decision problems so small that what is best in them is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.policies.learner import Learner
from mwzeval.pydial.simulator.rng import Rng


class Corridor:
    """Ask for each of two things, then say goodbye: 20 for that, and -1 an exchange.

    Saying goodbye too soon brings nothing; asking twice is masked. The best return is 17.
    """

    size, actions = 4, 3

    def __init__(self) -> None:
        self.asked = [False, False]

    @property
    def state(self) -> NDArray[np.float32]:
        return np.array([*self.asked, *(not a for a in self.asked)], dtype=np.float32)

    @property
    def mask(self) -> NDArray[np.bool_]:
        return np.array([not self.asked[0], not self.asked[1], True])

    def step(self, action: int) -> tuple[float, bool]:
        if action < 2:
            self.asked[action] = True
            return -1.0, False
        return (19.0 if all(self.asked) else -1.0), True


def play(policy: Learner, rng: Rng, *, training: bool) -> float:
    """Play an episode and return what it brought; masked actions are an error."""
    world, total, ended = Corridor(), 0.0, False
    if training:
        policy.begin()
    while not ended:
        state, mask = world.state, world.mask
        action = policy.act(state, mask, rng, training)
        assert mask[action]
        reward, ended = world.step(action)
        total += reward
        if training:
            policy.record(state, mask, action, reward)
    if training:
        policy.end()
    return total


def mean_return(policy: Learner, episodes: int = 50) -> float:
    """Return what a policy gets in tests."""
    return float(np.mean([play(policy, Rng(index), training=False) for index in range(episodes)]))
