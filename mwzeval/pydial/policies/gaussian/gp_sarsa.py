"""GP-SARSA: Q as a Gaussian process over beliefs; its uncertainty is what explores.

Source: Casanueva et al. (2017); Gašić and Young (2014). NumPy only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.actions import Mask
from mwzeval.pydial.policies.gaussian.gp_temporal_difference import SparseTemporalDifference
from mwzeval.pydial.policies.learner import Arrays, State, View


@dataclass(frozen=True, slots=True)
class GPSarsaSettings:
    """Hyperparameters; the defaults are those of the published program."""

    discount: float = 1.0
    """γ; the paper says 0.99, its program used 1."""
    noise: float = 5.0
    """Standard deviation σ of returns."""
    threshold: float = 0.001
    """ν: how far a pair must be from its projection on the dictionary to enter it."""
    training_scale: float = 3.0
    """Q is drawn from a normal distribution of so many times its standard deviation…"""
    test_scale: float = 1.0
    """… and of so many times in tests; 0 takes the mean."""


PAPER = GPSarsaSettings()


class GPSarsa:
    """The policy. All of the reward is given in the last exchange, as the return."""

    view: ClassVar[View] = "kernel"

    def __init__(
        self, size: int, actions: int, *, settings: GPSarsaSettings = PAPER, seed: int = 0
    ) -> None:
        self.settings = settings
        self.process = SparseTemporalDifference(
            size,
            actions,
            discount=settings.discount,
            noise=settings.noise,
            threshold=settings.threshold,
        )
        self.begin()

    def begin(self) -> None:
        """Start a dialogue to learn from."""
        self._beliefs: list[State] = []
        self._actions: list[int] = []
        self._return = 0.0

    def act(self, state: State, mask: Mask, rng: Rng, training: bool = False) -> int:
        """Return the allowed action with the highest drawn Q.

        `state` has shape (size,), `mask` (actions,); in `training` Q varies more.
        """
        scale = self.settings.training_scale if training else self.settings.test_scale
        best, highest = -1, -np.inf
        for action in np.flatnonzero(mask).tolist():
            mean, variance = self.process.predict(state, action)
            value = rng.gauss(mean, scale * variance**0.5) if scale else mean
            if value > highest:
                best, highest = action, value
        return best

    def record(self, state: State, mask: Mask, action: int, reward: float) -> None:
        """Keep an exchange."""
        self._beliefs.append(np.asarray(state, dtype=np.float64))
        self._actions.append(action)
        self._return += reward

    def end(self) -> None:
        """Learn from the dialogue."""
        rewards = [0.0] * len(self._actions)
        if rewards:
            rewards[-1] = self._return
        self.process.learn(self._beliefs, self._actions, rewards)
        self.begin()

    def weights(self) -> Arrays:
        """Return the points of the dictionary and the statistics that predictions need."""
        points, owners = self.process.points
        means, squares = self.process.means, self.process.squares()
        return {"points": points, "owners": owners, "means": means, "squares": squares}

    def load(self, arrays: Arrays) -> None:
        """Replace the dictionary and its statistics. Raises `ValueError` for other shapes."""
        self.process.restore(**arrays)
        self.begin()
