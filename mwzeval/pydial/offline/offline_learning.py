"""What policies have in common that learn from dialogues of others, without playing any.

They watch dialogues as every policy that learns does (`begin`, `record`, `end`), which only keeps
them. `fit` then learns from all that were kept, in as many gradient steps as the settings say.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.policies.kept import (
    dialogue_layouts,
    packed_dialogues,
    unpacked_dialogues,
)
from mwzeval.pydial.policies.learner import Arrays, Exchange, Exploration, Layout
from mwzeval.pydial.policies.neural import (
    NeuralPolicy,
    adam,
    layers,
    optimizer_layouts,
    packed,
    packed_optimizer,
    seeded,
    unpack,
    unpack_optimizer,
)

NEVER = Exploration(0.0, 0.0, 1, None)


class FitSettings(Protocol):
    """Hyperparameters of every policy that learns so."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Sizes of the hidden layers."""
        ...

    @property
    def learning_rate(self) -> float:
        """Of Adam, in the first step; it falls in a straight line to 0."""
        ...

    @property
    def batch(self) -> int:
        """Exchanges of a gradient step."""
        ...

    @property
    def updates(self) -> int:
        """Gradient steps."""
        ...


class OfflinePolicy(NeuralPolicy):
    """A policy with one score for each action, learned from dialogues that were watched."""

    def __init__(self, size: int, actions: int, *, settings: FitSettings, seed: int) -> None:
        super().__init__(size, actions, exploration=NEVER, drop_last=False, seed=seed)
        self.fitting = settings
        self.initial = seeded(seed)
        self.network = layers((size, *settings.hidden, actions), self.initial, deviation=None)
        self.optimizer = adam(self.network.parameters(), settings.learning_rate)
        self.watched: list[tuple[Exchange, ...]] = []

    def _scores(self, state: Any) -> Any:
        return self.network(state)

    def _learn(self, dialogue: Sequence[Exchange]) -> None:
        if dialogue:
            self.watched.append(tuple(dialogue))

    def fit(self) -> None:
        """Learn from all dialogues that were watched; from none, nothing."""
        if not self.watched:
            return
        columns = transitions_of(self.watched)
        tensors = {name: self.torch.from_numpy(column) for name, column in columns.items()}
        number = len(columns["action"])
        updates = self.fitting.updates
        for step in range(updates):
            for group in self.optimizer.param_groups:
                group["lr"] = self.fitting.learning_rate * (1 - step / updates)
            places = self.generator.integers(0, number, self.fitting.batch)
            loss = self.loss(drawn_from(tensors, self.torch.from_numpy(places)))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self._stepped()

    @abstractmethod
    def loss(self, batch: dict[str, Any]) -> Any:
        """Return the loss of transitions, as `drawn_from` returns them: a scalar tensor."""

    def _stepped(self) -> None:
        """Do what follows a gradient step."""

    def _networks(self) -> Arrays:
        return packed("network", self.network)

    def _restore_networks(self, arrays: Arrays) -> None:
        unpack("network", self.network, arrays)

    def _pack(self) -> Arrays:
        kept = packed_dialogues(self.watched, self.size)
        return {**packed_optimizer(self.optimizer), **kept}

    def _layouts(self, arrays: Arrays) -> dict[str, Layout]:
        return {
            **optimizer_layouts(self.optimizer, arrays),
            **dialogue_layouts(self.size, self.actions),
        }

    def _unpack(self, arrays: Arrays) -> None:
        unpack_optimizer(self.optimizer, arrays)
        self.watched = list(unpacked_dialogues(arrays))


def transitions_of(dialogues: Sequence[Sequence[Exchange]]) -> Arrays:
    """Return the n exchanges of dialogues as columns of n rows.

    `next` is the row of the exchange that follows (of the last one: its own), `goes_on` 0 for the
    last of a dialogue and otherwise 1. Others are `state`, `mask`, `action` and `reward`.
    """
    exchanges = [exchange for dialogue in dialogues for exchange in dialogue]
    ends = np.cumsum([len(dialogue) for dialogue in dialogues]) - 1
    goes_on = np.ones(len(exchanges), dtype=np.float32)
    goes_on[ends] = 0.0
    following: NDArray[np.int64] = np.arange(len(exchanges)) + goes_on.astype(np.int64)
    return {
        "state": np.stack([e.state for e in exchanges]),
        "mask": np.stack([e.mask for e in exchanges]),
        "action": np.array([e.action for e in exchanges], dtype=np.int64),
        "reward": np.array([e.reward for e in exchanges], dtype=np.float32),
        "next": following,
        "goes_on": goes_on,
    }


def drawn_from(columns: dict[str, Any], places: Any) -> dict[str, Any]:
    """Return some rows of columns, which `places` numbers, with `next_state` and `next_mask`."""
    batch = {name: column[places] for name, column in columns.items()}
    following = batch.pop("next")
    batch["next_state"], batch["next_mask"] = (
        columns["state"][following],
        columns["mask"][following],
    )
    return batch
