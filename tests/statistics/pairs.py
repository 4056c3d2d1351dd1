"""Two systems compared by their tables, and statistics of any choice of units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.score import Interval
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import (
    Differences,
    DrawnSums,
    ScoreFunction,
    evaluate,
    given_sums,
    percentile_interval,
    swapped_differences,
)
from mwzeval.statistics.intervals import CONFIDENCE, Jackknife


def interval_of(values: NDArray[np.float64]) -> Interval:
    interval = percentile_interval(values, CONFIDENCE, "bootstrap")
    assert interval is not None
    return interval


def paired(score: ScoreFunction, system: DrawnSums, baseline: DrawnSums) -> Differences:
    """Return the differences of the paired bootstrap, centred for a p value."""
    found = Differences.between(
        *(evaluate(score, system.samples), evaluate(score, baseline.samples)),
        *(evaluate(score, system.observed).item(), evaluate(score, baseline.observed).item()),
    )
    return replace(found, centre=float(found.samples[np.isfinite(found.samples)].mean()))


def swapped(score: ScoreFunction, system: Table, baseline: Table, **drawn: Any) -> Differences:
    """Return the differences after each unit was swapped with probability ½."""
    return swapped_differences(score, *given_sums([system, baseline], **drawn))


def jackknife(statistic: Callable[[NDArray[np.float64]], float], n_units: int) -> Jackknife:
    """Compute a statistic of all units and with each left out; units that count are 1."""
    kept = np.ones((n_units, n_units)) - np.eye(n_units)
    return Jackknife(statistic(np.ones(n_units)), np.array([statistic(row) for row in kept]))
