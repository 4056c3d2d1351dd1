"""Several runs of one system: the variance between runs and the variance between units.

The hierarchical bootstrap of docs/statistics.md ("Seeds against seeds") estimates the difference of
two systems with several runs each, for new units and new runs. Three corrections make the
hierarchical bootstrap valid for few runs. The deviations of resampled runs are multiplied by √(R /
(R - 1)) (Rao and Wu, JASA 83, 1988). The deviations are also multiplied by √(f / χ²), where χ² is
drawn from the χ² distribution with f = Σ (R - 1) degrees of freedom. A drawn run keeps its scores
on all units, because resampling the units already adds the variance between units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.score import Interval
from mwzeval.statistics.bootstrap import SEED, Differences, percentile_interval
from mwzeval.statistics.intervals import CONFIDENCE

FEWEST_RUNS = 5
"""The minimum number of runs (seeds) for an interval. With three runs, a Student's t interval would
extend 2.5 standard deviations to either side."""

HIERARCHICAL = "hierarchical-bootstrap"


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variances, in the squared unit of the outcome, of the model outcome = run + unit + rest.

    `run` is the variance between runs: some runs are better on all units. `unit`: some units are
    easier for all runs. `residual` is the remaining variance, mainly because different runs do well
    on different units.
    """

    run: float
    unit: float
    residual: float

    def standard_error(self, runs: int, units: int) -> float:
        """Return the standard error of the mean over `runs` new runs and `units` new units.

        With one run, the standard error is at least √`run`, even for a very large number of units.
        """
        return math.sqrt(self.run / runs + self.unit / units + self.residual / (runs * units))


def standard_deviation(scores: Sequence[float]) -> float:
    """Return the sample standard deviation (n - 1) of a score over at least two runs."""
    return float(np.std(np.asarray(scores, dtype=np.float64), ddof=1))


def variance_components(outcomes: NDArray[np.float64]) -> VarianceComponents:
    """Return variance components of an outcome, shape (runs, units), with at least two of each.

    The estimates come from the mean squares of a two-way random-effects analysis of variance with
    one observation per cell. The estimates are unbiased, except that an estimate below 0 is
    reported as 0. Each run is the same system with another seed, on the same units. Source: Searle,
    Casella and McCulloch, Variance Components, 1992, chapter 4.
    """
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


@dataclass(frozen=True, slots=True, eq=False)
class ResampledRuns:
    """A score of a system's runs: the observed values, and values for resampled units and runs.

    `values` has one number per run. `of_units`, shape (samples,), has the mean over the runs on
    resampled units. `of_runs`, shape (samples,), has the deviations due to resampled runs; for a
    single run, all deviations are 0.
    """

    values: tuple[float, ...]
    of_units: NDArray[np.float64]
    of_runs: NDArray[np.float64]
    seed: int

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        of_units: NDArray[np.float64],
        *,
        system: str,
        seed: int = SEED,
    ) -> ResampledRuns:
        """Draw all runs with replacement, independently for each resample of the units.

        The drawn runs depend only on the seed and the name of the `system`. Therefore, the draws of
        different systems are independent, and all scores of a system use the same draws.
        """
        runs = len(values)
        of_runs = np.zeros(of_units.size)
        if runs > 1:
            drawn = generator(seed, 1, *system.encode("utf-8", "surrogatepass")).multinomial(
                runs, np.full(runs, 1 / runs), size=of_units.size
            )
            deviations = np.asarray(values, dtype=np.float64) - np.mean(values)
            of_runs = math.sqrt(runs / (runs - 1)) * (drawn @ deviations) / runs
        return cls(tuple(values), of_units, of_runs, seed)

    @property
    def value(self) -> float:
        """The mean over the runs."""
        return float(np.mean(self.values))

    def interval(self, confidence: float = CONFIDENCE) -> Interval | None:
        """Return the interval of the mean score for new units and new runs of the same kind.

        Returns None if the score is undefined in all samples.
        """
        samples = self.of_units + _widened(self.of_runs, len(self.values) - 1, self.seed)
        return percentile_interval(samples, confidence, HIERARCHICAL)

    def __sub__(self, baseline: ResampledRuns) -> Differences:
        """Return the differences between the means of two systems over their runs.

        `of_units` of both systems must come from the same units, samples and seed, so that a sample
        draws the same units for all runs. If both systems have one run, interval and p value equal
        those of the paired bootstrap to the last bit; they do not describe other runs.
        """
        units = Differences.between(self.of_units, baseline.of_units, self.value, baseline.value)
        freedom = len(self.values) + len(baseline.values) - 2
        runs = _widened(self.of_runs - baseline.of_runs, freedom, self.seed)
        # The expected deviation is 0, but the samples may have no mean (Cauchy distribution).
        defined = units.samples[np.isfinite(units.samples)]
        centre = float(defined.sum()) / max(1, defined.size)
        return Differences(units.observed, units.samples + runs, units.tolerance, centre)


def _widened(of_runs: NDArray[np.float64], freedom: int, seed: int) -> NDArray[np.float64]:
    if not freedom:
        return of_runs
    chi_square = generator(seed, 0, freedom).chisquare(freedom, size=of_runs.size)
    return np.asarray(of_runs * np.sqrt(freedom / chi_square))


def generator(*seeds: int) -> np.random.Generator:
    """Return a random generator that depends only on the seeds."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seeds)))
