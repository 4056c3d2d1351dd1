"""Baselines that rank the candidates of dialogue files and write submissions.

Candidates of an example or of a pool are ranked by the dot product of a context vector and a
candidate vector. This module has the baselines without training: TF-IDF, BM25 and a random order of
the candidates. In subtask 4, the candidate NONE has the same score in every list. The score of NONE
is tuned on lists with known answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.query import (
    CUT,
    Knowledge,
    Query,
    Vectors,
    all_candidates,
    list_scores,
    order,
    pool_best,
    query_of,
    with_knowledge,
    words_of,
)
from mwzeval.dstc7.dialogues import read_pool, stream_examples
from mwzeval.dstc7.submission import Ranked, write_submission
from mwzeval.dstc7.tracks import CHOICES, NONE, RANKED, Track
from mwzeval.errors import InputError, Problem, UsageError, unknown
from mwzeval.libraries import required

if TYPE_CHECKING:
    from mwzeval.dstc7.baselines.dual_encoder import Settings
    from mwzeval.neural import Point, Watch

K1 = 1.5
B = 0.75


def bm25_vectors(contexts: Sequence[str], candidates: Sequence[str]) -> tuple[Vectors, Vectors]:
    """Return vectors of contexts and candidates whose dot product is the BM25 score.

    Document frequencies and the mean length are computed over all candidates. Each occurrence of a
    word in the context counts. The BM25 variant is Lucene's, as in bm25s (Lù 2024). Raises
    `DependencyError` if bm25s is not installed.
    """
    bm25s = required("bm25s", "retrieval")
    from scipy import sparse

    vocabulary: dict[str, int] = {}
    documents = [
        [vocabulary.setdefault(word, len(vocabulary)) for word in words_of(text)]
        for text in candidates
    ]
    size = max(len(vocabulary), 1)
    weights = sparse.csr_matrix((len(documents), size), dtype=np.float32)
    if vocabulary:
        index = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy", csc_backend="scipy")
        index.index((documents, vocabulary), create_empty_token=False, show_progress=False)
        parts = (index.scores["data"], index.scores["indices"], index.scores["indptr"])
        weights = sparse.csc_matrix(parts, shape=(len(documents), size)).tocsr()
    rows = [[vocabulary[word] for word in words_of(t) if word in vocabulary] for t in contexts]
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter((column for row in rows for column in row), np.int64, starts[-1])
    ones = np.ones(len(columns), dtype=np.float32)
    counts = sparse.csr_matrix((ones, columns, starts), shape=(len(contexts), size))
    counts.sum_duplicates()
    return Vectors(counts), Vectors(weights)


def tfidf_vectors(contexts: Sequence[str], candidates: Sequence[str]) -> tuple[Vectors, Vectors]:
    """Return unit vectors of contexts and candidates, whose dot product is their cosine.

    Weights are count × (1 + ln((1 + n) / (1 + df))) over the n candidates, scikit-learn's default.
    Words that occur in no candidate are ignored. Raises `DependencyError` without scikit-learn.
    """
    text = required("sklearn.feature_extraction.text", "retrieval")
    vectorizer = text.TfidfVectorizer(analyzer=words_of, dtype=np.float32)
    # If all texts are empty, `analyzer` yields no words, which scikit-learn rejects.
    if not any(map(words_of, candidates)):
        from scipy import sparse

        empty = [sparse.csr_matrix((len(t), 1), dtype=np.float32) for t in (contexts, candidates)]
        return Vectors(empty[0]), Vectors(empty[1])
    of_candidates = vectorizer.fit_transform(candidates)
    return Vectors(vectorizer.transform(contexts)), Vectors(of_candidates)


def at_random(example: str, ids: Sequence[str], seed: int, most: int | None = None) -> Ranked:
    """Return at most `most` candidates in random order, with decreasing scores from 1 to above 0.

    The order depends only on `seed` and the id of the example.
    """
    size = len(ids) if most is None else min(most, len(ids))
    digest = blake2b(f"{seed}:{example}".encode("utf-8", "backslashreplace"), digest_size=16)
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest(), "big")))
    drawn = generator.choice(max(len(ids), 1), size=size, replace=False)
    entries = ((ids[index], 1 - rank / size) for rank, index in enumerate(drawn))
    return Ranked(example, tuple(entries))


def tune(rankings: Sequence[Ranked], correct: Sequence[Iterable[str]]) -> float:
    """Return the score of NONE with the highest final score on these examples.

    `correct` has the ids of the correct candidates for each ranking, or only NONE. If several
    scores are best, the result is the middle of the lowest range of such scores. The result is
    exact: the final score changes only at the scores of candidates, and all of these scores are
    tried.
    """
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
    # totals[i] is the sum of final scores with at_all[i - 1] < threshold <= at_all[i].
    totals = np.concatenate([[base], base + np.cumsum(by_all)])
    winner = int(np.flatnonzero(totals >= totals.max() - 1e-9)[0])
    return _between(at_all.tolist(), winner)


def insert_none(ranking: Ranked, score: float) -> Ranked:
    """Return the ranking with NONE inserted, after the candidates with the same score."""
    above = sum(other >= score for _, other in ranking.entries)
    entries = (*ranking.entries[:above], (NONE, score), *ranking.entries[above:])
    return Ranked(ranking.example, entries)


def _steps(
    ranking: Ranked, right: frozenset[str]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return an example's final score with NONE in last place, and the changes of this score.

    The score changes where the score of NONE exceeds that of a candidate.
    """

    def gain(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
        return (1 / ranks + (ranks <= CUT)) / 2

    scores = np.array([score for _, score in ranking.entries], dtype=np.float64)
    if right == {NONE}:
        gains = gain(np.arange(len(scores) + 1, 0, -1))
        return float(gains[0]), scores[::-1], np.diff(gains)
    rank = next((n for n, (name, _) in enumerate(ranking.entries, 1) if name in right), None)
    if rank is None:
        return 0.0, np.zeros(0), np.zeros(0)
    before, after = gain(np.array([rank, rank + 1]))
    return float(before), scores[rank - 1 : rank], np.array([after - before])


def _between(places: Sequence[float], winner: int) -> float:
    if not places:
        return 0.0
    if winner == 0:
        return places[0] - 1
    if winner == len(places):
        return places[-1] + 1
    low, high = places[winner - 1], places[winner]
    middle = low + (high - low) / 2
    return middle if low < middle else high


def as_choices(ranking: Ranked, *, are_logarithms: bool) -> Ranked:
    """Return the ten best candidates of a ranking with probabilities that add up to 1.

    If the scores are logarithms of odds (dual encoder), the probabilities are their softmax. For
    scores of other baselines, the probabilities are proportional to the positive scores; without
    positive scores, all probabilities are equal.
    """
    choices = ranking.entries[:CHOICES]
    scores = [score for _, score in choices]
    weights = [max(score, 0.0) for score in scores]
    if are_logarithms:
        weights = [math.exp(score - max(scores)) for score in scores]
    total = math.fsum(weights)
    shares = [weight / total if total else 1 / len(choices) for weight in weights]
    names = (name for name, _ in choices)
    return Ranked(ranking.example, tuple(zip(names, shares, strict=True)))


RANDOM, TFIDF, BM25, DUAL_ENCODER = "random", "tfidf", "bm25", "dual-encoder"
BASELINES = (RANDOM, TFIDF, BM25, DUAL_ENCODER)


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """A baseline and its input.

    `model` is the folder or file of a trained dual encoder, and is required only for the baseline
    with this model. Only `random` uses `seed`. With `last_message`, a context is only its last
    message. `knowledge` adds descriptions to contexts and candidates (subtask 5). Raises
    `UsageError` if the name is unknown, if a required model is missing, or if a baseline without
    model gets a model.
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
            what = "needs the folder of" if self.model is None else "does not use"
            raise UsageError(f"{self.name} {what} a trained model")

    def queries(self, dialogues: str | Path) -> Iterator[Query]:
        """Yield the inputs of this baseline for the examples of a dialogue file.

        Raises `InputError`.
        """
        for example in stream_examples(dialogues):
            yield query_of(example, last_message=self.last_message, knowledge=self.knowledge)

    def rank(
        self, queries: Sequence[Query], track: Track, pool: Mapping[str, str] | None = None
    ) -> list[Ranked]:
        """Return the ranking of each query: all of its candidates, or the best 100 of the pool."""
        pool_ids = tuple(pool or ())
        if self.name == RANDOM and pool is not None:
            return [at_random(query.example, pool_ids, self.seed, RANKED) for query in queries]
        if self.name == RANDOM:
            more = (NONE,) if track.has_none else ()
            return [at_random(q.example, (*q.candidate_ids, *more), self.seed) for q in queries]
        if pool is not None:
            texts = [with_knowledge(text, self.knowledge) for text in pool.values()]
            found = pool_best(*self._vectors(queries, texts), RANKED)
            ranked = [(pool_ids, *places_and_scores) for places_and_scores in found]
        else:
            vectors = self._vectors(queries, all_candidates(queries))
            rows = list_scores(*vectors, [len(query.candidates) for query in queries])
            ranked = [
                (query.candidate_ids, order(row), row[order(row)])
                for query, row in zip(queries, rows, strict=True)
            ]
        return [
            Ranked(
                query.example,
                tuple(zip((ids[place] for place in places), scores.tolist(), strict=True)),
            )
            for query, (ids, places, scores) in zip(queries, ranked, strict=True)
        ]

    def _vectors(
        self, queries: Sequence[Query], candidates: Sequence[str]
    ) -> tuple[Vectors, Vectors]:
        if self.model is None:
            vectors = tfidf_vectors if self.name == TFIDF else bm25_vectors
            return vectors([query.context for query in queries], candidates)
        required("torch", "neural")
        from mwzeval.dstc7.baselines.dual_encoder import DualEncoder

        model = DualEncoder.load(self.model)
        return model.contexts(query.messages for query in queries), model.candidates(candidates)


@dataclass(frozen=True, slots=True)
class Predicted:
    """The number of written examples, and the score of NONE if it was tuned."""

    examples: int
    tuned: float | None = None


def predict(
    baseline: Baseline,
    track: Track,
    dialogues: str | Path,
    output: str | Path,
    *,
    pool: str | Path | None = None,
    dev: str | Path | None = None,
    none_score: float | None = None,
    choices: bool = False,
) -> Predicted:
    """Rank the candidates of a dialogue file and write the submission.

    Subtask 2 requires the `pool`. In subtask 4, NONE is added to every list with the same score:
    `none_score` if given, otherwise the best score on `dev`, a dialogue file with answers. Without
    `none_score` and `dev`, NONE is not added to the lists. The random baseline gives NONE a random
    rank. Confidences are the baseline's scores. With `choices`, only the ten best candidates are
    written, with probabilities as required by the F-score.

    Raises `UsageError` if options cannot be combined, `InputError` if a file is invalid, and
    `DependencyError` if a library of an extra is not installed.
    """
    if track.has_pool != (pool is not None):
        what = "needs its pool of candidates" if track.has_pool else "has no pool of candidates"
        raise UsageError(f"{track.name} {what}")
    if dev is not None or none_score is not None:
        if baseline.name == RANDOM:
            raise UsageError(
                "the random baseline gives NONE a random position: leave out the score of NONE"
            )
        if not track.has_none:
            raise UsageError(f"{track.name} always has a right answer: NONE is for subtask 4")
        if dev is not None and none_score is not None:
            raise UsageError("give the score of NONE or tune it on dev, not both")
        if none_score is not None and not math.isfinite(none_score):
            raise UsageError(f"the score of NONE must be a finite number, not {none_score}")

    candidates = None if pool is None else read_pool(pool)
    queries = list(baseline.queries(dialogues))
    if not queries:
        raise InputError([Problem("empty-file", "the file has no examples", file=str(dialogues))])
    lacking = [query.example for query in queries if not query.candidates]
    if lacking and not track.has_pool:
        message = f"the example has no options-for-next, the candidates that {track.name} ranks"
        place: dict[str, Any] = {"example": lacking[0], "count": len(lacking)}
        raise InputError([Problem("missing-field", message, file=str(dialogues), **place)])
    rankings = baseline.rank(queries, track, candidates)
    tuned = None
    if dev is not None:
        with_answers = [query for query in baseline.queries(dev) if query.correct]
        if not with_answers:
            message = "no example has a right answer, so the score of NONE cannot be tuned"
            raise InputError([Problem("no-dev-data", message, file=str(dev))])
        correct = [query.correct for query in with_answers]
        none_score = tuned = tune(baseline.rank(with_answers, track), correct)
    if none_score is not None:
        rankings = [insert_none(ranking, none_score) for ranking in rankings]
    if choices:
        are_logarithms = baseline.name == DUAL_ENCODER
        rankings = [as_choices(ranking, are_logarithms=are_logarithms) for ranking in rankings]
    write_submission(output, rankings)
    return Predicted(len(rankings), tuned)


def train(
    training: str | Path,
    dev: str | Path,
    folder: str | Path,
    *,
    settings: Settings | None = None,
    last_message: bool = False,
    knowledge: Knowledge | None = None,
    watch: Watch | None = None,
) -> Sequence[Point]:
    """Train a dual encoder on dialogue files with answers and return its learning curve.

    The best model (`model.safetensors`) and a checkpoint are written to `folder`. Calling this
    function again resumes an interrupted training. Examples are streamed. Raises the errors of
    `train_dual_encoder`. Raises `InputError` if a file is invalid, and `DependencyError` if PyTorch
    is not installed.
    """
    required("torch", "neural")
    from mwzeval.dstc7.baselines.dual_encoder import train_dual_encoder

    def read(file: str | Path, *, with_candidates: bool) -> Iterator[Query]:
        for example in stream_examples(file):
            seen = example if with_candidates else replace(example, candidates=())
            yield query_of(seen, last_message=last_message, knowledge=knowledge)

    pairs, lists = read(training, with_candidates=False), read(dev, with_candidates=True)
    return train_dual_encoder(pairs, lists, folder, settings, watch)[1]
