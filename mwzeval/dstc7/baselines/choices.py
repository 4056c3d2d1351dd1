"""Rankings as the task description wants them: ten choices with their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mwzeval.dstc7.baselines.query import Ranking
from mwzeval.dstc7.reading.tracks import CHOICES


def as_choices(ranking: Ranking, *, are_logarithms: bool) -> Ranking:
    """Return the ten best of a ranking with probabilities that add to 1.

    Scores that are logarithms of odds (a dual encoder's) go through a softmax; others count in
    proportion, negative ones as 0, and all ten alike when none is above 0.
    """
    best = ranking.entries[:CHOICES]
    scores = [score for _, score in best]
    weights = _exponentials(scores) if are_logarithms else [max(score, 0.0) for score in scores]
    total = math.fsum(weights)
    shares = [weight / total for weight in weights] if total else [1 / len(best)] * len(best)
    names = (name for name, _ in best)
    return Ranking(ranking.example, tuple(zip(names, shares, strict=True)))


def _exponentials(scores: Sequence[float]) -> list[float]:
    return [math.exp(score - max(scores)) for score in scores]
