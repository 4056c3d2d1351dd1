"""The score that NONE gets in every list: the one with the best final score on labelled lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.query import Ranking
from mwzeval.dstc7.ids import NONE

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
