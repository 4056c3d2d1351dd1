"""What TRADE learns from: the words of a dialogue so far, and the state after them, as numbers.

Source: Wu et al., ACL 2019. A word that the vocabulary lacks has a number of its own within its
example, so that it can be copied (See et al., ACL 2017).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.dialogues import Dialogue, State
from mwzeval.crosswoz.corpus.file_shapes import ShapeError, is_texts
from mwzeval.crosswoz.corpus.names import STATE_SLOTS
from mwzeval.crosswoz.corpus.normalization import pieces_of
from mwzeval.neural.training import TrainingSettings

SLOTS = tuple((domain, slot) for domain, slots in STATE_SLOTS.items() for slot in slots)
"""The slots of a state, numbered by their place."""
PADDING, UNKNOWN, END, SYSTEM, USER = range(5)
"""The numbers that stand for no word. `SYSTEM` and `USER` stand before what they say."""
SPECIAL = 5
MARKS = (SYSTEM, USER)
RAREST = 2
"""Words of utterances that come less often in training are unknown. Those of values never are."""


@dataclass(frozen=True, slots=True)
class TradeSettings(TrainingSettings):
    """Choices of a training run. Raises `UsageError` for what cannot be."""

    hidden: int = 100
    """Width of embeddings and recurrent layers; 400 in Wu et al., 100 in the public code."""
    dropout: float = 0.2
    """Share of embeddings' numbers that are left out, and of words that are read as unknown."""
    characters: bool = False
    """Whether words are single characters, and not those of jieba."""
    longest_history: int = 1000
    """Words of a history that are read: the last ones."""
    longest_value: int = 40
    """Words of a value that are learned or written."""
    learning_rate: float = 0.002
    """Of Adam."""
    batch_size: int = 32
    """Turns of a step."""
    epochs: int = 15
    """Passes over the training dialogues."""
    seed: int = 2019
    """Of first weights, order and dropout."""


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A turn: the history up to the user's words, and the slots that are filled after them.

    `words` are numbers; those from the size of the vocabulary on are the `unknown` words of this
    history, in order. `values` has the words of each filled slot, without `END`.
    """

    words: NDArray[np.int32]
    unknown: tuple[str, ...]
    values: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that a model knows; a word is numbered by its place, after the special numbers."""

    words: tuple[str, ...]
    characters: bool
    longest_history: int

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue], settings: TradeSettings) -> Vocabulary:
        """Return the words of training dialogues."""
        chosen = cls((), settings.characters, settings.longest_history)
        counts: Counter[str] = Counter()
        for dialogue in dialogues:
            for said, state in chosen.turns(dialogue):
                for utterance in said:
                    counts.update(utterance)
                for value in filled(state).values():
                    counts.update(dict.fromkeys(chosen.cut(value), RAREST))
        words = tuple(sorted(word for word, count in counts.items() if count >= RAREST))
        return cls(words, settings.characters, settings.longest_history)

    @classmethod
    def checked(cls, words: Any, settings: TradeSettings) -> Vocabulary:
        """Return the vocabulary that a file has. Raises `ShapeError` for what is none."""
        if not is_texts(words) or len(set(words)) < len(words) or "" in words:
            raise ShapeError("words: expected a list of different texts")
        return cls(tuple(words), settings.characters, settings.longest_history)

    @property
    def size(self) -> int:
        """How many numbers there are, the special ones among them."""
        return SPECIAL + len(self.words)

    def cut(self, text: str) -> list[str]:
        """Return the words of a text; joined, they are the text. Raises `DependencyError`."""
        return list(text) if self.characters else pieces_of(text)

    def turns(self, dialogue: Dialogue) -> Iterator[tuple[list[list[str]], State]]:
        """Yield the words of the utterances that each turn adds, and the state after it."""
        before: list[list[str]] = []
        for exchange in dialogue.exchanges:
            yield [*before, self.cut(exchange.user.utterance)], exchange.system.first_query
            before = [self.cut(exchange.system.utterance)]

    def examples(self, dialogues: Iterable[Dialogue], longest_value: int) -> Iterator[Example]:
        """Yield the examples of dialogues, one an exchange.

        Of longer values the first `longest_value` words are learned.
        """
        numbers = {word: number for number, word in enumerate(self.words, start=SPECIAL)}
        for dialogue in dialogues:
            history: list[str | int] = []
            for said, state in self.turns(dialogue):
                for mark, utterance in zip(MARKS[-len(said) :], said, strict=True):
                    history += [mark, *utterance]
                yield self._example(history[-self.longest_history :], state, numbers, longest_value)

    def _example(
        self,
        history: Sequence[str | int],
        state: State,
        numbers: Mapping[str, int],
        longest_value: int,
    ) -> Example:
        strange = (word for word in history if isinstance(word, str) and word not in numbers)
        unknown = {word: self.size + place for place, word in enumerate(dict.fromkeys(strange))}
        text = Text(history)

        def number(word: str) -> int:
            return numbers.get(word) or unknown.get(word, UNKNOWN)

        return Example(
            np.array([w if isinstance(w, int) else number(w) for w in history], dtype=np.int32),
            tuple(unknown),
            {
                slot: tuple(map(number, (text.words_of(value) or self.cut(value))[:longest_value]))
                for slot, value in filled(state).items()
            },
        )

    def value(self, numbers: Sequence[int], unknown: Sequence[str]) -> str:
        """Return the text of a value's words."""
        size = self.size
        words = (self.words[n - SPECIAL] if n < size else unknown[n - size] for n in numbers)
        return "".join(words)


class Text:
    """A history as a text, in which values are found with the words that it is cut into."""

    def __init__(self, words: Sequence[str | int]) -> None:
        # What stands for a mark is in no value: values are found within utterances.
        self._words = [word if isinstance(word, str) else "\0" for word in words]
        self._text = "".join(self._words)
        self._starts = {
            start: place for place, start in enumerate(accumulate(map(len, self._words), initial=0))
        }

    def words_of(self, value: str) -> list[str]:
        """Return the words of the last place with this value, [] when words are cut otherwise."""
        start = self._text.rfind(value)
        while start >= 0:
            first, end = self._starts.get(start), self._starts.get(start + len(value))
            if first is not None and end is not None:
                return self._words[first:end]
            start = self._text.rfind(value, 0, start + len(value) - 1)
        return []


def filled(state: State) -> dict[int, str]:
    """Return the number of each slot that has a value → the value."""
    values = (state.get(domain, {}).get(slot, "") for domain, slot in SLOTS)
    return {number: value for number, value in enumerate(values) if value}
