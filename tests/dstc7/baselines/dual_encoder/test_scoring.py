"""The scores that are learned from are those that rank: PyTorch and NumPy against each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from mwzeval.dstc7.baselines.dual_encoder.arrays import candidate_bags, context_bags, shapes
from mwzeval.dstc7.baselines.dual_encoder.model import encode_candidates, encode_contexts
from mwzeval.dstc7.baselines.dual_encoder.training import batch_scores
from mwzeval.dstc7.baselines.vectors import list_scores
from tests.dstc7.baselines.conversations import SMALL

WORDS = 30
CONTEXTS: list[list[list[int]]] = [[[1, 2, 2], [3]], [[4], [], [5, 1]], [[]], [[9, 9, 9, 9]]]
CANDIDATES: list[list[int]] = [[1, 2], [5, 5, 7], [], [9, 29]]


@pytest.mark.parametrize("is_shared", [True, False])
def test_learning_and_ranking_see_the_same_scores(is_shared: bool) -> None:
    settings = replace(SMALL, shared=is_shared, ages=2)
    generator = np.random.default_rng(5)
    weights = {
        name: generator.standard_normal(shape).astype(np.float32)
        for name, shape in shapes(settings, WORDS).items()
    }
    contexts, candidates = context_bags(CONTEXTS, 40, 2), candidate_bags(CANDIDATES, 40)
    parameters = {name: torch.tensor(array) for name, array in weights.items()}
    learned = batch_scores(parameters, contexts, candidates, settings).numpy()
    # Every context with every candidate, as lists.
    everyone = candidate_bags(CANDIDATES * len(CONTEXTS), 40)
    ranked = list_scores(
        encode_contexts(contexts, weights, settings),
        encode_candidates(everyone, weights, settings),
        [len(CANDIDATES)] * len(CONTEXTS),
    )
    assert np.abs(learned).max() > 0.1
    np.testing.assert_allclose(learned, np.stack(ranked), rtol=1e-4, atol=1e-4)


def test_encoding_leaves_the_words_as_they_were() -> None:
    settings = replace(SMALL, ages=2)
    weights = {
        name: np.ones(shape, dtype=np.float32) for name, shape in shapes(settings, WORDS).items()
    }
    bags = context_bags([[[7, 1, 7, 3]]], 40, 2)
    first = encode_contexts(bags, weights, settings).sparse.toarray()
    assert bags.words.tolist() == [7, 1, 7, 3]
    assert (encode_contexts(bags, weights, settings).sparse.toarray() == first).all()
