"""A baseline with its options, ready to rank; in subtask 4 with a score for NONE.

Those that learn nothing are here: TF-IDF, BM25, and a random order to compare them with. NONE gets
the same score in every list: the one with the best final score on labelled lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.dual_encoder.model import DualEncoder
from mwzeval.dstc7.baselines.query import (
    Knowledge,
    Query,
    Ranking,
    all_candidates,
    query_of,
    with_knowledge,
)
from mwzeval.dstc7.baselines.vectors import Vectors, list_scores, order, pool_best, words_of
from mwzeval.dstc7.reading.dialogues import read_pool, stream_examples
from mwzeval.dstc7.reading.tracks import NONE, RANKED, Track
from mwzeval.errors import InputError, Problem, UsageError, unknown
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


CUT = 10
"""The final score is (MRR + Recall@10) / 2 (the organisers' site, "Evaluation")."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """NONE's score, and the final score (0 to 1) that it gives on the examples it was tuned on."""

    score: float
    final_score: float


def tune(rankings: Sequence[Ranking], correct: Sequence[Iterable[str]]) -> Threshold:
    """Return the score for NONE with the highest final score on these examples.

    `correct` holds the right ids of each ranking, or NONE alone. Of all scores that do equally
    well the middle of the lowest range is taken. Exact: the final score changes only at scores of
    candidates, and each of them is tried. Raises `ValueError` without examples.
    """
    if not rankings:
        raise ValueError("a threshold needs examples to be tuned on")
    base = 0.0
    places: list[NDArray[np.float64]] = []
    changes: list[NDArray[np.float64]] = []
    for ranking, right in zip(rankings, correct, strict=True):
        gained, at, by = _steps(ranking, frozenset(right))
        base += gained
        places.append(at)
        changes.append(by)
    at_all, which = np.unique(np.concatenate(places), return_inverse=True)
    by_all = np.bincount(which, weights=np.concatenate(changes), minlength=len(at_all))
    # totals[i]: what is gained with at_all[i - 1] < threshold <= at_all[i].
    totals = np.concatenate([[base], base + np.cumsum(by_all)])
    winner = int(np.flatnonzero(totals >= totals.max() - 1e-9)[0])
    return Threshold(_between(at_all, winner), float(totals[winner]) / len(rankings))


def insert_none(ranking: Ranking, score: float) -> Ranking:
    """Return the ranking with NONE among the others, below those with just its score."""
    above = sum(other >= score for _, other in ranking.entries)
    entries = (*ranking.entries[:above], (NONE, score), *ranking.entries[above:])
    return Ranking(ranking.example, entries)


def _steps(
    ranking: Ranking, right: frozenset[str]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return what an example gains with NONE at the bottom, and by how much that changes.

    NONE rises above a candidate as soon as its score is higher: places are these scores.
    """
    scores = np.array([score for _, score in ranking.entries], dtype=np.float64)
    if right == {NONE}:
        gains = _gain(np.arange(len(scores) + 1, 0, -1))
        return float(gains[0]), scores[::-1], np.diff(gains)
    rank = next((n for n, (name, _) in enumerate(ranking.entries, 1) if name in right), None)
    if rank is None:
        return 0.0, np.zeros(0), np.zeros(0)
    before, after = _gain(np.array([rank, rank + 1]))
    return float(before), scores[rank - 1 : rank], np.array([after - before])


def _gain(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    return (1 / ranks + (ranks <= CUT)) / 2


def _between(places: NDArray[np.float64], winner: int) -> float:
    if not len(places):
        return 0.0
    if winner == 0:
        return float(places[0]) - 1
    if winner == len(places):
        return float(places[-1]) + 1
    low, high = float(places[winner - 1]), float(places[winner])
    middle = low + (high - low) / 2
    return middle if low < middle else high


RANDOM, TFIDF, BM25, DUAL_ENCODER = "random", "tfidf", "bm25", "dual-encoder"
BASELINES = (RANDOM, TFIDF, BM25, DUAL_ENCODER)


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """Which baseline is to rank, and what it is to look at.

    `model` is the folder or file of a trained dual encoder, and needed just for that; `seed`
    matters for `random` only. With `last_message` contexts are their last message. `knowledge` is
    looked up for contexts and candidates (subtask 5). Raises `UsageError` when the name is unknown,
    or a model is missing or useless.
    """

    name: str
    model: str | Path | None = None
    seed: int = 0
    last_message: bool = False
    knowledge: Knowledge | None = None

    def __post_init__(self) -> None:
        if self.name not in BASELINES:
            raise UsageError(unknown("baseline", self.name, BASELINES))
        if (self.name == DUAL_ENCODER) != (self.model is not None):
            what = "needs the folder of" if self.model is None else "makes no use of"
            raise UsageError(f"{self.name} {what} a trained model")

    def queries(self, dialogues: str | Path) -> Iterator[Query]:
        """Yield the examples of a dialogue file as this baseline sees them. Raises `InputError`."""
        for example in stream_examples(dialogues):
            yield query_of(example, last_message=self.last_message, knowledge=self.knowledge)


class Ranker:
    """A baseline that is ready to rank lists, or the pool of subtask 2, which it reads."""

    def __init__(self, baseline: Baseline, track: Track, pool: str | Path | None = None) -> None:
        self._baseline = baseline
        self._has_none = track.has_none
        self._pool = None if pool is None else read_pool(pool)
        model = baseline.model
        self._model = None if model is None else DualEncoder.load(model)

    def rank(self, queries: Sequence[Query]) -> list[Ranking]:
        """Return the ranking of each query: its whole list, or the best 100 of the pool."""
        if self._pool is not None:
            return self._search(queries, self._pool)
        if self._baseline.name == RANDOM:
            return rank_at_random(queries, self._baseline.seed, extra=self._extra())
        vectors = self._vectors(queries, all_candidates(queries))
        scores = list_scores(*vectors, [len(query.candidates) for query in queries])
        return [
            _ranking(query.example, query.candidate_ids, order(row), row[order(row)])
            for query, row in zip(queries, scores, strict=True)
        ]

    def threshold(self, dev: str | Path) -> Threshold:
        """Return the best score for NONE on a dialogue file with answers.

        Raises `InputError` when none of its examples can be ranked.
        """
        queries = [query for query in self._baseline.queries(dev) if query.correct]
        if not queries:
            message = "no example says what is correct: NONE has nothing to be tuned on"
            raise InputError([Problem("no-dev-data", message, file=str(dev))])
        return tune(self.rank(queries), [query.correct for query in queries])

    def _extra(self) -> tuple[str, ...]:
        return (NONE,) if self._has_none else ()

    def _search(self, queries: Sequence[Query], pool: Mapping[str, str]) -> list[Ranking]:
        ids = list(pool)
        if self._baseline.name == RANDOM:
            return draw_from_pool(queries, ids, RANKED, self._baseline.seed)
        texts = [with_knowledge(text, self._baseline.knowledge) for text in pool.values()]
        found = pool_best(*self._vectors(queries, texts), RANKED)
        return [
            _ranking(query.example, ids, places, scores)
            for query, (places, scores) in zip(queries, found, strict=True)
        ]

    def _vectors(
        self, queries: Sequence[Query], candidates: Sequence[str]
    ) -> tuple[Vectors, Vectors]:
        if self._model is not None:
            messages = [query.messages for query in queries]
            return self._model.contexts(messages), self._model.candidates(candidates)
        vectors = tfidf_vectors if self._baseline.name == TFIDF else bm25_vectors
        return vectors([query.context for query in queries], candidates)


def _ranking(
    example: str, ids: Sequence[str], places: Iterable[int], scores: Iterable[float]
) -> Ranking:
    entries = zip((ids[place] for place in places), map(float, scores), strict=True)
    return Ranking(example, tuple(entries))
