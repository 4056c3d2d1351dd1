"""Baselines that learn nothing: TF-IDF, BM25, and a random order to compare them with."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from mwzeval.dstc7.baselines.query import Query, Ranking
from mwzeval.dstc7.baselines.vectors import Vectors, words_of
from mwzeval.libraries import required

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


def tfidf_vectors(contexts: Sequence[str], candidates: Sequence[str]) -> tuple[Vectors, Vectors]:
    """Return vectors of length 1 whose dot product is the cosine of context and candidate.

    Weights are count × (1 + ln((1 + n) / (1 + df))) over the n candidates, scikit-learn's default;
    words that no candidate has are left out. Raises `DependencyError` without scikit-learn.
    """
    text = required("sklearn.feature_extraction.text", "retrieval")
    vectorizer = text.TfidfVectorizer(analyzer=words_of, dtype=np.float32)
    # `analyzer` yields no word at all when all texts are empty, which scikit-learn refuses.
    if not any(map(words_of, candidates)):
        from scipy import sparse

        empty = [sparse.csr_matrix((len(t), 1), dtype=np.float32) for t in (contexts, candidates)]
        return Vectors(empty[0]), Vectors(empty[1])
    of_candidates = vectorizer.fit_transform(candidates)
    return Vectors(vectorizer.transform(contexts)), Vectors(of_candidates)


def rank_at_random(queries: Sequence[Query], seed: int, extra: Sequence[str] = ()) -> list[Ranking]:
    """Return the candidates of each query in random order, scores falling from 1 to above 0.

    `extra` ids (NONE) are in every list. The order of an example depends on `seed` and its id
    only, not on the examples around it.
    """
    return [_shuffled(q.example, (*q.candidate_ids, *extra), None, seed) for q in queries]


def draw_from_pool(
    queries: Sequence[Query], pool_ids: Sequence[str], most: int, seed: int
) -> list[Ranking]:
    """Return for each query `most` different ids out of the pool, in random order."""
    return [_shuffled(query.example, pool_ids, most, seed) for query in queries]


def _shuffled(example: str, ids: Sequence[str], most: int | None, seed: int) -> Ranking:
    size = len(ids) if most is None else min(most, len(ids))
    drawn = _generator(example, seed).choice(max(len(ids), 1), size=size, replace=False)
    return Ranking(
        example, tuple((ids[index], 1 - rank / size) for rank, index in enumerate(drawn))
    )


def _generator(example: str, seed: int) -> np.random.Generator:
    digest = blake2b(f"{seed}:{example}".encode("utf-8", "backslashreplace"), digest_size=16)
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest(), "big")))
