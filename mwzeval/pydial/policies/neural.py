"""What the neural policies share: dialogues as the published program keeps them, exploration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.rng import Draws
from mwzeval.pydial.masks import Mask
from mwzeval.pydial.policies.layouts import Layout, check, like
from mwzeval.pydial.policies.learner import (
    Arrays,
    Exchange,
    Exploration,
    Memory,
    State,
    View,
    best_allowed,
    generator_state,
)
from mwzeval.version import required

REWARD_SCALE = 20.0
"""Neural policies learn from rewards divided by this."""


class NeuralPolicy(ABC):
    """A policy that takes the allowed action of the highest score, or any with some probability.

    What differs is in `_scores` (one for each action), `_learn` (called after each dialogue) and
    what is to be kept (`_pack`, `_layouts`, `_unpack`).
    """

    view: ClassVar[View] = "neural"

    def __init__(
        self,
        size: int,
        actions: int,
        *,
        exploration: Exploration,
        drop_last: bool,
        seed: int,
    ) -> None:
        self.size, self.actions = size, actions
        self.exploration = exploration
        self.drop_last = drop_last
        self.dialogues = 0
        self.generator = np.random.default_rng(seed)
        self.torch: Any = required("torch")
        self.begin()

    def begin(self) -> None:
        """Start a dialogue to learn from."""
        self._exchanges: list[Exchange] = []

    @property
    def exploring(self) -> float:
        """The share of random actions in this training dialogue."""
        return self.exploration.share(self.dialogues)

    def act(self, state: State, mask: Mask, draws: Draws, training: bool = False) -> int:
        """Return the best allowed action; in training sometimes any."""
        if training and draws.random() < self.exploring:
            return int(draws.choose(np.flatnonzero(mask).tolist()))
        return best_allowed(self.scores(state), mask)

    def scores(self, state: State) -> NDArray[np.float32]:
        """Return a score for each action, shape (actions,)."""
        with self.torch.inference_mode():
            scores: NDArray[np.float32] = self._scores(self.torch.from_numpy(state)).numpy()
        return scores

    def record(self, state: State, mask: Mask, action: int, reward: float) -> None:
        """Keep an exchange."""
        self._exchanges.append(Exchange(state, mask, action, reward / REWARD_SCALE))

    def end(self) -> None:
        """Learn from dialogues."""
        self._learn(self._kept())
        self.dialogues += 1
        self.begin()

    def _kept(self) -> tuple[Exchange, ...]:
        """Return the exchanges to learn from.

        With `drop_last` as in the published program: the last one is forgotten, and what it brought
        beside the reward of an exchange is added to the one before.
        """
        exchanges = self._exchanges
        if not self.drop_last:
            return tuple(exchanges)
        if len(exchanges) < 2:
            return ()
        *kept, before, last = exchanges
        final = last.reward - exchanges[0].reward
        return (*kept, before._replace(reward=before.reward + final))

    def memory(self, *, whole: bool = True) -> Memory:
        """Return networks, and if `whole` all the rest that learning needs."""
        arrays = self._networks()
        if not whole:
            return Memory(arrays, {})
        arrays.update(self._pack())
        about = {"dialogues": self.dialogues, "generator": generator_state(self.generator)}
        return Memory(arrays, about)

    def remember(self, memory: Memory, *, whole: bool = True) -> None:
        """Go on from a memory; not `whole`: for tests only. Raises `ValueError` and others."""
        networks = like(self._networks())
        if not whole:
            check(memory.arrays, networks)
            self._restore_networks(memory.arrays)
        else:
            layouts = {**networks, **self._layouts(memory.arrays)}
            check(memory.arrays, layouts, only=True)
            if type(memory.about["dialogues"]) is not int or memory.about["dialogues"] < 0:
                raise ValueError("it does not say after how many dialogues it is")
            self._restore_networks(memory.arrays)
            self.dialogues = memory.about["dialogues"]
            self.generator.bit_generator.state = memory.about["generator"]
            self._unpack(memory.arrays)
        self.begin()

    @abstractmethod
    def _scores(self, state: Any) -> Any: ...

    @abstractmethod
    def _learn(self, dialogue: Sequence[Exchange]) -> None: ...

    @abstractmethod
    def _networks(self) -> Arrays: ...

    @abstractmethod
    def _restore_networks(self, arrays: Arrays) -> None: ...

    @abstractmethod
    def _layouts(self, arrays: Arrays) -> dict[str, Layout]:
        """Return what `_pack` returns, as far as it depends on what is in the `arrays`."""

    @abstractmethod
    def _pack(self) -> Arrays: ...

    @abstractmethod
    def _unpack(self, arrays: Arrays) -> None: ...
