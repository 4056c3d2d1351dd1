"""Systems that can be compared with each other: align, test, correct, rank."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import mean
from typing import TypeVar

import numpy as np

from mwzeval.comparison.alignment import (
    aligned_rows,
    common_signature,
    common_units,
    in_clusters,
    measures_of,
    signatures_of,
)
from mwzeval.comparison.model import (
    MCNEMAR,
    WITHOUT_DIRECTION,
    ComparedMeasure,
    ComparedSystem,
    Difference,
    Place,
)
from mwzeval.comparison.pairs import (
    AnyMeasure,
    Key,
    Pairs,
    Rows,
    Tested,
    compare_pairs,
    key_of,
)
from mwzeval.comparison.runs import Resampled, Runs, compare_runs, own_intervals, resample
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, TypeMeasure, observed
from mwzeval.progress import counting, followed
from mwzeval.scores.comparable import Group
from mwzeval.scores.score import WHOLE, Interval, Signature
from mwzeval.statistics import FEWEST_RUNS, Jackknife, holm, ranks, significant_pairs
from mwzeval.statistics.resampling import evaluate

PAIRS_TOGETHER = 32
"""Pairs of one piece of work: what is drawn for a system is drawn again in each that it is in."""

Work = TypeVar("Work")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class GroupWork:
    """How systems that can be compared with each other are."""

    resampling: Resampling
    level: float
    intervals: bool
    executor: Executor | None
    unit: str
    clusters: Mapping[str, str] | None

    def compare(
        self, runs: Mapping[str, Mapping[str, ScoredTable]], asked: Sequence[Key]
    ) -> dict[Key, ComparedMeasure]:
        """Return those of the scores `asked` that have a value on the common units.

        Raises:
            UsageError: Without a common unit.
            ValueError: For clusters where there are scores of types.
        """
        how, clusters, executor = self.resampling, self.clusters, self.executor
        firsts = {name: next(iter(of.values())) for name, of in runs.items()}
        units = common_units(firsts, self.unit)
        aligned = aligned_rows(
            {(name, run): scored for name, of in runs.items() for run, scored in of.items()}, units
        )
        rows = {name: tuple(aligned[name, run] for run in of) for name, of in runs.items()}
        first = next(iter(firsts.values()))
        values = {
            name: [_values(of[run], aligned[name, run], asked) for run in of]
            for name, of in runs.items()
        }
        defined = [
            key
            for key in asked
            if all(np.isfinite(run[key]) for of in values.values() for run in of)
        ]
        # Where one system has means of outcomes (over trials), those of all are compared as such;
        # and outcomes of a cluster are no independent cases.
        averaged = {
            key_of(m)
            for of in firsts.values()
            for m in of.measures
            if m.outcome is None or clusters
        }
        averaged |= _of_other_cases(first.measures, [of for each in rows.values() for of in each])
        measures = tuple(
            _as_mean(m, clusters is not None) if key_of(m) in averaged else m
            for m in first.measures
            if key_of(m) in defined
        )
        type_measures = tuple(m for m in first.type_measures if key_of(m) in defined)
        drawn = None if clusters is None else len({clusters[name] for name in units})
        by_key = {key_of(m): m for m in measures_of(first) if key_of(m) in defined}
        cases = {
            key: {name: _cases(m, of[0]) for name, of in rows.items()} for key, m in by_key.items()
        }
        if clusters is not None:
            if type_measures:
                raise ValueError(
                    "scores of types, such as distinct words, have no sums of clusters"
                )
            rows = {
                name: tuple(in_clusters(run, clusters) for run in of) for name, of in rows.items()
            }
        work = [Runs(name, of, measures, type_measures, how) for name, of in rows.items()]
        several = any(len(of) > 1 for of in rows.values()) and (len(rows) > 1 or self.intervals)
        resampled = dict(zip(rows, _run(executor, resample, work), strict=True) if several else ())
        if several:
            tested = _test_runs(resampled, how.confidence)
        else:
            single = {name: of[0] for name, of in rows.items()}
            tested = _test(single, measures, how, executor)
            if type_measures and len(single) > 1:
                found = _differences_of_types(single, values, type_measures, how.confidence)
                for pair, of_types in found.items():
                    tested[pair] |= of_types
        own = _intervals(work, resampled, executor) if self.intervals else {}
        group = Group(
            systems=tuple(runs),
            units=units,
            left_out={name: len(s.table.units) - len(units) for name, s in firsts.items()},
            clusters=drawn,
        )
        signed = [signatures_of(scored) for scored in firsts.values()]
        return {
            key: _with_intervals(
                _compared(
                    by_key[key],
                    cases[key],
                    common_signature([of[key] for of in signed], len(units), drawn),
                    group,
                    values,
                    tested,
                    self.level,
                    1 / (1 + how.samples),
                ),
                own,
            )
            for key in defined
        }


def _as_mean(measure: Measure, in_clusters: bool) -> Measure:
    """Return a score that is resampled as means are; it has as many cases as there are clusters."""
    is_rate = measure.is_mean_rate or measure.outcome is not None
    cases = None if in_clusters else measure.cases
    return replace(measure, outcome=None, is_mean_rate=is_rate, cases=cases)


def _cases(measure: AnyMeasure, rows: Rows) -> int:
    """Return how many common units of a system a score is about."""
    table = rows.table
    column = measure.cases if isinstance(measure, Measure) else None
    return len(table.units) if column is None else round(table.column(column).sum())


def _of_other_cases(measures: Iterable[Measure], rows: Sequence[Rows]) -> set[Key]:
    """Return the keys of measures that are not about the same units in all systems."""
    tables = [of.table for of in rows]
    return {
        key_of(m)
        for m in measures
        if m.cases is not None
        and all(m.cases in table.columns for table in tables)
        and any(
            not np.array_equal(tables[0].column(m.cases), table.column(m.cases)) for table in tables
        )
    }


def _values(scored: ScoredTable, rows: Rows, keys: Sequence[Key]) -> dict[Key, float]:
    """Return the scores on the common units; NaN for one that has none."""
    complete = len(rows.table.units) == len(scored.table.units)
    sums = observed(rows.table)
    values = {}
    for measure in scored.measures:
        key = key_of(measure)
        if key in keys:
            value = float(evaluate(measure.of, sums)[0])
            values[key] = measure.value(sums) if complete and np.isfinite(value) else value
    for types in scored.type_measures:
        key = key_of(types)
        if key in keys:
            with np.errstate(divide="ignore", invalid="ignore"):
                value = rows.types.value(types.of)
            values[key] = types.value if complete and np.isfinite(value) else value
    return values


def _test(
    rows: Mapping[str, Rows],
    measures: tuple[Measure, ...],
    how: Resampling,
    executor: Executor | None,
) -> dict[tuple[str, str], dict[Key, Tested]]:
    """Return the tests of each pair (one system, an earlier one); parts only with the first."""
    baseline = next(iter(rows))
    pairs = [(later, earlier) for earlier, later in combinations(rows, 2)]
    work = []
    for first in range(0, len(pairs), PAIRS_TOGETHER):
        chosen = tuple(pairs[first : first + PAIRS_TOGETHER])
        needed = {
            name: of.table for name, of in rows.items() if any(name in pair for pair in chosen)
        }
        work.append(Pairs(needed, chosen, baseline, measures, how))
    tested: dict[tuple[str, str], dict[Key, Tested]] = {}
    with counting(sum(of.tests for of in work), "tests") as update:
        if executor is None or len(work) < 2:
            for piece in work:
                tested |= compare_pairs(piece, update)
        else:
            for piece, results in zip(work, executor.map(compare_pairs, work), strict=True):
                tested |= results
                update(piece.tests)
    return tested


def _differences_of_types(
    rows: Mapping[str, Rows],
    values: Mapping[str, Sequence[Mapping[Key, float]]],
    measures: Sequence[TypeMeasure],
    confidence: float,
) -> dict[tuple[str, str], dict[Key, Tested]]:
    """Return the differences of each system to the first one; scores of types are not tested.

    No interval with a single unit, or where a score has no value with some unit left out.
    """
    baseline, *others = rows
    functions = [measure.of for measure in measures]
    left_out: dict[str, tuple[Jackknife, ...]] = {}
    if len(rows[baseline].table.units) > 1:
        left_out = {name: of.types.jackknives(functions) for name, of in rows.items()}
    found: dict[tuple[str, str], dict[Key, Tested]] = {(name, baseline): {} for name in others}
    for (system, _), tests in found.items():
        for index, key in enumerate(map(key_of, measures)):
            interval = None
            if left_out:
                jackknife = left_out[system][index] - left_out[baseline][index]
                interval = jackknife.interval(confidence)
                interval = interval if np.isfinite(interval.low) else None
            difference = values[system][0][key] - values[baseline][0][key]
            tests[key] = Tested(None, difference, math.nan, interval)
    return found


def _test_runs(
    resampled: Mapping[str, Mapping[Key, Resampled]], confidence: float
) -> dict[tuple[str, str], dict[Key, Tested]]:
    """Return the tests of each pair (one system, an earlier one) of systems with several runs."""
    pairs = [(system, other) for other, system in combinations(resampled, 2)]
    return {
        (system, other): {
            key: compare_runs(score, resampled[other][key], confidence)
            for key, score in resampled[system].items()
        }
        for system, other in followed(pairs, "pairs")
    }


def _intervals(
    work: Sequence[Runs],
    resampled: Mapping[str, Mapping[Key, Resampled]],
    executor: Executor | None,
) -> dict[str, dict[Key, Interval]]:
    """Return the intervals of the scores themselves, those of several runs from what was drawn."""
    single = [of for of in work if len(of.rows) == 1]
    own = dict(
        zip((of.system for of in single), _run(executor, own_intervals, single), strict=True)
    )
    for of in work:
        if len(of.rows) > 1:
            own[of.system] = {
                key: score.score.interval(of.resampling.confidence)
                for key, score in resampled[of.system].items()
                if np.isfinite(score.score.of_units).any()
            }
    return own


def _run(
    executor: Executor | None, function: Callable[[Work], Result], work: Sequence[Work]
) -> Iterator[Result]:
    """Yield the results of the work of each system; that of a single one is done here."""
    with counting(len(work), "systems resampled") as update:
        mapped = map if executor is None or len(work) < 2 else executor.map
        for result in mapped(function, work):
            yield result
            update(1)


def _compared(
    measure: AnyMeasure,
    cases: Mapping[str, int],
    signature: Signature,
    group: Group,
    values: Mapping[str, Sequence[Mapping[Key, float]]],
    tested: Mapping[tuple[str, str], Mapping[Key, Tested]],
    level: float,
    least: float,
) -> ComparedMeasure:
    key = key_of(measure)
    baseline, *others = values
    against = [tested[system, baseline][key] for system in others]
    lower_is_better = isinstance(measure, Measure) and measure.lower_is_better
    is_description = isinstance(measure, TypeMeasure) or measure.is_description
    block = measure.block if isinstance(measure, Measure) else 1
    seeds = len(group.units) // block if block > 1 else None
    is_tested = not is_description and not 1 < (seeds or 0) < FEWEST_RUNS
    adjusted = holm([test.p_value for test in against]) if is_tested else [None] * len(against)
    differences: dict[str, Difference | None] = {baseline: None}
    for system, test, p_value in zip(others, against, adjusted, strict=True):
        counts = test.counts
        if is_description:
            counts = None
        elif counts is not None and lower_is_better:
            counts = counts.reversed()
        differences[system] = Difference(
            value=test.difference,
            interval=test.interval,
            p_value=test.p_value if is_tested else None,
            adjusted=p_value if is_tested else None,
            counts=counts,
            is_least=test.test != MCNEMAR and test.p_value <= least,
        )
    of_runs = {system: tuple(run[key] for run in of) for system, of in values.items()}
    # Exact: runs that score the same score that, and nothing a bit beside it.
    scores = {system: float(mean(of_run)) for system, of_run in of_runs.items()}
    places: dict[str, Place] = {}
    pairs: dict[tuple[str, str], float] = {}
    if measure.scope == WHOLE and others and is_tested:
        p_values = {pair: tests[key].p_value for pair, tests in tested.items()}
        pairs = dict(zip(p_values, holm(list(p_values.values())), strict=True))
        goodness = scores
        if lower_is_better:
            goodness = {system: -score for system, score in scores.items()}
        if not measure.name.startswith(WITHOUT_DIRECTION):
            for rank in ranks(goodness, significant_pairs(p_values, level)):
                places[rank.system] = Place(rank.rank, rank.lowest)
    return ComparedMeasure(
        name=measure.name,
        label=measure.label,
        n=len(group.units) if group.clusters is None else group.clusters,
        signature=signature,
        test=against[0].test if against and is_tested else None,
        systems=tuple(
            ComparedSystem(
                system,
                scores[system],
                differences[system],
                places.get(system),
                of_runs[system],
                cases[system],
                seeds=seeds,
            )
            for system in values
        ),
        group=group,
        places=measure.places,
        scope=measure.scope,
        lower_is_better=lower_is_better,
        is_description=is_description,
        pairs=pairs,
    )


def _with_intervals(
    measure: ComparedMeasure, own: Mapping[str, Mapping[Key, Interval]]
) -> ComparedMeasure:
    key = (measure.name, measure.scope)
    systems = (
        replace(entry, interval=own.get(entry.system, {}).get(key)) for entry in measure.systems
    )
    return replace(measure, systems=tuple(systems))
