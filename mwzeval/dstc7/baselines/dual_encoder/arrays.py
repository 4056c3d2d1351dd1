"""The numbers that a dual encoder learns: their names, shapes and first values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.dual_encoder.settings import Settings

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
