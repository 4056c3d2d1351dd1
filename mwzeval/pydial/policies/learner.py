"""What every policy that learns has in common: its protocol and its exploration."""

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
"""A belief as a vector, shape (size,): see `DecisionProcess`."""
Arrays = dict[str, NDArray[Any]]
View = Literal["neural", "kernel"]


class DivergedError(MwzevalError):
    """A policy has weights from which no action follows: scores are infinite or no numbers."""

    def __init__(self) -> None:
        super().__init__("the policy's scores of actions are not finite")


class Exchange(NamedTuple):
    """What a policy saw and did in one exchange, and the reward of just that (see `Learner`)."""

    state: State
    mask: Mask
    action: int
    reward: float


class ActionPolicy(Protocol):
    """A policy that chooses the number of an action."""

    def act(self, state: State, mask: Mask, rng: Rng, training: bool = False) -> int:
        """Return the number of an action that `mask`, shape (actions,), allows.

        `state` has shape (size,). Random choices are drawn with `rng`; in `training` the policy
        may explore.
        """
        ...


class Learner(ActionPolicy, Protocol):
    """A policy that learns from dialogues.

    For each dialogue: `begin`; then for each exchange `act`, and `record` of what was done with its
    reward, the last of which contains that of success; then `end`, when it learns. In tests only
    `act` is called. `view` says which vector it looks at.
    """

    view: ClassVar[View]

    def begin(self) -> None:
        """Start a dialogue to learn from."""
        ...

    def record(self, state: State, mask: Mask, action: int, reward: float) -> None:
        """Keep an exchange: what was seen, shape (size,), allowed, done, and the reward of that."""
        ...

    def end(self) -> None:
        """Learn from the dialogue that is over, or from those that were kept."""
        ...

    def weights(self) -> Arrays:
        """Return what the policy has learned, as far as acting needs it."""
        ...

    def load(self, arrays: Arrays) -> None:
        """Replace the weights. Raises `ValueError` for those of another kind of policy."""
        ...


@dataclass(frozen=True, slots=True)
class Exploration:
    """The share of random actions, which falls in a straight line over training dialogues.

    `restart` is after how many dialogues it starts again: the published program did so with every
    batch of 1,000, since it counted anew. None: never.
    """

    start: float = 0.3
    stop: float = 0.0
    dialogues: int = 4000
    restart: int | None = 1000

    def share(self, dialogue: int) -> float:
        """Return the share in a dialogue, counted from 0."""
        if self.restart is not None:
            dialogue %= self.restart
        done = min(1.0, dialogue / self.dialogues)
        return self.start + done * (self.stop - self.start)


def reaches(lengths: Iterable[int], least: int) -> bool:
    """Return whether lengths add up to `least` or more."""
    return any(total >= least for total in accumulate(lengths, initial=0))


def best_allowed(values: NDArray[Any], mask: Mask) -> int:
    """Return the allowed action of the highest value (the first of several).

    Raises `DivergedError` where that is not finite.
    """
    best = int(np.where(mask, values, -np.inf).argmax())
    if not math.isfinite(values[best]):
        raise DivergedError
    return best
