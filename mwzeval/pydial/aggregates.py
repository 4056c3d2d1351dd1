"""Aggregates over tasks and runs, with intervals that resample runs within each task.

The input is an array of shape (runs, tasks), which has a score for each run and task. The intervals
describe the variation between runs on these tasks, not between tasks. Source: Agarwal et al., "Deep
Reinforcement Learning at the Edge of the Statistical Precipice", NeurIPS 2021; the stratified
bootstrap and the two aggregates are defined as in its library `rliable`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.score import Interval
from mwzeval.statistics.bootstrap import SEED, percentile_interval
from mwzeval.statistics.intervals import CONFIDENCE
from mwzeval.statistics.runs import generator

STRATIFIED = "stratified-bootstrap"
RESAMPLES = 2000
"""The default of `rliable` for profiles. With this number of resamples, the ends of an interval
vary by about 2 % of its length."""

Scores = NDArray[np.float64]
"""An array of scores, shape (runs, tasks)."""


class Aggregate(NamedTuple):
    """An aggregate over all tasks, and its interval from resampled runs (None for a single run)."""

    value: float
    interval: Interval | None


def interquartile_mean(scores: Scores) -> Aggregate:
    """Return the interquartile mean of all n scores, without n // 4 scores at each end."""
    value = float(_middle_means(scores.reshape(1, -1))[0])
    if len(scores) < 2:
        return Aggregate(value, None)
    drawn = generator(SEED, 0).integers(0, len(scores), size=(RESAMPLES, *scores.shape))
    samples = np.take_along_axis(scores[np.newaxis], drawn, axis=1)
    means = _middle_means(samples.reshape(RESAMPLES, -1))
    return Aggregate(value, percentile_interval(means, CONFIDENCE, STRATIFIED))


def probability_of_improvement(scores: Scores, others: Scores) -> Aggregate:
    """Return the probability that one run is better than a run of `others`, as the mean over tasks.

    Equal scores count as half an improvement. The two sets of runs are resampled independently,
    even if they have the same seeds.
    """
    mine, theirs = scores[:, np.newaxis], others[np.newaxis]
    better = (mine > theirs) + 0.5 * (mine == theirs)
    value = float(better.mean())
    if min(len(scores), len(others)) < 2:
        return Aggregate(value, None)
    weights, other_weights = (_weights(table, part) for part, table in ((1, scores), (2, others)))
    samples = np.einsum("sit,ijt,sjt->st", weights, better, other_weights, optimize=True)
    return Aggregate(value, percentile_interval(samples.mean(axis=1), CONFIDENCE, STRATIFIED))


def _weights(scores: Scores, part: int) -> NDArray[np.float64]:
    runs, tasks = scores.shape
    drawn = generator(SEED, part).multinomial(
        runs, np.full(runs, 1 / runs), size=(RESAMPLES, tasks)
    )
    return np.asarray(drawn.transpose(0, 2, 1) / runs)


def _middle_means(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    cut = rows.shape[1] // 4
    return np.asarray(np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut].mean(axis=1))
