"""Many texts as one array of word numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """The words of n texts, one after the other.

    `words` and `ages` are as long as all texts together; text i has those from `starts[i]` up to
    `starts[i + 1]`. The age of a word is how many messages came after its own.
    """

    words: NDArray[np.int32]
    ages: NDArray[np.int32]
    starts: Integers

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Integers:
        """Words of each text."""
        return np.diff(self.starts)

    def take(self, texts: Integers) -> Bags:
        """Return the texts with these numbers, in this order."""
        sizes = self.sizes[texts]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        shift = np.repeat(self.starts[texts] - starts[:-1], sizes)
        places = np.arange(starts[-1]) + shift
        return Bags(self.words[places], self.ages[places], starts)


def candidate_bags(candidates: Iterable[Sequence[int]], most_words: int) -> Bags:
    """Return the first words of each candidate."""
    return _bags((words[:most_words], [0] * min(len(words), most_words)) for words in candidates)


def context_bags(
    contexts: Iterable[Sequence[Sequence[int]]], most_words: int, most_ages: int
) -> Bags:
    """Return the last words of each context, which is the words of each message, oldest first."""
    return _bags(_latest(messages, most_words, most_ages) for messages in contexts)


def _latest(
    messages: Sequence[Sequence[int]], most_words: int, most_ages: int
) -> tuple[list[int], list[int]]:
    words: list[int] = []
    ages: list[int] = []
    for age, message in enumerate(reversed(messages)):
        room = most_words - len(words)
        if not room:
            break
        kept = message[-room:]
        words.extend(kept)
        ages.extend([min(age, most_ages - 1)] * len(kept))
    return words, ages


def _bags(texts: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Bags:
    from array import array

    words, ages, starts = array("i"), array("i"), array("q", [0])
    for text, text_ages in texts:
        words.extend(text)
        ages.extend(text_ages)
        starts.append(len(words))
    return Bags(
        np.frombuffer(words, np.int32) if words else np.zeros(0, np.int32),
        np.frombuffer(ages, np.int32) if ages else np.zeros(0, np.int32),
        np.frombuffer(starts, np.int64),
    )
