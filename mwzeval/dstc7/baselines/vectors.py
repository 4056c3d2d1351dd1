"""Texts as words and vectors, and the dot products of many contexts with many candidates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the lower-case runs of letters, digits and underscores, in order."""
    return _WORD.findall(text.lower())


Scores = NDArray[np.float32]
Indices = NDArray[np.int64]

BLOCK = 32
"""Contexts scored against a pool at a time: 120,000 × 32 scores are 15 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """One vector for each of n texts, in two parts that lie side by side.

    `sparse` is a SciPy CSR matrix, n × words; `dense` an array, n × dimensions, or None.
    """

    sparse: Any
    dense: Scores | None = None

    def __len__(self) -> int:
        return int(self.sparse.shape[0])


def list_scores(contexts: Vectors, candidates: Vectors, sizes: Sequence[int]) -> list[Scores]:
    """Return the dot products of each context with its own candidates.

    `candidates` has the `sizes[0]` candidates of the first context, then those of the second, …
    """
    query = np.zeros(contexts.sparse.shape[1], dtype=np.float32)
    scores = []
    for index, stop in enumerate(accumulate(sizes)):
        rows = slice(stop - sizes[index], stop)
        row = contexts.sparse[index]
        query[row.indices] = row.data
        products = candidates.sparse[rows] @ query
        query[row.indices] = 0
        if contexts.dense is not None and candidates.dense is not None:
            products = products + candidates.dense[rows] @ contexts.dense[index]
        scores.append(products.astype(np.float32, copy=False))
    return scores


def pool_best(contexts: Vectors, pool: Vectors, most: int) -> list[tuple[Indices, Scores]]:
    """Return for each context the `most` candidates of a pool with the largest dot products.

    Rows of the pool and their scores, best first; the earlier row goes first when scores are equal.
    """
    return [best(scores, most) for scores in _pool_scores(contexts, pool)]


def _pool_scores(contexts: Vectors, pool: Vectors) -> Iterator[Scores]:
    for start in range(0, len(contexts), BLOCK):
        rows = slice(start, start + BLOCK)
        # Columns of a block, as sparse × dense: a sparse product would be nearly full, and slower.
        block = np.ascontiguousarray(contexts.sparse[rows].toarray().T)
        products = np.ascontiguousarray((pool.sparse @ block).T)
        if contexts.dense is not None and pool.dense is not None:
            products += contexts.dense[rows] @ pool.dense.T
        yield from products


def order(scores: Scores) -> Indices:
    """Return the places of scores from the highest to the lowest; equal ones stay in order."""
    return np.argsort(-scores, kind="stable")


def best(scores: Scores, most: int) -> tuple[Indices, Scores]:
    """Return the places of the `most` highest scores in that order, and these scores.

    The same as the head of `order`, without sorting everything.
    """
    if most >= len(scores):
        places = order(scores)
    else:
        last = np.partition(scores, len(scores) - most)[len(scores) - most]
        above = np.flatnonzero(scores > last)
        level = np.flatnonzero(scores == last)[: most - len(above)]
        places = np.concatenate([above[order(scores[above])], level])
    return places, scores[places]
