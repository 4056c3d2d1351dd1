"""A trained dual encoder: weights, vocabulary and settings, in one file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mwzeval.dstc7.baselines.dual_encoder.arrays import Weights, shapes
from mwzeval.dstc7.baselines.dual_encoder.bags import candidate_bags, context_bags
from mwzeval.dstc7.baselines.dual_encoder.encoding import encode_candidates, encode_contexts
from mwzeval.dstc7.baselines.dual_encoder.settings import Settings
from mwzeval.dstc7.baselines.dual_encoder.vocabulary import Vocabulary
from mwzeval.dstc7.baselines.vectors import Vectors
from mwzeval.errors import UsageError
from mwzeval.files.tensor_files import read_arrays, refused, write_arrays

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
