"""A trained dual encoder: vocabulary, weights and settings in one file, and texts to vectors.

NumPy and SciPy only: to rank needs no PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.dual_encoder.arrays import (
    LENGTH_OFFSET,
    WORD_VECTORS,
    Bags,
    Settings,
    Weights,
    candidate_bags,
    context_bags,
    shapes,
    side_names,
)
from mwzeval.dstc7.baselines.vectors import Vectors, words_of
from mwzeval.errors import UsageError
from mwzeval.neural.state import read_arrays, refused, write_arrays


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


def encode_contexts(bags: Bags, weights: Weights, settings: Settings) -> Vectors:
    """Return the vectors of contexts, scaled so that dot products are scores."""
    sparse, dense = _encoded(bags, weights, side_names(settings)[0], 0)
    sparse *= np.exp(weights["sparse_scale"])
    dense *= np.exp(weights["dense_scale"])
    return Vectors(sparse, dense)


def encode_candidates(bags: Bags, weights: Weights, settings: Settings) -> Vectors:
    """Return the vectors of candidates."""
    return Vectors(*_encoded(bags, weights, side_names(settings)[1], 1))


def _encoded(bags: Bags, weights: Weights, side: str, which: int) -> tuple[Any, NDArray[Any]]:
    from scipy import sparse

    vectors = weights[f"{side}.{WORD_VECTORS}"]
    shape = (len(bags), len(vectors))
    sizes = bags.sizes.astype(np.float32)

    def matrix(kind: str) -> Any:
        ages = np.exp(weights[f"{side}.{kind}_ages"])
        values = weights[f"{side}.{kind}_words"][bags.words] * ages[bags.ages]
        # A copy, because adding up repeated words sorts in place.
        summed = sparse.csr_matrix((values, bags.words, bags.starts), shape=shape, copy=True)
        summed.sum_duplicates()
        return summed

    def discount(kind: str) -> NDArray[np.float32]:
        power = 1 / (1 + np.exp(-weights[f"{kind}_lengths"][which]))
        result: NDArray[np.float32] = (sizes + np.float32(LENGTH_OFFSET)) ** -power
        return result

    words = matrix("sparse")
    words.data = np.log1p(np.maximum(words.data, 0)) * np.repeat(
        discount("sparse"), np.diff(words.indptr)
    )
    return words, (matrix("dense") @ vectors) * discount("dense")[:, None]


MODEL_FILE = "model.safetensors"
KIND = "dual encoder"
VOCABULARY = "vocabulary"


@dataclass(frozen=True, slots=True, eq=False)
class DualEncoder:
    """Turns contexts and candidates into vectors whose dot product is the score."""

    settings: Settings
    vocabulary: Vocabulary
    weights: Weights

    def contexts(self, contexts: Iterable[Sequence[str]]) -> Vectors:
        """Return the vectors of contexts, each a sequence of messages, oldest first."""
        numbers = ([self.vocabulary.numbers_of(text) for text in said] for said in contexts)
        bags = context_bags(numbers, self.settings.context_words, self.settings.ages)
        return encode_contexts(bags, self.weights, self.settings)

    def candidates(self, candidates: Iterable[str]) -> Vectors:
        """Return the vectors of candidates."""
        numbers = map(self.vocabulary.numbers_of, candidates)
        bags = candidate_bags(numbers, self.settings.candidate_words)
        return encode_candidates(bags, self.weights, self.settings)

    def save(self, folder: str | Path, about: Any = None) -> Path:
        """Write the model into a folder and return the file; `about` is kept with it."""
        path = Path(folder, MODEL_FILE)
        words = np.frombuffer("\n".join(self.vocabulary.words).encode(), dtype=np.uint8)
        description = {"settings": self.settings.to_json(), "training": about}
        write_arrays(path, KIND, {**self.weights, VOCABULARY: words}, description)
        return path

    @classmethod
    def load(cls, path: str | Path) -> DualEncoder:
        """Return the model of a file, or of a folder that `train` wrote.

        Raises `InputError` when it is damaged, not a model of this kind or not safetensors.
        """
        file = Path(path, MODEL_FILE) if Path(path).is_dir() else Path(path)
        arrays, about = read_arrays(file, KIND)
        try:
            settings = Settings.of(about["settings"])
            words = arrays.pop(VOCABULARY).tobytes().decode()
        except (UsageError, KeyError, TypeError, ValueError) as error:
            raise refused(file, f"the description of the model is damaged ({error})") from None
        vocabulary = Vocabulary(words.split("\n") if words else (), settings.buckets)
        check_weights(arrays, settings, len(vocabulary), file)
        return cls(settings, vocabulary, arrays)


def check_weights(arrays: Weights, settings: Settings, words: int, file: str | Path) -> None:
    """Raise `InputError` unless these are just the weights that the settings ask for."""
    expected = shapes(settings, words)
    if set(arrays) != set(expected):
        names = ", ".join(sorted(set(arrays) ^ set(expected)))
        raise refused(file, f"weights that are missing or unknown: {names}")
    for name, shape in expected.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float32:
            found = f"{array.dtype} {array.shape}"
            raise refused(file, f'the weight "{name}" is {found}, not float32 {shape}')
        if not np.isfinite(array).all():
            raise refused(file, f'the weight "{name}" has values that are not finite')
