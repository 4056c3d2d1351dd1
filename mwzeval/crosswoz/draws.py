"""What simulators and goal generators leave to chance, behind one small door."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Draws(Protocol):
    """A source of chance; tests put a fixed one in its place."""

    def choose(self, items: Sequence[Item]) -> Item:
        """Return one of the items, each as likely as the others."""
        ...

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order."""
        ...

    def weighted(self, items: Sequence[Item], weights: Sequence[float]) -> Item:
        """Return one of the items, each as likely as its weight says."""
        ...

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        ...


class RandomDraws:
    """Chance from a seed: the same seed gives the same draws, whatever runs beside it.

    Python's generator, because single draws are what is needed, and NumPy's cost ten times as much.
    """

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def choose(self, items: Sequence[Item]) -> Item:
        """Return one of the items."""
        return items[int(self._random.random() * len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order."""
        order = list(items)
        self._random.shuffle(order)
        return order

    def weighted(self, items: Sequence[Item], weights: Sequence[float]) -> Item:
        """Return one of the items by weight."""
        return self._random.choices(items, weights)[0]

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random.random() < probability
