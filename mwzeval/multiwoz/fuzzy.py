"""Whether two texts are nearly the same, by exactly the ratio that the published scores rely on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mwzeval.errors import DependencyError

try:
    # fuzzywuzzy falls back on difflib in silence, and difflib gives other ratios.
    import Levenshtein  # noqa: F401
except ImportError:
    raise DependencyError(
        "python-Levenshtein is not installed: without it fuzzywuzzy computes other ratios, and the "
        "scores would not be comparable — pip install python-Levenshtein"
    ) from None

from fuzzywuzzy import fuzz
from fuzzywuzzy.StringMatcher import StringMatcher

if fuzz.SequenceMatcher is not StringMatcher:
    raise DependencyError(
        "fuzzywuzzy was imported before python-Levenshtein was there: restart the program"
    )


@lru_cache(maxsize=2**16)
def partial_ratio(first: str, second: str) -> int:
    """Return fuzzywuzzy's `partial_ratio`, 0 to 100: how well the shorter fits into the longer."""
    return int(fuzz.partial_ratio(first, second))


class FuzzyIndex:
    """Finds, among fixed texts, those that are nearly another one."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)
        self._lengths = np.array([len(text) for text in texts], dtype=np.int64)
        self._alphabet = sorted({char for text in texts for char in text})
        self._counts = np.array([self._count(text) for text in texts], dtype=np.int64)

    def _count(self, text: str) -> list[int]:
        return [text.count(char) for char in self._alphabet]

    def reaching(self, asked: str, threshold: int) -> list[str]:
        """Return the texts whose `partial_ratio` to `asked` is at least `threshold`, in order.

        The ratio is computed only where it can be high enough. It is at best 2·m / (s + w), of m
        characters matched in order between the shorter text (length s) and a window of the longer
        one (length w ≥ m). With m at most the number c of characters that both texts have at all,
        it cannot exceed 2·c / (s + c).
        """
        if not self._texts:
            return []
        common = np.minimum(self._counts, self._count(asked)).sum(axis=1)
        shorter = np.minimum(self._lengths, len(asked))
        # Half a percent less, because the ratio is rounded, and a little more for float errors.
        possible = 200 * common >= (threshold - 0.501) * (shorter + common)
        # Two empty texts, too, have nothing in common and are equal.
        possible |= self._lengths == 0
        return [
            self._texts[index]
            for index in np.flatnonzero(possible)
            if partial_ratio(self._texts[index], asked) >= threshold
        ]
