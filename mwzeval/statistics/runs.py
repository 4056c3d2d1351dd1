"""Many runs of one system: how much of what varies is the run, and how much the units?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class AcrossRuns:
    """Mean and standard deviation (n - 1 in the denominator) of a score over `n` runs."""

    mean: float
    standard_deviation: float
    n: int


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variances, in the squared unit of the outcome, of a model outcome = run + unit + rest.

    `run`: some runs are better on all units. `unit`: some units are easier for all runs.
    `residual`: everything else, above all that runs differ in which units they do well.
    """

    run: float
    unit: float
    residual: float

    def standard_error(self, runs: int, units: int) -> float:
        """Return that of the mean outcome over this many new runs and new units.

        It shows what would help: with one run, no number of units brings it below √`run`.

        Raises `ValueError` for less than one run or unit.
        """
        if runs < 1 or units < 1:
            raise ValueError("a mean needs at least one run and one unit")
        return math.sqrt(self.run / runs + self.unit / units + self.residual / (runs * units))


def across_runs(scores: Sequence[float]) -> AcrossRuns:
    """Return mean and standard deviation of one score a run.

    The standard deviation is of one run, not of the mean. Raises `ValueError` for less than two.
    """
    if len(scores) < 2:
        raise ValueError("a standard deviation over runs needs at least two runs")
    values = np.asarray(scores, dtype=np.float64)
    return AcrossRuns(float(values.mean()), float(values.std(ddof=1)), len(scores))


def variance_components(outcomes: NDArray[np.float64]) -> VarianceComponents:
    """Split the variance of a per-unit outcome, shape (runs, units), between runs and units.

    Estimates from the mean squares of a two-way random-effects analysis of variance with one
    observation a cell; unbiased, except that an estimate below 0 is reported as 0. Runs are seeds
    of one system, and all see the same units.

    Raises `ValueError` for less than two runs or units, or an outcome that is not finite.
    Source: Searle, Casella and McCulloch, Variance Components, 1992, chapter 4.
    """
    if outcomes.ndim != 2 or min(outcomes.shape) < 2:
        raise ValueError(f"at least two runs × two units are needed, not shape {outcomes.shape}")
    if not np.isfinite(outcomes).all():
        raise ValueError("an outcome is missing or infinite; all runs need all units")
    runs, units = outcomes.shape
    run_effects = outcomes.mean(axis=1, keepdims=True) - outcomes.mean()
    unit_effects = outcomes.mean(axis=0, keepdims=True) - outcomes.mean()
    rest = outcomes - outcomes.mean() - run_effects - unit_effects
    residual = float((rest**2).sum()) / ((runs - 1) * (units - 1))
    run_square = units * float((run_effects**2).sum()) / (runs - 1)
    unit_square = runs * float((unit_effects**2).sum()) / (units - 1)
    return VarianceComponents(
        run=max(0.0, (run_square - residual) / units),
        unit=max(0.0, (unit_square - residual) / runs),
        residual=residual,
    )
