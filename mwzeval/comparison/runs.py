"""Many runs of one system, told apart by their seeds: what all of its scores are worth together.

The spread of a score over runs says nothing about other dialogues, and its interval nothing about
other seeds. `Across.components` has both: a score is the mean of one number a unit (its jackknife
pseudo-value, which for a rate is the outcome itself), and the variance of these, over runs × units,
is split between runs, units and the rest.

Systems with several runs each are compared by `resample` and `compare_runs`, which do for all of
their scores what `compare_pairs` does for those of single runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.alignment import may_have_other_goals, signatures_of
from mwzeval.comparison.pairs import Key, Rows, Tested, counted, key_of, scores_by_unit
from mwzeval.errors import InputError, Problem, UsageError, shorten
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, TypeMeasure, observed
from mwzeval.scores.score import Interval
from mwzeval.scores.table import Table
from mwzeval.statistics import (
    HIERARCHICAL,
    AcrossRuns,
    ResampledRuns,
    VarianceComponents,
    across_runs,
    hierarchical_bootstrap,
    in_blocks,
    resampled_sums,
    variance_components,
)
from mwzeval.statistics.resampling import evaluate


@dataclass(frozen=True, slots=True)
class Across:
    """A score over runs: `values` in the order of the runs, `n` units behind each of them.

    `components` are the variances, in the squared unit of the score, of the numbers of units whose
    mean the score is; None for scores that are no such mean (distinct words, windows of text), and
    where runs have different cases (dialogues that say a value of a slot).
    """

    name: str
    label: str
    scope: str
    places: int
    n: int
    values: tuple[float, ...]
    over: AcrossRuns
    components: VarianceComponents | None
    lower_is_better: bool = False

    @property
    def value(self) -> float:
        """The mean over the runs, which stands for all of them."""
        return self.over.mean

    @property
    def shares(self) -> tuple[float, float, float] | None:
        """Of the variance of one run's score, the parts due to run, units and the rest."""
        if self.components is None:
            return None
        parts = (
            self.components.run,
            self.components.unit / self.n,
            self.components.residual / self.n,
        )
        total = sum(parts)
        return (parts[0] / total, parts[1] / total, parts[2] / total) if total else None

    def standard_error(self, runs: float = 1, units: float = 1) -> float | None:
        """Return that of the mean, with so many times the runs and units that there are."""
        if self.components is None:
            return None
        return self.components.standard_error(round(runs * len(self.values)), round(units * self.n))


def across(runs: Mapping[str, ScoredTable]) -> tuple[Across, ...]:
    """Return every score over the runs, by name.

    Raises:
        UsageError: For less than two runs, or runs with different signatures.
        InputError: When they do not have the same units, with those that are missing.
    """
    if len(runs) < 2:
        raise UsageError("--runs needs at least two predictions files, one for each run")
    check_alike(runs)
    first, *others = runs.values()
    units = first.table.units
    tables = [scored.table.select(units) for scored in runs.values()]
    additive = (
        _additive([_measure(scored, measure) for scored in runs.values()], tables)
        for measure in first.measures
    )
    of_types = (
        _across(measure, [measure.value, *(_value(s, measure) for s in others)], len(units), None)
        for measure in first.type_measures
    )
    return (*additive, *of_types)


def _additive(of_runs: list[Measure], tables: list[Table]) -> Across:
    measure = of_runs[0]
    values = [of_run.value(observed(table)) for of_run, table in zip(of_runs, tables, strict=True)]
    cases = measure.cases
    n = len(tables[0].units) if cases is None else round(tables[0].column(cases).sum())
    is_mean = measure.known is None and measure.block == 1
    return _across(measure, values, n, _components(of_runs, tables) if is_mean else None)


def _across(
    measure: Measure | TypeMeasure,
    values: list[float],
    n: int,
    components: VarianceComponents | None,
) -> Across:
    return Across(
        name=measure.name,
        label=measure.label,
        scope=measure.scope,
        places=measure.places,
        n=n,
        values=tuple(values),
        over=across_runs(values),
        components=components,
        lower_is_better=isinstance(measure, Measure) and measure.lower_is_better,
    )


