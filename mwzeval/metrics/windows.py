"""Distinct words in windows of a text that is read in parts, or by several machines.

MSTTR cuts the whole text into windows one after the other, so where the windows of a later part
begin depends on how many words come before it. A part that does not know this yet keeps, for each
of the possible offsets, the sum over the windows that lie within it, and the few words at either
end that windows across a border need. Sums of whole numbers: what is merged in order is exactly
what one pass would have found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray


class WindowTypes:
    """Accumulates words in order; memory does not depend on how many there were."""

    __slots__ = ("_by_offset", "_end", "_start", "window", "words")

    def __init__(self, window: int) -> None:
        self.window = window
        self.words = 0
        self._by_offset = [0] * window
        """For each offset, distinct words summed over the whole windows that begin there."""
        self._start: list[str] = []
        self._end: list[str] = []
        """The first and the last words, fewer than a window each."""

    def update(self, words: Sequence[str]) -> None:
        """Add words that follow."""
        self._count([*self._end, *words], first=self.words - len(self._end))
        self._take(words, words)
        self.words += len(words)

    def merge(self, later: WindowTypes) -> None:
        """Add what `later` has seen, as if it had come after what this one has seen."""
        if later.window != self.window:
            raise ValueError("only windows of one size add up")
        # The windows across the border: they begin here and end within the later start.
        self._count([*self._end, *later._start], first=self.words - len(self._end))
        for offset, types in enumerate(later._by_offset):
            self._by_offset[(self.words + offset) % self.window] += types
        self._take(later._start, later._end)
        self.words += later.words

    def types(self) -> int:
        """Return the number of distinct words, summed over the windows of the whole text."""
        return self._by_offset[0]

    def windows(self) -> int:
        """Return how many whole windows there are, one after the other from the first word on."""
        return self.words // self.window

    def _count(self, words: Sequence[str], first: int) -> None:
        """Count every whole window of `words`, which begin at position `first`."""
        types = types_of_windows(words, self.window)
        if len(types):
            offsets = (first + np.arange(len(types))) % self.window
            sums = np.zeros(self.window, dtype=np.int64)
            np.add.at(sums, offsets, types)
            self._by_offset = [a + b for a, b in zip(self._by_offset, sums.tolist(), strict=True)]

    def _take(self, first: Sequence[str], last: Sequence[str]) -> None:
        kept = self.window - 1
        self._start += first[: kept - len(self._start)]
        following = [*self._end, *last[max(0, len(last) - kept) :]]
        self._end = following[max(0, len(following) - kept) :]


def types_of_windows(words: Sequence[str], window: int) -> NDArray[np.int64]:
    """Return how many distinct words each window has, shape (len(words) - window + 1,) or (0,)."""
    windows = max(0, len(words) - window + 1)
    if not windows:
        return np.zeros(0, dtype=np.int64)
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(numbers.__getitem__, words), dtype=np.int64, count=len(words))
    order = np.argsort(codes, kind="stable")
    repeated = codes[order[1:]] == codes[order[:-1]]
    before = np.full(len(words), -1, dtype=np.int64)
    before[order[1:][repeated]] = order[:-1][repeated]
    # A word is counted where it is its type's first: in the windows that begin after the one
    # before it, and not so early that they end before this one.
    earliest = np.maximum(before + 1, np.arange(len(words)) - window + 1)
    begun = np.cumsum(np.bincount(earliest, minlength=len(words)))[:windows]
    return np.asarray(begun - np.arange(windows), dtype=np.int64)
