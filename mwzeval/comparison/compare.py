"""From what was scored of each system to a comparison: align, test, correct, rank."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

import numpy as np

from mwzeval.comparison.model import ComparedMeasure, ComparedSystem, Comparison, Difference, Place
from mwzeval.comparison.pairs import (
    Key,
    Pair,
    Rows,
    Tested,
    difference_interval,
    jackknives,
    test_pair,
)
from mwzeval.errors import UsageError
from mwzeval.measure import Measure, Resampling, Scored, TypeMeasure, observed
from mwzeval.score import WHOLE, Signature
from mwzeval.statistics import holm, rank_clusters, significant_pairs
from mwzeval.statistics.resampling import evaluate
from mwzeval.table import Table

LEVEL = 0.05
"""Adjusted p values up to this are called significant, unless said otherwise."""

COUNTED = ("n", "turns")
"""Keys of a signature that say how much was scored; only common units are compared."""

FREE = ("state", "domains")
"""Keys that may differ between systems: one predicts states, another does without. It is shown."""

Work = TypeVar("Work")
Result = TypeVar("Result")


def compare(
    systems: Mapping[str, Scored],
    *,
    resampling: Resampling | None = None,
    level: float = LEVEL,
    scopes: bool = False,
    executor: Executor | None = None,
    unit: str = "dialogue",
) -> Comparison:
    """Compare each system with the first one, and all pairs for their ranks.

    Scores of 0/1 outcomes are tested by McNemar's exact test, all others by approximate
    randomisation; intervals of differences are of a paired bootstrap, those of scores of types of a
    jackknife. P values are corrected by Holm's method, over the systems for each score, and over
    all pairs for the ranks. Higher is better. `scopes` adds the scores of parts (domains), which
    are only compared with the first system. `executor` shares the work; the result is the same.

    Raises `UsageError` for less than two systems, for signatures that differ, and for systems
    without a common unit.
    """
    how = resampling or Resampling()
    if len(systems) < 2:
        raise UsageError("a comparison needs at least two systems, the baseline first")
    if not 0 < level < 1:
        raise UsageError(f"a level of significance is between 0 and 1, such as 0.05, not {level}")
    _check_signatures(systems)
    units = _common_units(systems, unit)
    rows = _aligned(systems, units)
    first = next(iter(systems.values()))
    known = {name: _keys(scored) for name, scored in systems.items()}
    shared = [key for key in _keys(first) if all(key in keys for keys in known.values())]
    asked = [key for key in shared if scopes or key[1] == WHOLE]
    values = {name: _values(systems[name], rows[name], asked) for name in systems}
    if not asked:
        raise UsageError("the systems have no score in common")
    defined = [key for key in asked if all(np.isfinite(of[key]) for of in values.values())]
    measures = tuple(m for m in first.measures if (m.name, m.scope) in defined)
    type_measures = tuple(m for m in first.type_measures if (m.name, m.scope) in defined)
    tested = _test(rows, measures, type_measures, how, executor)
    order = {key: place for place, key in enumerate(defined)}
    compared = [
        _compared(measure, rows, values, tested, level)
        for measure in sorted([*measures, *type_measures], key=lambda m: order[m.name, m.scope])
    ]
    return Comparison(
        systems=tuple(systems),
        units=units,
        left_out={name: len(s.table.units) - len(units) for name, s in systems.items()},
        measures=tuple(compared),
        lacking=_lacking(systems, known, shared),
        undefined=tuple(label for label in _labels(first, set(asked) - set(defined))),
        choices={name: _free_choices(scored) for name, scored in systems.items()},
        level=level,
        confidence=how.confidence,
        samples=how.samples,
        seed=how.seed,
        unit=unit,
    )


def _keys(scored: Scored) -> list[Key]:
    return [(m.name, m.scope) for m in (*scored.measures, *scored.type_measures)]


def _labels(scored: Scored, keys: Iterable[Key]) -> list[str]:
    chosen = set(keys)
    return [
        m.label if m.scope == WHOLE else f"{m.label}, {m.scope}"
        for m in (*scored.measures, *scored.type_measures)
        if (m.name, m.scope) in chosen
    ]


def _check_signatures(systems: Mapping[str, Scored]) -> None:
    baseline, *others = systems
    signed = {name: _signatures(scored) for name, scored in systems.items()}
    for other in others:
        differing: dict[str, str] = {}
        for key, mine in signed[baseline].items():
            theirs = signed[other].get(key, mine)
            here, there = dict(mine.choices), dict(theirs.choices)
            for choice in mine.differences(theirs, ignoring=(*COUNTED, *FREE)):
                differing[choice] = f"{here.get(choice, 'none')} and {there.get(choice, 'none')}"
        if differing:
            what = ", ".join(f"{choice} ({values})" for choice, values in differing.items())
            raise UsageError(f'"{baseline}" and "{other}" cannot be compared: they differ in {what}')


def _signatures(scored: Scored) -> dict[Key, Signature]:
    return {(m.name, m.scope): m.signature for m in (*scored.measures, *scored.type_measures)}


def _free_choices(scored: Scored) -> dict[str, str]:
    """Return what may differ between systems, of all metrics together."""
    return {
        choice: value
        for signature in _signatures(scored).values()
        for choice, value in signature.choices
        if choice in (*FREE, "turns")
    }


def _common_units(systems: Mapping[str, Scored], unit: str) -> tuple[str, ...]:
    """Return the units of all systems, in the order of the first one."""
    baseline, *others = systems
    common = set(systems[baseline].table.units)
    for other in others:
        common &= set(systems[other].table.units)
        if not common:
            raise UsageError(f'"{other}" has no {unit} in common with the systems before it')
    return tuple(name for name in systems[baseline].table.units if name in common)


def _aligned(systems: Mapping[str, Scored], units: Sequence[str]) -> dict[str, Rows]:
    """Return the common units and columns of each system.

    Tables keep the order of the first system, where neighbours belong together; types are sorted by
    unit, so that it does not matter.
    """
    tables = [scored.table for scored in systems.values()]
    columns = tuple(c for c in tables[0].columns if all(c in table.columns for table in tables))
    by_name = sorted(units)
    rows = {}
    for name, scored in systems.items():
        chosen = scored.table.select(units)
        values = [chosen.columns.index(column) for column in columns]
        table = Table(chosen.units, columns, chosen.values[:, values])
        types = scored.count_types()
        rows[name] = Rows(table, types.select(by_name) if scored.type_measures else types)
    return rows


def _values(scored: Scored, rows: Rows, keys: Sequence[Key]) -> dict[Key, float]:
    """Return the scores on the common units; NaN for one that has none."""
    complete = len(rows.table.units) == len(scored.table.units)
    sums = observed(rows.table)
    values = {}
    for measure in scored.measures:
        key = (measure.name, measure.scope)
        if key in keys:
            value = float(evaluate(measure.of, sums)[0])
            values[key] = measure.value(sums) if complete and np.isfinite(value) else value
    for types in scored.type_measures:
        key = (types.name, types.scope)
        if key in keys:
            with np.errstate(divide="ignore", invalid="ignore"):
                value = rows.types.value(types.of)
            values[key] = types.value if complete and np.isfinite(value) else value
    return values


def _test(
    rows: Mapping[str, Rows],
    measures: tuple[Measure, ...],
    type_measures: tuple[TypeMeasure, ...],
    how: Resampling,
    executor: Executor | None,
) -> dict[tuple[str, str], dict[Key, Tested]]:
    """Return the tests of each pair (one system, an earlier one); parts only with the first."""
    baseline = next(iter(rows))
    whole = tuple(measure for measure in measures if measure.scope == WHOLE)
    pairs = [(later, earlier) for earlier, later in combinations(rows, 2)]
    work = [
        Pair(
            rows[system],
            rows[other],
            measures if other == baseline else whole,
            type_measures,
            how,
            intervals=other == baseline,
        )
        for system, other in pairs
    ]
    # Both are handed out before either is waited for.
    results = _run(executor, test_pair, work)
    if type_measures and len(rows[baseline].table.units) > 1:
        left_out = _run(executor, jackknives, [(rows[name], type_measures) for name in rows])
        of_types = dict(zip(rows, left_out, strict=True))
    else:
        of_types = {}
    tested = dict(zip(pairs, results, strict=True))
    for (system, other), tests in tested.items():
        if other == baseline and of_types:
            for index, measure in enumerate(type_measures):
                key = (measure.name, measure.scope)
                interval = difference_interval(
                    of_types[system][index], of_types[baseline][index], how.confidence
                )
                tests[key] = replace(tests[key], interval=interval)
    return tested


def _run(
    executor: Executor | None, function: Callable[[Work], Result], work: Sequence[Work]
) -> Iterable[Result]:
    return map(function, work) if executor is None else executor.map(function, work)


def _compared(
    measure: Measure | TypeMeasure,
    rows: Mapping[str, Rows],
    values: Mapping[str, Mapping[Key, float]],
    tested: Mapping[tuple[str, str], Mapping[Key, Tested]],
    level: float,
) -> ComparedMeasure:
    key = (measure.name, measure.scope)
    baseline, *others = rows
    against = [tested[system, baseline][key] for system in others]
    adjusted = holm([test.p_value for test in against])
    differences: dict[str, Difference | None] = {baseline: None}
    for system, test, p_value in zip(others, against, adjusted, strict=True):
        differences[system] = Difference(
            test.difference, test.interval, test.p_value, p_value, test.counts
        )
    scores = {system: values[system][key] for system in rows}
    places: dict[str, Place] = {}
    if measure.scope == WHOLE:
        p_values = {pair: tests[key].p_value for pair, tests in tested.items()}
        for rank in rank_clusters(scores, significant_pairs(p_values, level)):
            places[rank.system] = Place(rank.cluster, rank.rank, rank.lowest)
    table = rows[baseline].table
    cases = measure.cases if isinstance(measure, Measure) else None
    return ComparedMeasure(
        name=measure.name,
        label=measure.label,
        n=len(table.units) if cases is None else int(table.column(cases).sum()),
        signature=_common_signature(measure.signature, len(table.units)),
        test=against[0].test,
        systems=tuple(
            ComparedSystem(system, scores[system], differences[system], places.get(system))
            for system in rows
        ),
        places=measure.places,
        scope=measure.scope,
    )


def _common_signature(signature: Signature, n: int) -> Signature:
    """Return a signature with the number of common units, without what may differ."""
    kept = tuple(c for c in signature.choices if c[0] not in (*COUNTED, *FREE))
    return Signature(signature.metric, kept).extended({"common": n})


def _lacking(
    systems: Mapping[str, Scored], known: Mapping[str, Sequence[Key]], shared: Sequence[Key]
) -> dict[str, tuple[str, ...]]:
    """Return the systems without a score that others have, by its label."""
    lacking = {}
    for scored in systems.values():
        for measure in (*scored.measures, *scored.type_measures):
            key = (measure.name, measure.scope)
            if key not in shared and measure.scope == WHOLE:
                lacking[measure.label] = tuple(n for n, keys in known.items() if key not in keys)
    return lacking
