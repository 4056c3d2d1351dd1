"""Pairs of systems on the same units: every test of every score, in one piece of work.

A piece of work and what it returns can be sent to other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.model import MCNEMAR, RANDOMIZATION
from mwzeval.metrics.measure import Measure, Resampling, TypeMeasure
from mwzeval.metrics.types import TypeCounts
from mwzeval.scores.score import WHOLE, Interval
from mwzeval.scores.table import Table
from mwzeval.statistics import (
    Differences,
    GivenSums,
    ResampledSums,
    WinsTiesLosses,
    all_resampled_sums,
    given_sums,
    in_blocks,
    mcnemar,
    randomization_test,
    wins_ties_losses,
)
from mwzeval.statistics.resampling import evaluate

Key: TypeAlias = tuple[str, str]
"""Name and scope of a measure."""

AnyMeasure: TypeAlias = Measure | TypeMeasure

Drawn = TypeVar("Drawn")

ROUNDING = 1e-9
"""Scores of one unit that are this close are level but for the order of arithmetic."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What is known of one system on the common units; all systems have the same columns."""

    table: Table
    types: TypeCounts


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Work: systems on the same units, and pairs of them, (one system, another one).

    Scores of parts and intervals are only of pairs with the `baseline`; of others p values are all
    that is found.
    """

    systems: Mapping[str, Table]
    pairs: tuple[tuple[str, str], ...]
    baseline: str
    measures: tuple[Measure, ...]
    resampling: Resampling

    @property
    def tests(self) -> int:
        """How many tests there are: those of all scores of all pairs."""
        return sum(len(self.asked(measure)) for measure in self.measures)

    def asked(self, measure: Measure) -> list[tuple[str, str]]:
        """Return the pairs of which a score is tested."""
        return [pair for pair in self.pairs if measure.scope == WHOLE or pair[1] == self.baseline]


@dataclass(frozen=True, slots=True)
class Tested:
    """The difference of one score between two systems.

    A score of types has no `test`, and NaN for a p value.
    """

    test: str | None
    difference: float
    p_value: float
    interval: Interval | None = None
    counts: WinsTiesLosses | None = None


def key_of(measure: AnyMeasure) -> Key:
    """Return what tells a measure from the others of its system."""
    return measure.name, measure.scope


def compare_pairs(
    work: Pairs, update: Callable[[int], object] = lambda n: None
) -> dict[tuple[str, str], dict[Key, Tested]]:
    """Return the tests of all scores of each pair; `update(1)` is called after each of them."""
    tested: dict[tuple[str, str], dict[Key, Tested]] = {pair: {} for pair in work.pairs}
    by_block = {measure.block: _Drawn(work, measure.block) for measure in work.measures}
    for measure in work.measures:
        key, drawn = key_of(measure), by_block[measure.block]
        for pair, test in _tested(measure, work.asked(measure), work, drawn):
            tested[pair][key] = test
            update(1)
    return tested


class _Drawn:
    """Sums drawn once for all systems and all scores with one block size."""

    def __init__(self, work: Pairs, block: int) -> None:
        self._how = work.resampling
        self._tables = {name: in_blocks(table, block) for name, table in work.systems.items()}

    @cached_property
    def given(self) -> dict[str, GivenSums]:
        """What each system gives away when units are swapped."""
        return self._of_all(given_sums)

    @cached_property
    def resampled(self) -> dict[str, ResampledSums]:
        """Resampled sums of each system."""
        return self._of_all(all_resampled_sums)

    def _of_all(self, draw: Callable[..., list[Drawn]]) -> dict[str, Drawn]:
        how = self._how
        drawn = draw(list(self._tables.values()), samples=how.samples, seed=how.seed)
        return dict(zip(self._tables, drawn, strict=True))


def _tested(
    measure: Measure, pairs: Sequence[tuple[str, str]], work: Pairs, drawn: _Drawn
) -> Iterator[tuple[tuple[str, str], Tested]]:
    """Yield the test of one score for each of these pairs."""

    # What a system has alone is found once, however many pairs it is in.
    @cache
    def resampled(name: str) -> tuple[NDArray[np.float64], float]:
        sums = drawn.resampled[name]
        return evaluate(measure.of, sums.samples), float(evaluate(measure.of, sums.observed)[0])

    @cache
    def by_unit(name: str) -> NDArray[np.float64]:
        return scores_by_unit(measure, work.systems[name])

    for system, other in pairs:
        interval = counts = None
        with_interval = other == work.baseline
        if with_interval:
            (mine, value), (theirs, of_other) = resampled(system), resampled(other)
            differences = Differences.between(mine, theirs, value, of_other)
            interval = differences.bootstrap(work.resampling.confidence).interval
        if measure.outcome is not None:
            outcomes = _outcomes(measure, work.systems[system], work.systems[other])
            result = mcnemar(*outcomes)
            counts = wins_ties_losses(*outcomes)
            difference = measure.scale * float(outcomes[0].mean() - outcomes[1].mean())
            test = Tested(MCNEMAR, difference, result.p_value, interval, counts)
        else:
            if with_interval and measure.block == 1:
                counts = counted(by_unit(system), by_unit(other))
            swapped = drawn.given[system].swapped_with(drawn.given[other])
            chance = randomization_test(measure.of, swapped)
            test = Tested(RANDOMIZATION, chance.difference, chance.p_value, interval, counts)
        yield (system, other), test


def _outcomes(
    measure: Measure, system: Table, baseline: Table
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the 0/1 outcomes of the units that are cases."""
    tables = (system, baseline)
    assert measure.outcome is not None
    mine, theirs = (table.column(measure.outcome) for table in tables)
    if measure.cases is None:
        return mine, theirs
    cases = np.logical_and(*(table.column(measure.cases) > 0 for table in tables))
    return mine[cases], theirs[cases]


def scores_by_unit(measure: Measure, table: Table) -> NDArray[np.float64]:
    """Return the score of each unit alone, shape (units,); NaN where it has none."""
    by_unit = zip(table.columns, np.ascontiguousarray(table.values.T), strict=True)
    return evaluate(measure.of, dict(by_unit))


def counted(system: NDArray[np.float64], baseline: NDArray[np.float64]) -> WinsTiesLosses:
    """Compare unit by unit; a unit without a score of its own in either is left out."""
    defined = np.isfinite(system) & np.isfinite(baseline)
    return wins_ties_losses(system[defined], baseline[defined], tolerance=ROUNDING)
