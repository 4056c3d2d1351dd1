"""The arrays of a dual encoder: its settings, texts as word numbers, weights with first values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError
from mwzeval.neural.training import TrainingSettings


@dataclass(frozen=True, slots=True)
class Settings(TrainingSettings):
    """Choices of model and training. Raises `UsageError` for values that make no sense."""

    shared: bool = True
    """One encoder for contexts and candidates, or two that begin alike."""
    dimensions: int = 64
    """Length of the word vectors."""
    minimum_count: int = 2
    """Words seen less often in the training file have no entry of their own."""
    largest_vocabulary: int = 100_000
    """The most frequent words only."""
    buckets: int = 16_384
    """Entries that all other words share, chosen by a hash of the word."""
    context_words: int = 160
    """The most recent words of a context; earlier ones are cut off."""
    candidate_words: int = 80
    """The first words of a candidate."""
    ages: int = 8
    """Weights for words of the last message, the one before, …, and all earlier ones."""
    batch_size: int = 256
    """Examples of a step; each has the answers of the others as wrong candidates."""
    learning_rate: float = 0.003
    """Of Adam, for all parameters."""
    dropout: float = 0.3
    """Share of the words left out of the dense sums, drawn anew for each batch."""
    epochs: int = 20
    """The most passes over the training examples."""
    evaluate_every: int = 100
    """Steps between two evaluations on dev, each followed by a checkpoint."""
    patience: int = 6
    """Evaluations without a better final score on dev, after which training stops."""
    dev_examples: int = 1_000
    """Examples of the dev file that are scored, from its beginning."""

    def __post_init__(self) -> None:
        TrainingSettings.__post_init__(self)
        if self.batch_size < 2:
            raise UsageError("batch_size cannot be 1: the other examples have the wrong answers")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Any) -> Settings:
        """Return settings from plain values. Raises `UsageError` for unknown names or values."""
        known = {field.name for field in fields(cls)}
        if not isinstance(plain, dict) or set(plain) != known:
            raise UsageError("not the settings of a dual encoder of this version")
        return cls(**plain)


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


Weights = Mapping[str, NDArray[np.float32]]

CONTEXT, CANDIDATE, SHARED = "context", "candidate", "shared"
WORD_VECTORS = "word_vectors"
LENGTH_OFFSET = 2.0
"""Added to the number of words before sums are divided by a power of it."""


def side_names(settings: Settings) -> tuple[str, str]:
    """Return the prefixes of the weights of contexts and of candidates."""
    return (SHARED, SHARED) if settings.shared else (CONTEXT, CANDIDATE)


def shapes(settings: Settings, words: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight for a vocabulary of so many words."""
    encoder: dict[str, tuple[int, ...]] = {
        WORD_VECTORS: (words, settings.dimensions),
        "dense_words": (words,),
        "sparse_words": (words,),
        "dense_ages": (settings.ages,),
        "sparse_ages": (settings.ages,),
    }
    sides = dict.fromkeys(side_names(settings))
    return {f"{side}.{name}": shape for side in sides for name, shape in encoder.items()} | {
        # The discount of long texts may differ between the sides even of a shared encoder.
        "dense_lengths": (2,),
        "sparse_lengths": (2,),
        "dense_scale": (),
        "sparse_scale": (),
    }


def first_weights(
    settings: Settings, rarity: NDArray[np.float64]
) -> dict[str, NDArray[np.float32]]:
    """Return the weights before training: what TF-IDF knows, and random word vectors.

    `rarity` is the inverse document frequency of each word, between 0 and 1.
    """
    generator = np.random.Generator(np.random.PCG64(settings.seed))
    vectors = generator.standard_normal((len(rarity), settings.dimensions), dtype=np.float32)
    vectors *= FIRST_VECTOR_LENGTH / settings.dimensions**0.5
    first: dict[str, Any] = {
        WORD_VECTORS: vectors,
        "dense_words": rarity,
        "sparse_words": rarity,
        "dense_lengths": -0.7,
        "sparse_lengths": -0.7,
        "dense_scale": FIRST_SCALE,
        "sparse_scale": FIRST_SCALE,
    }
    return {
        name: np.broadcast_to(first.get(name.split(".")[-1], 0.0), shape).astype(np.float32)
        for name, shape in shapes(settings, len(rarity)).items()
    }


FIRST_VECTOR_LENGTH = 0.3
"""Short, so that chance products of different words are small beside exact matches."""
FIRST_SCALE = 2.6
"""Natural logarithm of what dot products are multiplied by, so that the softmax can be sure."""
