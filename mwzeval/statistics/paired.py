"""Does one score of two systems, on the same units, differ? By how much, and can it be chance?

Two tools, for two questions. `Differences.bootstrap`: how far might the difference be off, on other
units like these? `randomization_test`: if the two were exchangeable, how often would chance alone
make a difference as large? Only the latter's p value holds for small samples and any score; report
it with the former's interval. For 0/1 outcomes `mcnemar` is the exact answer to the second.

Source: Koehn, EMNLP 2004; Riezler and Maxwell, "On Some Pitfalls in Automatic Evaluation and
Significance Testing for MT", 2005; Noreen, Computer-Intensive Methods for Testing Hypotheses, 1989.

Two systems compared unit by unit: who is ahead how often, and can that be chance?
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.score import Interval
from mwzeval.scores.table import Table
from mwzeval.statistics.resampling import (
    SAMPLES,
    SEED,
    ResampledSums,
    ScoreFunction,
    block_sizes,
    by_column,
    by_unit_name,
    common_length,
    evaluate,
    percentile_interval,
    products,
)


@dataclass(frozen=True, slots=True)
class WinsTiesLosses:
    """On how many units the system is above, level with, and below the baseline."""

    wins: int
    ties: int
    losses: int

    def reversed(self) -> WinsTiesLosses:
        """Return the counts with below for above, as lower scores may be the better ones."""
        return WinsTiesLosses(self.losses, self.ties, self.wins)


@dataclass(frozen=True, slots=True)
class McNemar:
    """On how many units only one of the two succeeds, and the exact two-sided p value."""

    only_system: int
    only_baseline: int
    p_value: float


def wins_ties_losses(
    system: NDArray[np.float64], baseline: NDArray[np.float64], *, tolerance: float = 0.0
) -> WinsTiesLosses:
    """Compare one value a unit, shape (units,) each; up to `tolerance` apart is a tie.

    Raises:
        ValueError: For different shapes or a value that is not a number.
    """
    if system.shape != baseline.shape or system.ndim != 1:
        raise ValueError(
            f"one value a unit is needed of both, not shapes {system.shape} and {baseline.shape}"
        )
    if np.isnan(system).any() or np.isnan(baseline).any():
        raise ValueError("a unit without a value neither wins nor loses: leave it out of both")
    wins = int(np.count_nonzero(system > baseline + tolerance))
    losses = int(np.count_nonzero(system < baseline - tolerance))
    return WinsTiesLosses(wins, system.size - wins - losses, losses)


def mcnemar(system: NDArray[np.float64], baseline: NDArray[np.float64]) -> McNemar:
    """Test whether two rates differ, from 0/1 outcomes of the same units, shape (units,) each.

    Given that one of the two fails, without a difference either is as likely to be the one: the
    p value is twice the smaller binomial tail, at most 1. Exact for any number of units.
    Source: McNemar, Psychometrika 12, 1947, in its exact (binomial) form.

    Raises:
        ValueError: For different shapes or outcomes other than 0 and 1.
    """
    for outcomes in (system, baseline):
        if not np.isin(outcomes, (0, 1)).all():
            raise ValueError("McNemar's test needs outcomes that are 0 or 1")
    counted = wins_ties_losses(system, baseline)
    discordant = counted.wins + counted.losses
    if not discordant:
        return McNemar(0, 0, 1.0)
    p_value = _binomial_p_value(min(counted.wins, counted.losses), discordant)
    return McNemar(counted.wins, counted.losses, p_value)


MOST_EXACT = 10_000
"""Cases up to this are counted in whole numbers: some milliseconds, which the digits take."""


def _binomial_p_value(fewer: int, n: int) -> float:
    """Return how likely n fair coins fall as unequally, given how many show the rarer side."""
    if n > MOST_EXACT:
        from scipy.stats import binomtest  # takes longer to import than the rest of a comparison

        return min(1.0, float(binomtest(fewer, n).pvalue))
    ways = tail = 1
    for heads in range(fewer):
        ways = ways * (n - heads) // (heads + 1)
        tail += ways
    p_value: float = 2 * tail / (1 << n)
    return min(1.0, p_value)


ROUNDING = 1e-12
"""Differences this close, relative to the scores, are equal but for the order of arithmetic."""


@dataclass(frozen=True, slots=True)
class PairedBootstrap:
    """System minus baseline in the unit of the score, its interval and two-sided p value."""

    difference: float
    interval: Interval
    p_value: float


@dataclass(frozen=True, slots=True)
class PairedRandomization:
    """System minus baseline in the unit of the score, and its two-sided p value.

    `undefined` counts the samples without a score; they count as chance doing as well.
    """

    difference: float
    p_value: float
    undefined: int


@dataclass(frozen=True, slots=True, eq=False)
class SwappedSums:
    """Column sums of two systems, as observed and after swapping random units between them."""

    system: ResampledSums
    baseline: ResampledSums


@dataclass(frozen=True, slots=True, eq=False)
class GivenSums:
    """Column sums of a system, shape (columns,), and those of the units that it gives away.

    The latter have shape (samples, columns). Two of the same samples and seed give away the same
    units, so what one gives away the other gets.
    """

    units: tuple[str, ...]
    columns: tuple[str, ...]
    seed: int
    observed: NDArray[np.float64]
    given: NDArray[np.float64]

    def swapped_with(self, baseline: GivenSums) -> SwappedSums:
        """Return the sums of both after swapping.

        Raises:
            ValueError: When they do not have the same units and columns, a unit appears twice, or
                they are not of the same samples.
        """
        _check_units(self.units, baseline.units)
        if self.columns != baseline.columns:
            raise ValueError("a paired comparison needs the same columns in the same order")
        if self.seed != baseline.seed or len(self.given) != len(baseline.given):
            raise ValueError("a paired comparison needs the same samples and seed for both systems")
        change = baseline.given - self.given
        return SwappedSums(self._plus(change), baseline._plus(-change))

    def _plus(self, change: NDArray[np.float64]) -> ResampledSums:
        return ResampledSums(
            self.units,
            self.seed,
            by_column(self.columns, self.observed),
            by_column(self.columns, self.observed + change),
            len(change),
        )


def given_sums(
    tables: Sequence[Table], *, samples: int = SAMPLES, seed: int = SEED
) -> list[GivenSums]:
    """Choose units that each of several systems gives away, each with probability ½.

    One matrix product of coin flips with each table gives the sums for all pairs of them. The order
    of rows does not matter. Raises `ValueError` when there are no units, or not equally many.
    """
    rows = [by_unit_name(table) for table in tables]
    flips = coin_flips(common_length(rows), samples, seed)
    return [
        GivenSums(of.units, of.columns, seed, of.values.sum(axis=0), given)
        for of, given in zip(rows, products(flips, [of.values for of in rows]), strict=True)
    ]


def randomization_test(score: ScoreFunction, sums: SwappedSums) -> PairedRandomization:
    """Test the difference of a score between two systems by approximate randomisation.

    p = (1 + #{|d*| ≥ |d|}) / (1 + samples), where d* is the difference after swapping units at
    random; never below 1 / (1 + samples), so a strict level needs more samples than the default.

    Raises `ValueError` when the observed difference has no value.
    """
    return Differences.of(score, sums.system, sums.baseline).randomization()


def coin_flips(n_units: int, samples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield which units are swapped, 1 or 0, some samples at a time: shape (samples, units).

    Raises `ValueError` without units or samples.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    for size in block_sizes(n_units, samples):
        yield generator.integers(0, 2, size=(size, n_units)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Observed and resampled differences of a score; scores within `tolerance` are equal."""

    observed: float
    samples: NDArray[np.float64]
    tolerance: float

    @classmethod
    def between(
        cls,
        system: NDArray[np.float64],
        baseline: NDArray[np.float64],
        observed_system: float,
        observed_baseline: float,
    ) -> Differences:
        """Return the differences of samples, shape (samples,) each, and of observed scores.

        Raises:
            ValueError: When an observed score has no value.
        """
        if not math.isfinite(observed_system) or not math.isfinite(observed_baseline):
            raise ValueError("a score has no value on all units, so there is nothing to compare")
        with np.errstate(invalid="ignore"):
            samples = system - baseline
        tolerance = ROUNDING * max(abs(observed_system), abs(observed_baseline))
        return cls(observed_system - observed_baseline, samples, tolerance)

    @classmethod
    def of(
        cls, score: ScoreFunction, system: ResampledSums, baseline: ResampledSums
    ) -> Differences:
        """Return the differences of a score of sums, sample by sample."""
        return cls.between(
            evaluate(score, system.samples),
            evaluate(score, baseline.samples),
            float(evaluate(score, system.observed)[0]),
            float(evaluate(score, baseline.observed)[0]),
        )

    def p_value(self, centre: float = 0.0) -> float:
        """Return how often a sample is as far from `centre` as the observed difference from 0."""
        far = abs(self.observed) - self.tolerance
        # Counted the other way round, so that samples without a score are among the far ones.
        near = int(np.count_nonzero(np.abs(self.samples - centre) < far))
        return (1 + self.samples.size - near) / (1 + self.samples.size)

    def bootstrap(self, confidence: float) -> PairedBootstrap:
        """Return interval and test of samples that have drawn the same units for both systems.

        The interval is made of percentiles. The p value asks how often the resampled differences,
        shifted to have mean 0, are as far from 0 as the observed one, which counts as one more
        sample: (1 + #{|d* - mean| ≥ |d|}) / (1 + samples), as Riezler and Maxwell do. A sample
        without a score counts as far. Interval and p value may disagree at the border.

        sacreBLEU 2 takes absolute values before it shifts. Its p value is about half of this one;
        in simulations without a difference it is at most 0.05 in 11 % of the trials, this one in
        5 %.
        """
        interval = percentile_interval(self.samples, confidence, "paired-bootstrap")
        mean = float(self.samples[np.isfinite(self.samples)].mean())
        return PairedBootstrap(self.observed, interval, self.p_value(mean))

    def randomization(self) -> PairedRandomization:
        """Return the test of samples that chance alone has made."""
        undefined = int(np.count_nonzero(~np.isfinite(self.samples)))
        return PairedRandomization(self.observed, self.p_value(), undefined)


def _check_units(system: tuple[str, ...], baseline: tuple[str, ...]) -> None:
    if system != baseline:
        only_system = sorted(set(system) - set(baseline))
        only_baseline = sorted(set(baseline) - set(system))
        raise ValueError(
            "a paired comparison needs the same units: "
            f"{len(only_system)} only of the system{_first(only_system)}, "
            f"{len(only_baseline)} only of the baseline{_first(only_baseline)}"
        )
    if len(set(system)) < len(system):
        raise ValueError("a unit appears twice, so it is unclear what it is to be paired with")


def _first(units: list[str]) -> str:
    return f" (such as {units[0]!r})" if units else ""
