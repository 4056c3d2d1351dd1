"""Words that nobody uses, drawn as often as words are in text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CONSONANTS = "bdfghjklmnprstvwyz"
VOWELS = "aeiou"

Generator = np.random.Generator


def vocabulary(size: int, generator: Generator) -> tuple[str, ...]:
    """Return so many different words of open syllables, the frequent ones short."""
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    words: list[str] = []
    count = 1
    while len(words) < size:
        wanted = min(size - len(words), len(syllables) ** count)
        numbers = generator.choice(len(syllables) ** count, size=wanted, replace=False)
        words += [_spelled(int(number), count, syllables) for number in numbers]
        count += 1
    return tuple(words)


def _spelled(number: int, count: int, syllables: list[str]) -> str:
    parts = []
    for _ in range(count):
        number, rest = divmod(number, len(syllables))
        parts.append(syllables[rest])
    return "".join(parts)


class Zipf:
    """Draws ranks from 0 with probability proportional to 1 / (rank + 1) ** exponent.

    Source: Zipf, Human Behavior and the Principle of Least Effort, 1949.
    """

    def __init__(self, size: int, exponent: float) -> None:
        weights = np.arange(1, size + 1, dtype=np.float64) ** -exponent
        self._cumulative = np.cumsum(weights) / weights.sum()

    def draw(self, count: int, generator: Generator) -> NDArray[np.int64]:
        """Return so many ranks."""
        drawn = np.searchsorted(self._cumulative, generator.random(count), side="right")
        return np.minimum(drawn, len(self._cumulative) - 1)


def lengths(
    count: int, mean: float, deviation: float, longest: int, generator: Generator
) -> NDArray[np.int64]:
    """Return log-normal numbers of words (mean and deviation of the logarithm), 1 to `longest`."""
    drawn = np.rint(generator.lognormal(mean, deviation, count))
    return np.clip(drawn, 1, longest).astype(np.int64)
