"""BM25: rare words that context and candidate share, long candidates at a discount (bm25s)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mwzeval.dstc7.baselines.vectors import Vectors
from mwzeval.dstc7.baselines.words import words_of
from mwzeval.version import required

K1 = 1.5
B = 0.75


def bm25_vectors(contexts: Sequence[str], candidates: Sequence[str]) -> tuple[Vectors, Vectors]:
    """Return vectors of contexts and candidates whose dot product is BM25.

    All candidates together are the collection that word frequencies and the mean length are taken
    from; a word counts as often as the context has it. Lucene's variant, as in bm25s (Lù 2024).
    Raises `DependencyError` when bm25s is not installed.
    """
    bm25s = required("bm25s", "retrieval")
    vocabulary: dict[str, int] = {}
    documents = [
        [vocabulary.setdefault(word, len(vocabulary)) for word in words_of(text)]
        for text in candidates
    ]
    size = max(len(vocabulary), 1)
    counts = _word_counts(contexts, vocabulary, size)
    return Vectors(counts), Vectors(_weights(bm25s, documents, vocabulary, size))


def _weights(bm25s: Any, documents: list[list[int]], vocabulary: dict[str, int], size: int) -> Any:
    from scipy import sparse

    if not vocabulary:
        return sparse.csr_matrix((len(documents), size), dtype=np.float32)
    index = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy", csc_backend="scipy")
    index.index((documents, vocabulary), create_empty_token=False, show_progress=False)
    parts = (index.scores["data"], index.scores["indices"], index.scores["indptr"])
    return sparse.csc_matrix(parts, shape=(len(documents), size)).tocsr()


def _word_counts(texts: Sequence[str], vocabulary: dict[str, int], size: int) -> Any:
    from scipy import sparse

    rows = [[vocabulary[word] for word in words_of(t) if word in vocabulary] for t in texts]
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter((column for row in rows for column in row), np.int64, starts[-1])
    ones = np.ones(len(columns), dtype=np.float32)
    counts = sparse.csr_matrix((ones, columns, starts), shape=(len(texts), size))
    counts.sum_duplicates()
    return counts
