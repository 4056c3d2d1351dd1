"""Scores of all contexts of a batch with all its candidates, with gradients (PyTorch)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mwzeval.dstc7.baselines.dual_encoder.arrays import LENGTH_OFFSET, WORD_VECTORS, side_names
from mwzeval.dstc7.baselines.dual_encoder.bags import Bags
from mwzeval.dstc7.baselines.dual_encoder.settings import Settings

if TYPE_CHECKING:
    from torch import Generator, Tensor


def batch_scores(
    parameters: dict[str, Tensor],
    contexts: Bags,
    candidates: Bags,
    settings: Settings,
    dropping: Generator | None = None,
) -> Tensor:
    """Return the scores, contexts × candidates; with `dropping`, words are left out at random.

    The same as the dot products of `encoding`, without dropout to the last bits.
    """
    left, right = side_names(settings)
    dropout = settings.dropout if dropping is not None else 0.0
    dense = _dense(parameters, contexts, left, 0, dropout, dropping) @ (
        _dense(parameters, candidates, right, 1, dropout, dropping).T
    )
    # Only words on both sides add to a product.
    common = np.intersect1d(contexts.words, candidates.words)
    sparse = _sparse(parameters, contexts, left, 0, common) @ (
        _sparse(parameters, candidates, right, 1, common).T
    )
    return parameters["dense_scale"].exp() * dense + parameters["sparse_scale"].exp() * sparse


def _dense(
    parameters: dict[str, Tensor],
    bags: Bags,
    side: str,
    which: int,
    dropout: float,
    dropping: Generator | None,
) -> Tensor:
    import torch

    words = torch.from_numpy(bags.words.astype(np.int64))
    weights = _word_weights(parameters, bags, side, "dense")
    if dropout:
        kept = torch.rand(len(words), generator=dropping) >= dropout
        weights = weights * kept / (1 - dropout)
    summed = torch.nn.functional.embedding_bag(
        words,
        parameters[f"{side}.{WORD_VECTORS}"],
        torch.from_numpy(bags.starts[:-1].copy()),
        mode="sum",
        per_sample_weights=weights,
        sparse=True,
    )
    return summed * _discount(parameters, bags, "dense", which)


def _sparse(
    parameters: dict[str, Tensor], bags: Bags, side: str, which: int, common: np.ndarray
) -> Tensor:
    import torch

    columns = np.searchsorted(common, bags.words)
    columns[columns == len(common)] = 0
    is_common = common[columns] == bags.words if len(common) else np.zeros(len(columns), bool)
    rows = np.repeat(np.arange(len(bags)), bags.sizes)
    places = torch.from_numpy((rows * len(common) + columns)[is_common])
    weights = _word_weights(parameters, bags, side, "sparse")[torch.from_numpy(is_common)]
    summed = torch.zeros(len(bags) * len(common)).index_add(0, places, weights)
    matrix = summed.view(len(bags), len(common)).relu().log1p()
    return matrix * _discount(parameters, bags, "sparse", which)


def _word_weights(parameters: dict[str, Tensor], bags: Bags, side: str, kind: str) -> Tensor:
    import torch

    words = torch.from_numpy(bags.words.astype(np.int64))
    ages = torch.from_numpy(bags.ages.astype(np.int64))
    of_words: Tensor = parameters[f"{side}.{kind}_words"][words]
    return of_words * parameters[f"{side}.{kind}_ages"].exp()[ages]


def _discount(parameters: dict[str, Tensor], bags: Bags, kind: str, which: int) -> Tensor:
    import torch

    sizes = torch.from_numpy(bags.sizes.astype(np.float32))
    power = parameters[f"{kind}_lengths"][which].sigmoid()
    return (sizes + LENGTH_OFFSET).pow(-power)[:, None]
