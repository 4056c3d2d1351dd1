"""Behaviour cloning: what was done becomes likely, among the actions that were allowed.

Source: Pomerleau, "ALVINN: An Autonomous Land Vehicle in a Neural Network", 1989.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mwzeval.pydial.offline.offline_learning import OfflinePolicy
from mwzeval.pydial.policies.neural import allowed_logits


@dataclass(frozen=True, slots=True)
class BCSettings:
    """Hyperparameters."""

    hidden: tuple[int, ...] = (300, 100)
    """Sizes of the hidden layers: those of DQN."""
    learning_rate: float = 0.001
    batch: int = 64
    """Exchanges of a gradient step."""
    updates: int = 4000
    """Gradient steps."""


DEFAULT = BCSettings()


class BC(OfflinePolicy):
    """The policy; it takes the likeliest action."""

    def __init__(
        self, size: int, actions: int, *, settings: BCSettings = DEFAULT, seed: int = 0
    ) -> None:
        super().__init__(size, actions, settings=settings, seed=seed)

    def loss(self, batch: dict[str, Any]) -> Any:
        """Return the mean cross-entropy of what was done, given what was allowed."""
        logits = allowed_logits(self.network(batch["state"]), batch["mask"])
        return self.torch.nn.functional.cross_entropy(logits, batch["action"])
