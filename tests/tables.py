"""Helpers for small tables, named scores and comparisons of two systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.score import WHOLE, Interval, Score, by_place
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import (
    Differences,
    DrawnSums,
    ScoreFunction,
    Sums,
    evaluate,
    given_sums,
    percentile_interval,
    swapped_differences,
)
from mwzeval.statistics.intervals import CONFIDENCE, Jackknife

Value = TypeVar("Value")


def present(value: Value | None) -> Value:
    """Return a value that must not be None."""
    assert value is not None
    return value


def table_of(**columns: NDArray[np.float64]) -> Table:
    values = np.column_stack(list(columns.values()))
    units = tuple(f"unit{index:06d}" for index in range(len(values)))
    return Table(units, tuple(columns), values)


def ratio(sums: Sums) -> NDArray[np.float64]:
    return sums["right"] / sums["all"]


def named(scores: Iterable[Score], name: str, scope: str = WHOLE) -> Score:
    """Return a score by its name and scope."""
    return by_place(scores)[name, scope]


def interval_of(values: NDArray[np.float64]) -> Interval:
    return present(percentile_interval(values, CONFIDENCE, "bootstrap"))


def paired(score: ScoreFunction, system: DrawnSums, baseline: DrawnSums) -> Differences:
    """Return the differences of the paired bootstrap, centred for a p value."""
    found = Differences.between(
        *(evaluate(score, system.samples), evaluate(score, baseline.samples)),
        *(evaluate(score, system.observed).item(), evaluate(score, baseline.observed).item()),
    )
    return replace(found, centre=float(found.samples[np.isfinite(found.samples)].mean()))


def swapped(score: ScoreFunction, system: Table, baseline: Table, **drawn: Any) -> Differences:
    """Return the differences after swapping each unit with probability ½."""
    return swapped_differences(score, *given_sums([system, baseline], **drawn))


def jackknife(statistic: Callable[[NDArray[np.float64]], float], n_units: int) -> Jackknife:
    """Compute a statistic of all units and without each unit; the argument is a 0/1 mask."""
    kept = np.ones((n_units, n_units)) - np.eye(n_units)
    return Jackknife(statistic(np.ones(n_units)), np.array([statistic(row) for row in kept]))
