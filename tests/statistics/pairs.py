"""Two systems compared by their tables, and statistics of any choice of units."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import (
    SAMPLES,
    SEED,
    Differences,
    DrawnSums,
    ScoreFunction,
    evaluate,
    given_sums,
    swapped_differences,
)
from mwzeval.statistics.intervals import Jackknife
from mwzeval.statistics.runs import ComparedRuns


def paired_bootstrap(score: ScoreFunction, system: DrawnSums, baseline: DrawnSums) -> ComparedRuns:
    """Return the observed difference, its interval, and the p value of centred samples."""
    found = Differences.between(
        evaluate(score, system.samples),
        evaluate(score, baseline.samples),
        float(evaluate(score, system.observed)[0]),
        float(evaluate(score, baseline.observed)[0]),
    )
    centre = float(found.samples[np.isfinite(found.samples)].mean())
    return ComparedRuns(found.observed, found.interval(), found.p_value(centre))


def swapped(
    score: ScoreFunction,
    system: Table,
    baseline: Table,
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Differences:
    """Return the differences after each unit was swapped with probability ½."""
    return swapped_differences(score, *given_sums([system, baseline], samples=samples, seed=seed))


def jackknife(statistic: Callable[[NDArray[np.float64]], float], n_units: int) -> Jackknife:
    """Compute a statistic of all units and with each left out; units that count are 1."""
    kept = np.ones((n_units, n_units)) - np.eye(n_units)
    return Jackknife(statistic(np.ones(n_units)), np.array([statistic(row) for row in kept]))
