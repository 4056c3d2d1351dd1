"""The baseline that knows nothing: every order is as likely as every other."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from mwzeval.dstc7.baselines.query import Query, Ranking


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
