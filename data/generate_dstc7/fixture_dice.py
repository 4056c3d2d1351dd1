"""Choices that come out the same on every machine and every Python version.

Only `random.Random.random` is promised to be stable, so everything is built from it.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class FixtureDice:
    """A seeded source of choices."""

    def __init__(self, seed: str) -> None:
        """Start the sequence that belongs to `seed`."""
        self._source = random.Random(seed)

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._source.random() < probability

    def score(self) -> float:
        """Return a number from 0 to 1."""
        return self._source.random()

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[int(self._source.random() * len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in another order."""
        return [item for _, _, item in sorted((self.score(), i, x) for i, x in enumerate(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Return so many of the items, or all of them when there are less."""
        return self.shuffled(items)[:count]
