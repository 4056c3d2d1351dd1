"""Every outcome of what is left to chance, with its probability."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Member = TypeVar("Member")
Result = TypeVar("Result")


class Script:
    """Chance that follows a script of choices, then takes the first ways and notes the others."""

    def __init__(self, script: Sequence[int]) -> None:
        self._script = list(script)
        self.taken: list[tuple[int, list[float]]] = []
        self.probability = 1.0

    def _take(self, probabilities: list[float]) -> int:
        at = len(self.taken)
        if at < len(self._script):
            way = self._script[at]
        else:
            way = next(index for index, p in enumerate(probabilities) if p > 0)
        self.taken.append((way, probabilities))
        self.probability *= probabilities[way]
        return way

    def random(self) -> float:
        raise AssertionError("a number cannot be tried in every way")

    def happens(self, probability: float) -> bool:
        return self._take([1 - probability, probability]) == 1

    def which(self, first: float, second: float) -> int:
        return self._take([first, second, 1 - first - second])

    def choose(self, members: Sequence[Member]) -> Member:
        return members[self._take([1 / len(members)] * len(members))]


def outcomes(run: Callable[[Script], Result]) -> Iterator[tuple[Result, float]]:
    """Yield the result of every way that chance can take, and the probability of that way."""
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
