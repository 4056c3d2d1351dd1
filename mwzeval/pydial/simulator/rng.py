"""The random numbers of a dialogue: one seeded generator for everything that is drawn in it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

import numpy as np

Member = TypeVar("Member")
Bits = np.random.Generator


class Rng(Random):
    """Python's generator of a dialogue; the same seed, the same draws.

    Not NumPy's: single draws are what is needed, and NumPy's cost ten times as much. `rng_from`
    makes one for a dialogue from a NumPy generator.
    """

    def choose(self, members: Sequence[Member]) -> Member:
        """Return one of the members, each as likely as the others."""
        return members[int(self.random() * len(members))]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.getstate(),)


def _restored(state: tuple[Any, ...]) -> Rng:
    rng = Rng()
    rng.setstate(state)
    return rng


def rng_from(generator: Bits) -> Rng:
    """Return the source of one dialogue, seeded from a NumPy generator (which moves on)."""
    return Rng(int(generator.integers(2**63)))
