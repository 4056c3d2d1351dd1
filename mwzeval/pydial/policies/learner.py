"""The common protocol of all policies that learn, and their exploration."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import MwzevalError
from mwzeval.pydial.decision_process import Mask
from mwzeval.pydial.simulator.rng import Rng

State = NDArray[Any]
"""A belief as a vector, shape (size,); see `DecisionProcess`."""
Arrays = dict[str, NDArray[Any]]
View = Literal["neural", "kernel"]


class DivergedError(MwzevalError):
    """The error for weights that give no valid action, because scores are infinite or NaN."""

    def __init__(self) -> None:
        super().__init__("the policy's scores of actions are not finite")


class Exchange(NamedTuple):
    """One turn of a dialogue: state, mask, action, and the reward of the turn (see `Learner`)."""

    state: State
    mask: Mask
    action: int
    reward: float


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

    view: ClassVar[View]

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


@dataclass(frozen=True, slots=True)
class Exploration:
    """The fraction of random actions, which decreases linearly over training dialogues.

    After every `restart` dialogues, the fraction starts again at its initial value; with None, it
    never restarts. The published program restarted the fraction with every batch of 1,000
    dialogues, because it counted dialogues from 0 in each batch.
    """

    start: float = 0.3
    stop: float = 0.0
    dialogues: int = 4000
    restart: int | None = 1000

    def share(self, dialogue: int) -> float:
        """Return the fraction of random actions in a dialogue; the first `dialogue` is 0."""
        if self.restart is not None:
            dialogue %= self.restart
        done = min(1.0, dialogue / self.dialogues)
        return self.start + done * (self.stop - self.start)


def reaches(lengths: Iterable[int], least: int) -> bool:
    """Return whether the sum of the dialogue lengths is at least `least`."""
    return any(total >= least for total in accumulate(lengths, initial=0))


def best_allowed(values: NDArray[Any], mask: Mask) -> int:
    """Return the allowed action with the highest value (the first of several).

    Raises `DivergedError` if the highest value is not finite.
    """
    best = int(np.where(mask, values, -np.inf).argmax())
    if not math.isfinite(values[best]):
        raise DivergedError
    return best
