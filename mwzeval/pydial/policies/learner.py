"""What every policy that learns can do, and how much it explores while it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.rng import Draws
from mwzeval.pydial.environments.actions import Mask

State = NDArray[Any]
"""A belief as a vector, shape (size,): see `mwzeval.pydial.environments.vectors`."""
Arrays = dict[str, NDArray[Any]]
View = Literal["neural", "kernel"]


class Exchange(NamedTuple):
    """What a policy saw and did in one exchange, and the reward of just that (see `Learner`)."""

    state: State
    mask: Mask
    action: int
    reward: float


class Memory(NamedTuple):
    """What a policy has learned: arrays, and plain values (JSON) that belong to them."""

    arrays: Arrays
    about: dict[str, Any]


class Chooser(Protocol):
    """A policy that chooses the number of an action."""

    def act(self, state: State, mask: Mask, draws: Draws, training: bool = False) -> int:
        """Return the number of an action that `mask`, shape (actions,), allows."""
        ...


class Learner(Chooser, Protocol):
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
        """Keep an exchange."""
        ...

    def end(self) -> None:
        """Learn from the dialogue that is over, or from those that were kept."""
        ...

    def memory(self, *, whole: bool = True) -> Memory:
        """Return all that is needed to go on learning; not `whole`: only what acting needs."""
        ...

    def remember(self, memory: Memory, *, whole: bool = True) -> None:
        """Go on from a memory of the same kind of policy; not `whole`: for acting only.

        Raises `ValueError` or another error of what is read where it is no such memory.
        """
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


def best_allowed(values: NDArray[Any], mask: Mask) -> int:
    """Return the allowed action of the highest value (the first of several)."""
    return int(np.where(mask, values, -np.inf).argmax())


def generator_state(generator: np.random.Generator) -> dict[str, Any]:
    """Return where a generator stands, as plain values."""
    return dict(generator.bit_generator.state)
