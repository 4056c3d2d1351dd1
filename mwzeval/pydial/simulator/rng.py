"""The random numbers of a dialogue, which come from one seeded generator."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

import numpy as np

Member = TypeVar("Member")


class Rng(Random):
    """The random generator of a dialogue; the same seed gives the same numbers.

    The generator is a Python generator, because single draws with NumPy take ten times as long.
    `rng_from` creates a generator from a NumPy generator.
    """

    def choose(self, members: Sequence[Member]) -> Member:
        """Return a random member of a sequence; all members have equal probabilities."""
        return members[int(self.random() * len(members))]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.getstate(),)


def _restored(state: tuple[Any, ...]) -> Rng:
    rng = Rng()
    rng.setstate(state)
    return rng


def rng_from(generator: np.random.Generator) -> Rng:
    """Return the generator of one dialogue, whose seed is drawn from a NumPy generator."""
    return Rng(int(generator.integers(2**63)))