def _components(of_runs: list[Measure], tables: list[Table]) -> VarianceComponents | None:
    cases = of_runs[0].cases
    if cases is not None:
        first, *others = (table.column(cases) > 0 for table in tables)
        if not all(np.array_equal(first, other) for other in others):
            return None  # the units are not the same, so that runs and units cannot be told apart
    numbers = np.array([pseudo_values(m, table) for m, table in zip(of_runs, tables, strict=True)])
    if numbers.shape[1] < 2 or not np.isfinite(numbers).all():
        return None
    return variance_components(numbers)


def pseudo_values(measure: Measure, table: Table) -> NDArray[np.float64]:
    """Return n·score - (n-1)·(score without the unit) for each of the n units it is about.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 11.5.
    """
    rows = table.values
    if measure.cases is not None:
        rows = rows[table.column(measure.cases) > 0]
    n = len(rows)
    left_out = rows.sum(axis=0) - rows
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = measure.of(observed(table))[0]
        without = measure.of(dict(zip(table.columns, left_out.T, strict=True)))
    return np.asarray(n * whole - (n - 1) * without, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Work: the runs of a system on the common units, in the order of their names."""

    system: str
    rows: tuple[Rows, ...]
    measures: tuple[Measure, ...]
    type_measures: tuple[TypeMeasure, ...]
    resampling: Resampling


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """A score of a system's runs resampled, and its mean over the runs on each unit alone.

    The latter is None where a unit alone has no such score.
    """

    score: ResampledRuns
    by_unit: NDArray[np.float64] | None


def resample(work: Runs) -> dict[Key, Resampled]:
    """Return all scores of a system resampled: units once for all runs, and runs.

    Sums are drawn once a run for all scores with one block size.
    """
    how = work.resampling
    tables = [rows.table for rows in work.rows]
    drawn = {
        block: [
            resampled_sums(in_blocks(table, block), samples=how.samples, seed=how.seed)
            for table in tables
        ]
        for block in {measure.block for measure in work.measures}
    }
    resampled = {}
    for measure in work.measures:
        values = [float(evaluate(measure.of, observed(table))[0]) for table in tables]
        samples = [evaluate(measure.of, sums.samples) for sums in drawn[measure.block]]
        by_unit = None
        if measure.block == 1:
            by_unit = np.mean([scores_by_unit(measure, table) for table in tables], axis=0)
        score = _drawn(work, values, np.mean(samples, axis=0))
        resampled[key_of(measure)] = Resampled(score, by_unit)
    if work.type_measures:
        resampled |= _resampled_types(work)
    return resampled


def _resampled_types(work: Runs) -> dict[Key, Resampled]:
    """Return the scores of types, which resampled units would bias.

    They are means of jackknife pseudo-values, and these are resampled: as wide as the jackknife.
    """
    functions = [measure.of for measure in work.type_measures]
    units = work.rows[0].types.units
    values = np.array([[rows.types.value(of) for of in functions] for rows in work.rows])
    deviations = np.zeros((len(units), len(functions)))
    if len(units) > 1:
        left_out = np.array(
            [
                [jackknife.left_out for jackknife in rows.types.jackknives(functions)]
                for rows in work.rows
            ]
        ).mean(axis=0)
        deviations = (len(units) - 1) * (left_out.mean(axis=1) - left_out.T)
    table = Table(units, tuple(map(str, range(len(functions)))), deviations / len(units))
    how = work.resampling
    sums = resampled_sums(table, samples=how.samples, seed=how.seed).samples.values()
    return {
        key_of(measure): Resampled(_drawn(work, of_runs.tolist(), of_runs.mean() + drawn), None)
        for measure, of_runs, drawn in zip(work.type_measures, values.T, sums, strict=True)
    }


def own_intervals(work: Runs) -> dict[Key, Interval]:
    """Return the interval of each score of a system with one run, as its report has it."""
    (rows,) = work.rows
    scored = ScoredTable(rows.table, work.measures, work.type_measures, lambda: rows.types)
    return {
        (score.name, score.scope): score.interval
        for score in scored.scores(work.resampling)
        if score.interval is not None
    }


def _drawn(work: Runs, values: list[float], of_units: NDArray[np.float64]) -> ResampledRuns:
    return ResampledRuns.of(values, of_units, system=work.system, seed=work.resampling.seed)


def compare_runs(system: Resampled, baseline: Resampled, confidence: float) -> Tested:
    """Return the test of one score; no interval where it has a value in no resample."""
    counts = None
    if system.by_unit is not None and baseline.by_unit is not None:
        counts = counted(system.by_unit, baseline.by_unit)
    if not np.isfinite(system.score.of_units - baseline.score.of_units).any():
        difference = system.score.value - baseline.score.value
        return Tested(HIERARCHICAL, difference, 1.0, None, counts)
    found = hierarchical_bootstrap(system.score, baseline.score, confidence=confidence)
    return Tested(HIERARCHICAL, found.difference, found.p_value, found.interval, counts)


def check_alike(runs: Mapping[str, ScoredTable], unit: str = "dialogue") -> None:
    """Raise `UsageError` for runs not scored alike, `InputError` for runs of different units."""
    _check_units(runs, unit)
    _check_settings(runs)


def _check_units(runs: Mapping[str, ScoredTable], unit: str) -> None:
    everything = dict.fromkeys(unit for scored in runs.values() for unit in scored.table.units)
    problems = []
    for name, scored in runs.items():
        there = set(scored.table.units)
        if lacking := [unit for unit in everything if unit not in there]:
            some = ", ".join(f'"{shorten(unit)}"' for unit in lacking[:3])
            more = ", …" if len(lacking) > 3 else ""
            message = (
                f"lacks {len(lacking)} of the {len(everything)} {unit}s that other runs have "
                f"({some}{more}); all runs need the same {unit}s"
            )
            problems.append(Problem("different-dialogues", message, file=name))
    if may_have_other_goals(runs):
        problems += _other_goals(runs, unit)
    if problems:
        raise InputError(problems)


def _other_goals(runs: Mapping[str, ScoredTable], unit: str) -> Iterator[Problem]:
    (first, scored), *others = runs.items()
    for name, other in others:
        known = scored.about.keys() & other.about.keys()
        if count := sum(scored.about[each] != other.about[each] for each in known):
            message = (
                f"has other goals than {first} in {count} {unit}s of the same name; all runs need "
                "the same goals"
            )
            yield Problem("different-goals", message, file=name)


def _check_settings(runs: Mapping[str, ScoredTable]) -> None:
    """Raise when what was scored in one run was not in another, or under another signature."""
    (first, scored), *others = runs.items()
    signatures = signatures_of(scored)
    for name, other in others:
        of_other = signatures_of(other)
        for key in sorted(signatures.keys() ^ of_other.keys()):
            has, lacks = (first, name) if key in signatures else (name, first)
            raise UsageError(
                f"the runs are not alike: {has} has {key[0]} ({key[1]}), {lacks} has not; runs of "
                "one system differ in nothing but their seed"
            )
        for key, signature in signatures.items():
            # Runs are of the same units, so that amounts may not differ either.
            for what in signature.differences(of_other[key]):
                mine, theirs = (dict(s.choices).get(what) for s in (signature, of_other[key]))
                raise UsageError(
                    f"the runs are not alike: for {key[0]}, {what} is {mine} in {first} and "
                    f"{theirs} in {name}; runs of one system differ in nothing but their seed"
                )


def _measure(scored: ScoredTable, like: Measure) -> Measure:
    return next(m for m in scored.measures if (m.name, m.scope) == (like.name, like.scope))


def _value(scored: ScoredTable, like: TypeMeasure) -> float:
    return next(
        m.value for m in scored.type_measures if (m.name, m.scope) == (like.name, like.scope)
    )
