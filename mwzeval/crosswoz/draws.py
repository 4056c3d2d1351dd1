"""What simulators and goal generators leave to chance, behind one small door."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
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
        draw = self._random.random
        return sorted(items, key=lambda _: draw())

    def weighted(self, items: Sequence[Item], weights: Sequence[float]) -> Item:
        """Return one of the items by weight."""
        sums = _sums(tuple(weights))
        place = bisect_right(sums, self._random.random() * sums[-1])
        return items[min(place, len(items) - 1)]

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random.random() < probability


@lru_cache(maxsize=256)
def _sums(weights: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(accumulate(weights))
