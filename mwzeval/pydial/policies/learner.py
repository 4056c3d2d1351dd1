"""What every policy that learns has in common: its protocol, its exploration and its memory.

A memory is a set of arrays. Each policy declares their types and shapes (`Layout`), which are
checked before any of them is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import MwzevalError
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.actions import Mask

State = NDArray[Any]
"""A belief as a vector, shape (size,): see `mwzeval.pydial.environments.features`."""
Arrays = dict[str, NDArray[Any]]
View = Literal["neural", "kernel", "slots"]


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


class Memory(NamedTuple):
    """What a policy has learned: arrays, and plain values (JSON) that belong to them."""

    arrays: Arrays
    about: dict[str, Any]


class ActionPolicy(Protocol):
    """A policy that chooses the number of an action."""

    def act(self, state: State, mask: Mask, rng: Rng, training: bool = False) -> int:
        """Return the number of an action that `mask`, shape (actions,), allows.

        `state` has shape (size,). What is drawn is drawn with `rng`, which is the same object in
        all of a dialogue and in no other one, so that what remembers knows them by it; in
        `training` the policy may explore.
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

    def memory(self, *, whole: bool = True) -> Memory:
        """Return all that is needed to go on learning; not `whole`: only what acting needs."""
        ...

    def remember(self, memory: Memory, *, whole: bool = True) -> None:
        """Go on from a memory of the same kind of policy; not `whole`: for acting only.

        Raises `ValueError` or another error of what is read where it is no such memory.
        """
        ...


class BatchPolicy(Protocol):
    """A policy that chooses actions of several dialogues at once."""

    def act_together(
        self,
        states: State,
        masks: NDArray[np.bool_],
        rngs: Sequence[Rng],
        ahead: Sequence[int] | None = None,
    ) -> list[int]:
        """Return an action for each dialogue, as `act` does.

        `states` has shape (dialogues, size), `masks` (dialogues, actions); each of `rngs` is that
        of a dialogue. In training `ahead` tells how many dialogues will have been learned from
        before each of them; None: in tests.
        """
        ...


class BatchLearner(BatchPolicy, Learner, Protocol):
    """A policy that learns, and can play several dialogues at once before it does."""


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
    """Tell whether lengths add up to `least` or more; no more of them are looked at than needed."""
    return any(total >= least for total in accumulate(lengths, initial=0))


def best_allowed(values: NDArray[Any], mask: Mask) -> int:
    """Return the allowed action of the highest value (the first of several).

    Raises `DivergedError` where that is not finite.
    """
    best = int(np.where(mask, values, -np.inf).argmax())
    if not math.isfinite(values[best]):
        raise DivergedError
    return best


def generator_state(generator: np.random.Generator) -> dict[str, Any]:
    """Return where a generator stands, as plain values."""
    return dict(generator.bit_generator.state)


class Layout(NamedTuple):
    """The type and shape of an array; a size that has a name is the same wherever it is named.

    An array of whole numbers may have to stay between 0 and `below`.
    """

    dtype: Any
    shape: tuple[int | str, ...]
    below: int | None = None


Layouts = Mapping[str, Layout]


def layouts_of(arrays: Arrays) -> dict[str, Layout]:
    """Return the layouts that arrays have."""
    return {name: Layout(array.dtype, array.shape) for name, array in arrays.items()}


def check_arrays(arrays: Arrays, layouts: Layouts, *, only: bool = False) -> dict[str, int]:
    """Return the sizes that have names.

    Raises `ValueError` for the first array that is missing, of another type or shape, or out of
    its limits, and with `only` for one that is not declared.
    """
    sizes: dict[str, int] = {}
    for name, layout in layouts.items():
        if name not in arrays:
            raise ValueError(f"{name} is missing")
        array = arrays[name]
        if not _fits(array, layout, sizes):
            shape = ", ".join(str(sizes.get(str(size), size)) for size in layout.shape)
            raise ValueError(
                f"{name} is {array.dtype} of shape {array.shape}, "
                f"expected {np.dtype(layout.dtype)} of shape ({shape})"
            )
        if layout.below is not None and array.size:
            least, most = array.min(), array.max()
            if least < 0 or most >= layout.below:
                raise ValueError(f"{name} has {least} to {most}, expected 0 to {layout.below - 1}")
    if only and (unknown := sorted(arrays.keys() - layouts.keys())):
        raise ValueError(f"{unknown[0]} is not a part of it")
    return sizes


def _fits(array: NDArray[Any], layout: Layout, sizes: dict[str, int]) -> bool:
    if array.dtype != layout.dtype:
        return False
    given = array.shape
    if array.size == 0 and len(given) == 1:  # a list of nothing has no further sizes
        given += tuple(sizes.get(str(s), 0) if isinstance(s, str) else s for s in layout.shape[1:])
    return len(given) == len(layout.shape) and all(
        size == (sizes.setdefault(due, size) if isinstance(due, str) else due)
        for size, due in zip(given, layout.shape, strict=True)
    )
