"""Does one score of two systems, on the same units, differ? By how much, and can it be chance?

Two tools, for two questions. `paired_bootstrap`: how far might the difference be off, on other
units like these? `randomization_test`: if the two were exchangeable, how often would chance alone
make a difference as large? Only the latter's p value holds for small samples and any score; report
it with the former's interval. For 0/1 outcomes `mcnemar` is the exact answer to the second.

Source: Koehn, EMNLP 2004; Riezler and Maxwell, "On Some Pitfalls in Automatic Evaluation and
Significance Testing for MT", 2005; Noreen, Computer-Intensive Methods for Testing Hypotheses, 1989.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.statistics.intervals import CONFIDENCE, Interval
from mwzeval.statistics.resampling import (
    SAMPLES,
    SEED,
    ResampledSums,
    ScoreFunction,
    block_sizes,
    by_column,
    by_unit_name,
    evaluate,
    percentile_interval,
)
from mwzeval.table import Table

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


def paired_bootstrap(
    score: ScoreFunction,
    system: ResampledSums,
    baseline: ResampledSums,
    *,
    confidence: float = CONFIDENCE,
) -> PairedBootstrap:
    """Bootstrap the difference of a score between two systems on the same units.

    Both sums come from `resampled_sums` with the same samples and seed, so that a sample draws the
    same units for both. The interval is made of percentiles. The p value asks how often the
    resampled differences, shifted to have mean 0, are as far from 0 as the observed one, which
    counts as one more sample: (1 + #{|d* - mean| ≥ |d|}) / (1 + samples), as sacreBLEU does. A
    sample without a score counts as far. Interval and p value need not agree at the border.

    Raises `ValueError` when the sums are not paired, or the observed difference has no value.
    """
    if system.units != baseline.units:
        raise ValueError(_different_units(system.units, baseline.units))
    differences, difference, tolerance = _differences(score, system, baseline)
    interval = percentile_interval(differences, confidence, "paired-bootstrap")
    shifted = differences - differences[np.isfinite(differences)].mean()
    return PairedBootstrap(difference, interval, _p_value(shifted, difference, tolerance))


def swapped_sums(
    system: Table, baseline: Table, *, samples: int = SAMPLES, seed: int = SEED
) -> SwappedSums:
    """Swap each unit between the systems with probability ½, and return all column sums.

    One matrix product of coin flips with the table of differences gives them for both. The order
    of rows does not matter. Raises `ValueError` when the tables do not have the same units and
    columns, a unit appears twice, or there are no units.
    """
    mine, theirs = by_unit_name(system), by_unit_name(baseline)
    if mine.units != theirs.units:
        raise ValueError(_different_units(mine.units, theirs.units))
    if len(set(mine.units)) < len(mine.units):
        raise ValueError("a unit appears twice, so it is unclear what it is to be paired with")
    if mine.columns != theirs.columns:
        raise ValueError("a paired comparison needs the same columns in the same order")
    change = theirs.values - mine.values
    generator = np.random.Generator(np.random.PCG64(seed))
    changes = np.vstack(
        [
            generator.integers(0, 2, size=(size, len(mine.units))).astype(np.float64) @ change
            for size in block_sizes(len(mine.units), samples)
        ]
    )

    def sums(table: Table, sign: int) -> ResampledSums:
        observed = table.values.sum(axis=0)
        swapped = by_column(table, observed + sign * changes)
        return ResampledSums(table.units, seed, by_column(table, observed), swapped)

    return SwappedSums(sums(mine, +1), sums(theirs, -1))


def randomization_test(score: ScoreFunction, sums: SwappedSums) -> PairedRandomization:
    """Test the difference of a score between two systems by approximate randomisation.

    p = (1 + #{|d*| ≥ |d|}) / (1 + samples), where d* is the difference after swapping units at
    random; never below 1 / (1 + samples), so a strict level needs more samples than the default.

    Raises `ValueError` when the observed difference has no value.
    """
    differences, difference, tolerance = _differences(score, sums.system, sums.baseline)
    undefined = int(np.count_nonzero(~np.isfinite(differences)))
    return PairedRandomization(difference, _p_value(differences, difference, tolerance), undefined)


def _differences(
    score: ScoreFunction, system: ResampledSums, baseline: ResampledSums
) -> tuple[NDArray[np.float64], float, float]:
    mine, theirs = (evaluate(score, sums.samples) for sums in (system, baseline))
    if system.seed != baseline.seed or mine.shape != theirs.shape:
        raise ValueError("a paired comparison needs the same samples and seed for both systems")
    observed = [float(evaluate(score, sums.observed)[0]) for sums in (system, baseline)]
    if not np.isfinite(observed).all():
        raise ValueError("a score has no value on all units, so there is nothing to compare")
    with np.errstate(invalid="ignore"):
        differences = mine - theirs
    return differences, observed[0] - observed[1], ROUNDING * max(map(abs, observed))


def _p_value(differences: NDArray[np.float64], difference: float, tolerance: float) -> float:
    smaller = np.count_nonzero(np.abs(differences) < abs(difference) - tolerance)
    return float(1 + differences.size - smaller) / (1 + differences.size)


def _different_units(system: tuple[str, ...], baseline: tuple[str, ...]) -> str:
    only_system = sorted(set(system) - set(baseline))
    only_baseline = sorted(set(baseline) - set(system))
    return (
        "a paired comparison needs the same units: "
        f"{len(only_system)} only of the system{_first(only_system)}, "
        f"{len(only_baseline)} only of the baseline{_first(only_baseline)}"
    )


def _first(units: list[str]) -> str:
    return f" (such as {units[0]!r})" if units else ""
