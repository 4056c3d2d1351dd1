"""Texts to vectors with finished weights: NumPy and SciPy only, no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.dual_encoder.arrays import (
    LENGTH_OFFSET,
    WORD_VECTORS,
    Weights,
    side_names,
)
from mwzeval.dstc7.baselines.dual_encoder.bags import Bags
from mwzeval.dstc7.baselines.dual_encoder.settings import Settings
from mwzeval.dstc7.baselines.vectors import Vectors


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
