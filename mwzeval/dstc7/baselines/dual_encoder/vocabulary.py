"""Words and their numbers, learned from the training file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from zlib import crc32

from mwzeval.dstc7.baselines.words import words_of


class Vocabulary:
    """Numbers of words: known ones from 0, all others share `buckets` numbers after them."""

    __slots__ = ("_numbers", "buckets", "words")

    def __init__(self, words: Sequence[str], buckets: int) -> None:
        self.words = tuple(words)
        self.buckets = buckets
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words) + self.buckets

    @classmethod
    def learn(
        cls, counts: Mapping[str, int], *, minimum_count: int, largest: int, buckets: int
    ) -> Vocabulary:
        """Return the most frequent words of at least `minimum_count`, by frequency, then A to Z."""
        frequent = (word for word, count in counts.items() if count >= minimum_count)
        return cls(sorted(frequent, key=lambda word: (-counts[word], word))[:largest], buckets)

    def number(self, word: str) -> int:
        """Return the number of a word, known or not."""
        number = self._numbers.get(word)
        if number is None:
            # Not Python's hash, which differs from run to run.
            number = len(self.words) + crc32(word.encode("utf-8", "replace")) % self.buckets
        return number

    def numbers(self, words: Iterable[str]) -> list[int]:
        """Return the numbers of words."""
        return [self.number(word) for word in words]

    def numbers_of(self, text: str) -> list[int]:
        """Return the numbers of the words of a text."""
        return self.numbers(words_of(text))
