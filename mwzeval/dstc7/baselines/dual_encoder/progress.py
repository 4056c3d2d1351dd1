"""How far a training run has come, and how good the model was on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from mwzeval.dstc7.baselines.query import Query
from mwzeval.dstc7.baselines.vectors import Scores


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the learning curve: scores on the dev lists, between 0 and 1."""

    step: int
    examples: int
    loss: float | None
    recall_at_1: float
    recall_at_10: float
    mrr: float

    @property
    def final_score(self) -> float:
        """(MRR + Recall@10) / 2, by which the best model is chosen."""
        return (self.mrr + self.recall_at_10) / 2


@dataclass(slots=True)
class Progress:
    """Steps done, the curve so far, and how many evaluations ago the best one was."""

    step: int = 0
    curve: list[Point] = field(default_factory=list)
    stale: int = 0
    finished: bool = False

    def note(self, point: Point) -> bool:
        """Add a point and return whether it is the best so far."""
        is_best = all(point.final_score > other.final_score for other in self.curve)
        self.curve.append(point)
        self.stale = 0 if is_best else self.stale + 1
        return is_best

    def to_json(self) -> dict[str, Any]:
        """Return the progress as plain values."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Progress:
        """Return the progress that `to_json` gave."""
        curve = [Point(**point) for point in plain["curve"]]
        return cls(plain["step"], curve, plain["stale"], plain["finished"])


def point_of(
    queries: Sequence[Query],
    scores: Sequence[Scores],
    *,
    step: int,
    examples: int,
    loss: float | None,
) -> Point:
    """Return the point of the curve for scores of lists.

    Of equal scores the right answer comes last: a model that likes all alike gains nothing.
    """
    ranks = np.array(
        [_rank(query, row) for query, row in zip(queries, scores, strict=True)], dtype=np.float64
    )
    return Point(
        step=step,
        examples=examples,
        loss=loss,
        recall_at_1=float(np.mean(ranks <= 1)),
        recall_at_10=float(np.mean(ranks <= 10)),
        mrr=float(np.mean(1 / ranks)),
    )


def _rank(query: Query, scores: Scores) -> float:
    """Return the rank of the best right answer; infinity when none is in the list."""
    right = np.array([name in query.correct for name in query.candidate_ids], dtype=bool)
    if not right.any():
        return float("inf")
    return 1.0 + float(np.sum(scores[~right] >= scores[right].max()))
