"""Aggregates over tasks and runs, whose intervals resample runs within each task.

A score per run and task comes as an array of shape (runs, tasks). Resampling runs and keeping the
tasks tells what other runs on these tasks would give; of other tasks it says nothing.

Source: Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice",
NeurIPS 2021; the stratified bootstrap and both figures are those of its library `rliable`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.score import Interval
from mwzeval.statistics.intervals import CONFIDENCE
from mwzeval.statistics.resampling import SEED, percentile_interval

STRATIFIED = "stratified-bootstrap"
RESAMPLES = 2000
"""The default of `rliable`'s profiles; an end of an interval varies by some 2 % of its length."""
TRIMMED = 0.25

Scores = NDArray[np.float64]
"""Shape (runs, tasks)."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A figure of all tasks, and the interval of resampled runs, None where there is one run."""

    value: float
    interval: Interval | None


def interquartile_mean(scores: Scores) -> Aggregate:
    """Return the mean of the middle half of all scores, of whatever run and task.

    Of n scores the n // 4 lowest and highest are left out. Raises `ValueError` without scores.
    """
    _check(scores)
    value = float(_middle_means(scores.reshape(1, -1))[0])
    if len(scores) < 2:
        return Aggregate(value, None)
    drawn = _generator(0).integers(0, len(scores), size=(RESAMPLES, *scores.shape))
    samples = np.take_along_axis(scores[np.newaxis], drawn, axis=1)
    means = _middle_means(samples.reshape(RESAMPLES, -1))
    return Aggregate(value, percentile_interval(means, CONFIDENCE, STRATIFIED))


def probability_of_improvement(scores: Scores, others: Scores) -> Aggregate:
    """Return how likely a run is better than one of the others, on average over the tasks.

    Equal scores count half. Runs of both are resampled independently of each other, as they are
    when both have the same seeds: what pairs have in common is not used.

    Raises:
        ValueError: Without scores, or for other numbers of tasks.
    """
    _check(scores)
    _check(others)
    if scores.shape[1] != others.shape[1]:
        raise ValueError(f"scores of {scores.shape[1]} and of {others.shape[1]} tasks")
    mine, theirs = scores[:, np.newaxis], others[np.newaxis]
    better = (mine > theirs) + 0.5 * (mine == theirs)
    value = float(better.mean())
    if min(len(scores), len(others)) < 2:
        return Aggregate(value, None)
    weights, other_weights = (_weights(table, part) for part, table in ((1, scores), (2, others)))
    samples = np.einsum("sit,ijt,sjt->st", weights, better, other_weights, optimize=True)
    return Aggregate(value, percentile_interval(samples.mean(axis=1), CONFIDENCE, STRATIFIED))


def _weights(scores: Scores, part: int) -> NDArray[np.float64]:
    """Return how often each run of each task is drawn, divided by their number."""
    runs, tasks = scores.shape
    drawn = _generator(part).multinomial(runs, np.full(runs, 1 / runs), size=(RESAMPLES, tasks))
    return np.asarray(drawn.transpose(0, 2, 1) / runs)


def _middle_means(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    cut = int(TRIMMED * rows.shape[1])
    return np.asarray(np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut].mean(axis=1))


def _check(scores: Scores) -> None:
    if scores.ndim != 2 or not scores.size:
        raise ValueError(f"expected scores of shape (runs, tasks), not {scores.shape}")


def _generator(part: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((SEED, part))))
