"""A baseline that is ready to rank: what it is told, and what it makes of examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mwzeval.dstc7.baselines.bm25 import bm25_vectors
from mwzeval.dstc7.baselines.dual_encoder.model import DualEncoder
from mwzeval.dstc7.baselines.lexical import draw_from_pool, rank_at_random
from mwzeval.dstc7.baselines.none_threshold import Threshold, tune
from mwzeval.dstc7.baselines.query import (
    Knowledge,
    Query,
    Ranking,
    all_candidates,
    query_of,
    with_knowledge,
)
from mwzeval.dstc7.baselines.tfidf import tfidf_vectors
from mwzeval.dstc7.baselines.vectors import Vectors, list_scores, order, pool_best
from mwzeval.dstc7.ids import NONE
from mwzeval.dstc7.pool import read_pool
from mwzeval.dstc7.reading.dialogues import stream_examples
from mwzeval.dstc7.reading.tracks import RANKED, Track
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean

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
            hint = did_you_mean(self.name, BASELINES)
            raise UsageError(
                f'unknown baseline "{self.name}"{hint} (known: {", ".join(BASELINES)})'
            )
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
        """Return the best score for NONE on a dialogue file with answers."""
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
