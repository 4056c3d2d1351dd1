"""Choices that are the same on every machine and with every Python version.

Only `random.Random.random` is promised to be stable, so all choices are built from it.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A seeded source of choices."""

    def __init__(self, seed: int | str) -> None:
        self.share = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self.share() < probability

    def number(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return low + int(self.share() * (high - low + 1))

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.number(0, len(options) - 1)]

    def skewed(self, options: Sequence[T], skew: float) -> T:
        """Return one of the options; earlier ones are more probable, unless `skew` is 0."""
        weights = [1 / (1 + index) ** skew for index in range(len(options))]
        drawn = self.share() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            drawn -= weight
            if drawn < 0:
                return option
        return options[-1]

    def mixed(self, options: Sequence[T]) -> list[T]:
        """Return all the options in a new order, drawn one after the other."""
        rest = list(options)
        return [rest.pop(self.number(0, len(rest) - 1)) for _ in options]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items sorted by random numbers: another sequence than that of `mixed`."""
        return [item for _, _, item in sorted((self.share(), i, x) for i, x in enumerate(items))]

    def code(self, length: int, letters: str) -> str:
        """Return a code such as a booking reference."""
        return "".join(self.pick(letters) for _ in range(length))


class Deck:
    """Phrases in random order; none returns before all others of its list were used."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._piles: dict[tuple[str, ...], list[str]] = {}

    def deal(self, options: Sequence[str]) -> str:
        """Return the next of the options."""
        pile = self._piles.setdefault(tuple(options), [])
        if not pile:
            pile.extend(self._dice.mixed(options))
        return pile.pop()
