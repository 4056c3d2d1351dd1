"""Two systems on the same units: every test of every score, in one piece of work.

A piece of work and what it returns can be sent to other processes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.model import MCNEMAR, RANDOMIZATION
from mwzeval.metrics.measure import Measure, Resampling, TypeMeasure
from mwzeval.metrics.type_counts import TypeCounts, randomization_tests
from mwzeval.scores.score import Interval
from mwzeval.scores.table import Table
from mwzeval.statistics import (
    Jackknife,
    ResampledSums,
    SwappedSums,
    WinsTiesLosses,
    in_blocks,
    mcnemar,
    paired_bootstrap,
    randomization_test,
    resampled_sums,
    swapped_sums,
    wins_ties_losses,
)
from mwzeval.statistics.resampling import evaluate

Key: TypeAlias = tuple[str, str]
"""Name and scope of a measure."""

AnyMeasure: TypeAlias = Measure | TypeMeasure

ROUNDING = 1e-9
"""Scores of one unit that are this close are level but for the order of arithmetic."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What is known of one system on the common units; all systems have the same columns."""

    table: Table
    types: TypeCounts


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Work: a system against another one. Without `intervals`, only the p values are found."""

    system: Rows
    baseline: Rows
    measures: tuple[Measure, ...]
    type_measures: tuple[TypeMeasure, ...]
    resampling: Resampling
    intervals: bool


@dataclass(frozen=True, slots=True)
class Tested:
    """The difference of one score between two systems; a score of types has no interval yet."""

    test: str
    difference: float
    p_value: float
    interval: Interval | None = None
    counts: WinsTiesLosses | None = None


def key_of(measure: AnyMeasure) -> Key:
    """Return what tells a measure from the others of its system."""
    return measure.name, measure.scope


def compare_pair(pair: Pair) -> dict[Key, Tested]:
    """Return the tests of all scores."""
    drawn = _Drawn(pair)
    tested = {key_of(m): _tested(m, pair, drawn) for m in pair.measures}
    if pair.type_measures:
        how = pair.resampling
        results = randomization_tests(
            pair.system.types,
            pair.baseline.types,
            [measure.of for measure in pair.type_measures],
            samples=how.samples,
            seed=how.seed,
        )
        for measure, result in zip(pair.type_measures, results, strict=True):
            tested[key_of(measure)] = Tested(RANDOMIZATION, result.difference, result.p_value)
    return tested


def jackknives(work: tuple[Rows, tuple[TypeMeasure, ...]]) -> tuple[Jackknife, ...]:
    """Return the jackknife of each score of types of one system."""
    rows, measures = work
    return rows.types.jackknives([measure.of for measure in measures])


def difference_interval(
    system: Jackknife, baseline: Jackknife, confidence: float
) -> Interval | None:
    """Return the interval of a difference; None when it has no value with some unit left out."""
    interval = (system - baseline).interval(confidence)
    return interval if math.isfinite(interval.low) else None


class _Drawn:
    """Swapped and resampled sums of a pair, drawn once for all measures with one block size."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._swapped: dict[int, SwappedSums] = {}
        self._resampled: dict[int, tuple[ResampledSums, ResampledSums]] = {}

    def swapped(self, block: int) -> SwappedSums:
        if block not in self._swapped:
            system, baseline = self._tables(block)
            how = self._pair.resampling
            self._swapped[block] = swapped_sums(
                system, baseline, samples=how.samples, seed=how.seed
            )
        return self._swapped[block]

    def resampled(self, block: int) -> tuple[ResampledSums, ResampledSums]:
        if block not in self._resampled:
            system, baseline = self._tables(block)
            how = self._pair.resampling
            self._resampled[block] = (
                resampled_sums(system, samples=how.samples, seed=how.seed),
                resampled_sums(baseline, samples=how.samples, seed=how.seed),
            )
        return self._resampled[block]

    def _tables(self, block: int) -> tuple[Table, Table]:
        pair = self._pair
        return in_blocks(pair.system.table, block), in_blocks(pair.baseline.table, block)


def _tested(measure: Measure, pair: Pair, drawn: _Drawn) -> Tested:
    interval = counts = None
    if pair.intervals:
        system, baseline = drawn.resampled(measure.block)
        interval = paired_bootstrap(
            measure.of, system, baseline, confidence=pair.resampling.confidence
        ).interval
    if measure.outcome is not None:
        system_outcomes, baseline_outcomes = _outcomes(measure, pair)
        result = mcnemar(system_outcomes, baseline_outcomes)
        counts = wins_ties_losses(system_outcomes, baseline_outcomes)
        difference = measure.scale * float(system_outcomes.mean() - baseline_outcomes.mean())
        return Tested(MCNEMAR, difference, result.p_value, interval, counts)
    if pair.intervals and measure.block == 1:
        counts = _counts(measure, pair)
    chance = randomization_test(measure.of, drawn.swapped(measure.block))
    return Tested(RANDOMIZATION, chance.difference, chance.p_value, interval, counts)


def _outcomes(measure: Measure, pair: Pair) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the 0/1 outcomes of the units that are cases."""
    tables = (pair.system.table, pair.baseline.table)
    assert measure.outcome is not None
    system, baseline = (table.column(measure.outcome) for table in tables)
    if measure.cases is None:
        return system, baseline
    cases = np.logical_and(*(table.column(measure.cases) > 0 for table in tables))
    return system[cases], baseline[cases]


def _counts(measure: Measure, pair: Pair) -> WinsTiesLosses:
    return counted(*(scores_by_unit(measure, rows.table) for rows in (pair.system, pair.baseline)))


def scores_by_unit(measure: Measure, table: Table) -> NDArray[np.float64]:
    """Return the score of each unit alone, shape (units,); NaN where it has none."""
    by_unit = zip(table.columns, np.ascontiguousarray(table.values.T), strict=True)
    return evaluate(measure.of, dict(by_unit))


def counted(system: NDArray[np.float64], baseline: NDArray[np.float64]) -> WinsTiesLosses:
    """Compare unit by unit; a unit without a score of its own in either is left out."""
    defined = np.isfinite(system) & np.isfinite(baseline)
    return wins_ties_losses(system[defined], baseline[defined], tolerance=ROUNDING)
