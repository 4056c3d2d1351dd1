"""The random choices of users and systems, one method for each kind.

A replay of recorded dialogues stands in their place.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

SAME = 0.3
"""How often a user says "the same day" for a value that it has said before."""
NUMBERS = 1_000_000


class UserDraws(Protocol):
    """The random choices of a user."""

    def order(self, slots: Sequence[str]) -> list[str]:
        """Return the slots in the order in which they come onto the agenda."""
        ...

    def same(self) -> bool:
        """Return whether an equal value is said as "the same", which has probability 0.3."""
        ...

    def pick(self, n: int) -> int:
        """Return one of 0, …, n - 1."""
        ...


class SystemDraws(Protocol):
    """The random choices of a system."""

    def random(self) -> float:
        """Return a number from 0 to below 1."""
        ...

    def randint(self) -> int:
        """Return a whole number from 0 to 999,999."""
        ...

    def shuffle(self, names: Sequence[str]) -> list[str]:
        """Return the names in random order."""
        ...


class SeededUserDraws:
    """Choices of a user that follow from seed, goal and trial alone, whatever runs beside it."""

    def __init__(self, seed: int, goal_id: str, trial: int) -> None:
        self._rng = _generator(seed, goal_id, trial, "user")

    def order(self, slots: Sequence[str]) -> list[str]:
        """Return the slots in random order."""
        return _shuffled(self._rng, slots)

    def same(self) -> bool:
        """Return True with probability 0.3."""
        return self._rng.random() < SAME

    def pick(self, n: int) -> int:
        """Return one of 0, …, n - 1."""
        return int(self._rng.random() * n)


class SeededSystemDraws:
    """Choices of a system that follow from seed, goal and trial alone."""

    def __init__(self, seed: int, goal_id: str, trial: int) -> None:
        self._rng = _generator(seed, goal_id, trial, "system")

    def random(self) -> float:
        """Return a number from 0 to below 1."""
        return self._rng.random()

    def randint(self) -> int:
        """Return a whole number from 0 to 999,999."""
        return int(self._rng.random() * NUMBERS)

    def shuffle(self, names: Sequence[str]) -> list[str]:
        """Return the names in random order."""
        return _shuffled(self._rng, names)


def _generator(seed: int, goal_id: str, trial: int, side: str) -> random.Random:
    # The goal's id comes last: it may hold any character.
    return random.Random(f"{seed}/{side}/{trial}/{goal_id}")


def _shuffled(rng: random.Random, names: Sequence[str]) -> list[str]:
    draw = rng.random
    return sorted(names, key=lambda _: draw())
