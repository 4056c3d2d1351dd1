"""TF-IDF: the cosine of context and candidate, words weighted by how rare they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mwzeval.dstc7.baselines.vectors import Vectors
from mwzeval.dstc7.baselines.words import words_of
from mwzeval.version import required


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
