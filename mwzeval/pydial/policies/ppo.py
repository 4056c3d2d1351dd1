"""PPO with action masks, a recent algorithm for comparison with the policies of the paper.

Source: Schulman et al., "Proximal Policy Optimization Algorithms", 2017; Huang and Ontañón, "A
Closer Look at Invalid Action Masking in Policy Gradient Algorithms", 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.decision_process import Mask
from mwzeval.pydial.policies.neural import (
    Exchange,
    NeuralPolicy,
    adam,
    allowed_logits,
    discounted,
    drawn,
    layers,
    seeded,
    stacked,
)
from mwzeval.pydial.simulator.rng import Rng

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class PPOSettings:
    """The hyperparameters of PPO."""

    hidden: tuple[int, ...] = (128, 64)
    """Sizes of the hidden layers of actor and critic (each has its own layers)."""
    discount: float = 0.99
    trace: float = 0.95
    """λ of generalized advantage estimation (Schulman et al., 2016)."""
    learning_rate: float = 0.001
    every: int = 16
    """Number of dialogues between updates."""
    epochs: int = 8
    """Number of passes over these dialogues per update."""
    batch: int = 64
    """Number of turns per batch."""
    clip: float = 0.2
    """Limit for the change of an action's probability ratio in one update."""
    value_weight: float = 0.5
    entropy_weight: float = 0.01
    most_gradient: float = 0.5
    """Limit for the norm of the gradient."""


MODERN = PPOSettings()


class PPO(NeuralPolicy):
    """The PPO policy, which samples its actions."""

    settings: PPOSettings

    def __init__(
        self, size: int, actions: int, *, settings: PPOSettings = MODERN, seed: int = 0
    ) -> None:
        super().__init__(size, actions, settings, seed)
        sizes, generator = (size, *settings.hidden), seeded(seed)
        self.network: nn.ModuleDict = self.torch.nn.ModuleDict(
            {
                name: layers((*sizes, end), generator, activation="Tanh", deviation=None)
                for name, end in (("policy", actions), ("value", 1))
            }
        )
        self.optimizer = adam(self.network.parameters(), settings.learning_rate)
        self.waiting: list[tuple[Exchange, ...]] = []

    def _choice(self, scores: NDArray[np.float32], mask: Mask, rng: Rng, training: bool) -> int:
        return drawn(scores, mask, rng)

    def _scores(self, state: Any) -> Any:
        return self.network["policy"](state)

    def _values(self, states: Tensor) -> Tensor:
        """Return the critic's values of states, shape (states,)."""
        values: Tensor = self.network["value"](states)[:, 0]
        return values

    def _learn(self, dialogue: Sequence[Exchange]) -> None:
        self.waiting.append(tuple(dialogue))
        if len(self.waiting) >= self.settings.every:
            self._update(self.waiting)
            self.waiting = []

    def _update(self, dialogues: Sequence[Sequence[Exchange]]) -> None:
        settings, torch = self.settings, self.torch
        states, masks, actions = stacked([e for dialogue in dialogues for e in dialogue])
        with torch.no_grad():
            logits, values = self._scores(states), self._values(states)
            before = logs_of(logits, masks, actions)[0]
        ends = np.cumsum([len(dialogue) for dialogue in dialogues])
        parts = np.split(values.double().numpy(), ends[:-1])
        gains = np.concatenate(
            [
                advantages(d, v, settings.discount, settings.trace)
                for d, v in zip(dialogues, parts, strict=True)
            ]
        )
        returns = torch.from_numpy(gains.astype(np.float32)) + values
        gains = (gains - gains.mean()) / (gains.std() + 1e-8)
        advantage = torch.from_numpy(gains.astype(np.float32))
        for _ in range(settings.epochs):
            order = torch.from_numpy(self.generator.permutation(len(actions)))
            for part in order.split(settings.batch):
                logits, values = self._scores(states[part]), self._values(states[part])
                logs, entropy = logs_of(logits, masks[part], actions[part])
                ratio = (logs - before[part]).exp()
                held = ratio.clamp(1 - settings.clip, 1 + settings.clip)
                gain = torch.minimum(ratio * advantage[part], held * advantage[part])
                missed = (values - returns[part]) ** 2
                loss = (
                    -gain + settings.value_weight * missed - settings.entropy_weight * entropy
                ).mean()
                self.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.network.parameters(), settings.most_gradient)
                self.optimizer.step()
                if self.losses is not None:
                    self.losses(
                        loss=loss.detach(),
                        policy_loss=-gain.detach().mean(),
                        value_loss=missed.detach().mean(),
                        entropy=entropy.detach().mean(),
                    )


def logs_of(logits: Tensor, masks: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """Return log-probabilities of actions and entropies, each of shape (n,).

    `logits` and `masks` have shape (n, actions); `actions` has shape (n,).
    """
    logs = allowed_logits(logits, masks).log_softmax(1)
    entropy = -(logs.exp() * logs).sum(1)
    return logs.gather(1, actions[:, None])[:, 0], entropy


def advantages(
    dialogue: Sequence[Exchange], values: NDArray[np.float64], discount: float, trace: float
) -> NDArray[np.float64]:
    """Return the generalized advantage of each action, shape (turns,).

    `values` are the critic's values of the states, shape (turns,); `discount` is γ, and `trace` is
    λ.
    """
    rewards = np.array([exchange.reward for exchange in dialogue])
    following = np.append(values[1:], 0.0)
    return discounted(rewards + discount * following - values, discount * trace)
