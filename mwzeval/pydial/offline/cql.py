"""Discrete CQL: conservative Q-learning, a double DQN that keeps near to what was done.

Source: Kumar, Zhou, Tucker and Levine, "Conservative Q-Learning for Offline Reinforcement
Learning", NeurIPS 2020, equation 4: CQL(H). Only allowed actions count, now and in the next
exchange.

A data set is small, and is gone through many times: without dropout (Srivastava et al., 2014) Q
soon follows its noise, and takes an action again and again that helps in no exchange.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mwzeval.pydial.offline.offline_learning import OfflinePolicy
from mwzeval.pydial.policies.learner import Arrays, Layout, layouts_of
from mwzeval.pydial.policies.neural import allowed_logits, layers, packed, unpack


@dataclass(frozen=True, slots=True)
class CQLSettings:
    """Hyperparameters."""

    hidden: tuple[int, ...] = (300, 100)
    """Sizes of the hidden layers: those of DQN."""
    learning_rate: float = 0.001
    batch: int = 64
    """Exchanges of a gradient step."""
    updates: int = 4000
    """Gradient steps."""
    dropout: float = 0.3
    """The share of hidden units left out at random, where the network is what is learned."""
    discount: float = 0.99
    target_rate: float = 0.02
    """τ: how far the target network follows with every step."""
    alpha: float = 0.1
    """How much it counts that Q is high for what was not done; 0: double DQN."""


DEFAULT = CQLSettings()


class CQL(OfflinePolicy):
    """The policy; it takes the action of the highest Q."""

    def __init__(
        self, size: int, actions: int, *, settings: CQLSettings = DEFAULT, seed: int = 0
    ) -> None:
        super().__init__(size, actions, settings=settings, seed=seed)
        self.settings = settings
        sizes = (size, *settings.hidden, actions)
        self.target = layers(sizes, self.initial, deviation=None)
        self.target.load_state_dict(self.network.state_dict())

    def loss(self, batch: dict[str, Any]) -> Any:
        """Return α (log Σ exp Q - Q of what was done) + ½ (temporal difference)², a mean."""
        torch, settings = self.torch, self.settings
        with torch.no_grad():
            best = allowed_logits(self.network(batch["next_state"]), batch["next_mask"]).argmax(1)
            following = self.target(batch["next_state"]).gather(1, best[:, None])[:, 0]
            goal = batch["reward"] + settings.discount * batch["goes_on"] * following
        values = self._with_dropout(batch["state"])
        done = values.gather(1, batch["action"][:, None])[:, 0]
        gap = allowed_logits(values, batch["mask"]).logsumexp(1) - done
        return settings.alpha * gap.mean() + 0.5 * ((done - goal) ** 2).mean()

    def _with_dropout(self, values: Any) -> Any:
        rate = self.settings.dropout
        for layer in self.network:
            values = layer(values)
            if rate and not isinstance(layer, self.torch.nn.Linear):
                kept = self.generator.random(tuple(values.shape), dtype=np.float32) >= rate
                values = values * self.torch.from_numpy(kept) / (1 - rate)
        return values

    def _stepped(self) -> None:
        with self.torch.no_grad():
            for mine, online in zip(
                self.target.parameters(), self.network.parameters(), strict=True
            ):
                mine.lerp_(online, self.settings.target_rate)

    def _pack(self) -> Arrays:
        return {**super()._pack(), **packed("target", self.target)}

    def _layouts(self, arrays: Arrays) -> dict[str, Layout]:
        return {**super()._layouts(arrays), **layouts_of(packed("target", self.target))}

    def _unpack(self, arrays: Arrays) -> None:
        super()._unpack(arrays)
        unpack("target", self.target, arrays)
