from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mwzeval.dstc7.baselines.vectors import BLOCK, Vectors, best, list_scores, order, pool_best

FEW_SCORES = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=1, max_size=30)


@given(FEW_SCORES, st.integers(1, 35))
def test_the_best_are_the_head_of_the_whole_order(scores: list[float], most: int) -> None:
    array = np.array(scores, dtype=np.float32)
    places, values = best(array, most)
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:most]
    assert places.tolist() == expected
    assert values.tolist() == [scores[place] for place in expected]
    assert order(array).tolist()[:most] == expected


def random_vectors(rows: int, seed: int, *, with_dense: bool) -> tuple[Vectors, np.ndarray]:
    """Return vectors, and the same as one full matrix."""
    generator = np.random.default_rng(seed)
    words = generator.integers(0, 3, (rows, 12)).astype(np.float32)
    dense = generator.standard_normal((rows, 4)).astype(np.float32) if with_dense else None
    whole = words if dense is None else np.hstack([words, dense])
    return Vectors(sparse.csr_matrix(words), dense), whole


@pytest.mark.parametrize("with_dense", [False, True])
def test_scores_of_lists_are_dot_products_with_the_own_context(with_dense: bool) -> None:
    sizes = [3, 0, 5, 1]
    contexts, whole_contexts = random_vectors(len(sizes), 1, with_dense=with_dense)
    candidates, whole_candidates = random_vectors(sum(sizes), 2, with_dense=with_dense)
    scores = list_scores(contexts, candidates, sizes)
    assert [len(row) for row in scores] == sizes
    start = 0
    for context, size, row in zip(whole_contexts, sizes, scores, strict=True):
        expected = [float(c @ context) for c in whole_candidates[start : start + size]]
        assert row.tolist() == pytest.approx(expected, rel=1e-5, abs=1e-5)
        start += size


@pytest.mark.parametrize("with_dense", [False, True])
def test_the_best_of_a_pool_are_those_of_all_dot_products(with_dense: bool) -> None:
    contexts, whole_contexts = random_vectors(2 * BLOCK + 3, 3, with_dense=with_dense)
    pool, whole_pool = random_vectors(200, 4, with_dense=with_dense)
    everything = whole_contexts @ whole_pool.T
    found = pool_best(contexts, pool, 10)
    assert len(found) == len(whole_contexts)
    for (places, scores), row in zip(found, everything, strict=True):
        assert scores.tolist() == pytest.approx(np.sort(row)[::-1][:10].tolist(), abs=1e-4)
        assert row[places].tolist() == pytest.approx(scores.tolist(), abs=1e-4)
        assert len(set(places.tolist())) == 10
