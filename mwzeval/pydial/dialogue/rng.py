"""The random numbers of a dialogue: one seeded generator for everything that is drawn in it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Protocol, TypeVar

import numpy as np

Member = TypeVar("Member")
Bits = np.random.Generator


class Chance(Protocol):
    """A source of chance; tests put one in its place that tries every outcome."""

    def random(self) -> float:
        """Return a number from 0 up to, but without, 1."""
        ...

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        ...

    def which(self, first: float, second: float) -> int:
        """Return 0 and 1 with these probabilities, 2 otherwise."""
        ...

    def choose(self, members: Sequence[Member]) -> Member:
        """Return one of the members, each as likely as the others."""
        ...


class Draws(Random):
    """Python's generator with the few draws that simulators make; the same seed, the same draws.

    Not NumPy's: single draws are what is needed, and NumPy's cost ten times as much. `draws_from`
    makes one for a dialogue from a NumPy generator.
    """

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self.random() < probability

    def which(self, first: float, second: float) -> int:
        """Return 0 and 1 with these probabilities, 2 otherwise."""
        drawn = self.random()
        if drawn < first:
            return 0
        return 1 if drawn < first + second else 2

    def choose(self, members: Sequence[Member]) -> Member:
        """Return one of the members, each as likely as the others."""
        return members[int(self.random() * len(members))]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.getstate(),)


def _restored(state: tuple[Any, ...]) -> Draws:
    draws = Draws()
    draws.setstate(state)
    return draws


def draws_from(generator: Bits) -> Draws:
    """Return the source of one dialogue, seeded from a NumPy generator (which moves on)."""
    return Draws(int(generator.integers(2**63)))
