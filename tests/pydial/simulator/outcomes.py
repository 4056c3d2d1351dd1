"""Enumerate all outcomes of random choices with their probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Member = TypeVar("Member")
Result = TypeVar("Result")


class Script:
    """A random source that follows a script, then takes first choices and records the others."""

    def __init__(self, script: Sequence[int]) -> None:
        self._script = list(script)
        self.taken: list[tuple[int, list[float]]] = []
        self.probability = 1.0

    def take(self, probabilities: list[float]) -> int:
        at = len(self.taken)
        if at < len(self._script):
            way = self._script[at]
        else:
            way = next(index for index, p in enumerate(probabilities) if p > 0)
        self.taken.append((way, probabilities))
        self.probability *= probabilities[way]
        return way

    def random(self) -> Uniform:
        return Uniform(self)

    def happens(self, probability: float) -> bool:
        return self.take([1 - probability, probability]) == 1

    def which(self, first: float, second: float) -> int:
        return self.take([first, second, 1 - first - second])

    def choose(self, members: Sequence[Member]) -> Member:
        return members[self.take([1 / len(members)] * len(members))]


class Uniform:
    """A uniform random number that is known only through its comparisons."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._low, self._high, self._times = 0.0, 1.0, 1

    def __lt__(self, other: float) -> bool:
        share = (other - self._low) / (self._high - self._low)
        if share <= 0 or share >= 1:
            return share > 0
        if self._script.take([1 - share, share]):
            self._high = other
            return True
        self._low = other
        return False

    def __mul__(self, times: int) -> Uniform:
        self._times = times
        return self

    def __int__(self) -> int:
        return self._script.take([1 / self._times] * self._times)


def outcomes(run: Callable[[Script], Result]) -> Iterator[tuple[Result, float]]:
    """Yield the result and the probability of every sequence of random choices."""
    script: list[int] | None = []
    while script is not None:
        rng = Script(script)
        yield run(rng), rng.probability
        script = _next([(way, p) for way, p in rng.taken])


def _next(taken: list[tuple[int, list[float]]]) -> list[int] | None:
    while taken:
        way, probabilities = taken.pop()
        for later in range(way + 1, len(probabilities)):
            if probabilities[later] > 0:
                return [*(earlier for earlier, _ in taken), later]
    return None
