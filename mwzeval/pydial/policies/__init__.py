"""Policies for dialogue management, with one file per policy, and their common interface."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol

from numpy.typing import NDArray

from mwzeval.pydial.decision_process import Mask
from mwzeval.pydial.simulator.rng import Rng

State = NDArray[Any]
"""A belief as a vector, shape (size,); see `DecisionProcess`."""
Arrays = dict[str, NDArray[Any]]
VectorView = Literal["neural", "kernel"]


class ActionPolicy(Protocol):
    """A policy that chooses the index of an action."""

    def act(self, state: State, mask: Mask, rng: Rng, training: bool = False) -> int:
        """Return the index of an action that `mask`, shape (actions,), allows.

        `state` has shape (size,). Random choices use `rng`; if `training` is true, the policy may
        explore.
        """
        ...


class Learner(ActionPolicy, Protocol):
    """The interface of policies that learn from dialogues.

    Each dialogue starts with `begin`. In each turn, `act` is called first, and then `record` with
    the action and its reward. The last reward includes the reward for success. At the end of a
    dialogue, `end` is called, and the policy learns. In test dialogues, only `act` is called.
    `view` selects the vector that the policy observes.
    """

    view: ClassVar[VectorView]

    def begin(self) -> None:
        """Prepare the policy for a new training dialogue."""
        ...

    def record(self, state: State, mask: Mask, action: int, reward: float) -> None:
        """Store the state (shape (size,)), mask, action and reward of a turn."""
        ...

    def end(self) -> None:
        """Learn from the finished dialogue or from dialogues stored earlier."""
        ...

    def weights(self) -> Arrays:
        """Return the learned weights that `act` needs."""
        ...

    def load(self, arrays: Arrays) -> None:
        """Replace the learned weights of the policy.

        Raises `ValueError` if the weights belong to another kind of policy.
        """
        ...
