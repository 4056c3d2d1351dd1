"""Compare systems: differences, intervals, tests and ranks on the units that all systems have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.alignment import (
    Key,
    aligned,
    amounts_of,
    check_alike,
    common_signature,
    common_units,
    groups_by_score,
    not_comparable,
    signatures_of,
)
from mwzeval.comparison.comparison import Comparison
from mwzeval.comparison.model import (
    MCNEMAR,
    RANDOMIZATION,
    WITHOUT_DIRECTION,
    ComparedMeasure,
    ComparedSystem,
    Difference,
    System,
)
from mwzeval.errors import UsageError
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, named, observed
from mwzeval.output import followed
from mwzeval.scores.comparable import Group
from mwzeval.scores.score import WHOLE, Interval, Score, Signature, is_named
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import (
    DrawnSums,
    evaluate,
    given_sums,
    in_blocks,
    percentile_interval,
    resampled_sums,
    swapped_differences,
)
from mwzeval.statistics.intervals import Jackknife
from mwzeval.statistics.runs import FEWEST_RUNS, HIERARCHICAL, ResampledRuns
from mwzeval.statistics.tests import Place, WinsTiesLosses, holm, mcnemar, ranks, wins_ties_losses
from mwzeval.statistics.trials import Trials

LEVEL = 0.05
"""Adjusted p values up to this are significant by default."""

ROUNDING = 1e-9
"""Scores of one unit that differ by at most this are equal but for the order of arithmetic."""

Pair = tuple[str, str]
"""A system, and the earlier one that it is compared with."""


def compare(
    systems: Mapping[str, System],
    *,
    resampling: Resampling | None = None,
    level: float = LEVEL,
    scopes: bool | Collection[str] = False,
    headline: Collection[str] = (),
    intervals: bool = False,
    unit: str = "dialogue",
    clusters: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare each system with the first one, and all pairs for their ranks.

    In each score only systems whose signatures agree are compared with each other; where these are
    several groups, each has its own first system, ranks and common units.

    Where a system has several runs, its score is their mean, and intervals and p values of all
    systems are of a hierarchical bootstrap of units and runs. Otherwise, scores of 0/1 outcomes are
    tested by McNemar's exact test, all others by approximate randomisation; intervals of
    differences are of a paired bootstrap, those of scores of types of a jackknife. P values are
    corrected by Holm's method, over the systems for each score, and over all pairs for the ranks.
    Outcomes of which the systems have different cases are tested as scores that are no outcomes.

    Args:
        systems: What was scored of each system, the baseline first; of several runs by their names.
        resampling: The confidence of intervals, the number of samples and the seed.
        level: Adjusted p values up to this are significant.
        scopes: Whether scores of parts (domains) are compared as well, or the names of the parts.
            They are only compared with the first system, and not ranked.
        headline: The scores to compare; all of them if no system has a score of the headline.
        intervals: Whether the scores themselves have intervals.
        unit: The name of a unit in messages.
        clusters: The cluster of each unit where units are not independent (questions about one
            text, say). Whole clusters are then resampled and swapped, and outcomes are tested as
            all other scores are. Scores stay means over units.

    Raises:
        UsageError: For less than two systems, where no two can be compared in any score, and for
            systems without a common unit.
        InputError: For runs of one system on different units.
        ValueError: For clusters where there are scores of types.
    """
    how = resampling or Resampling()
    if len(systems) < 2:
        raise UsageError("a comparison needs at least two systems, the baseline first")
    if not 0 < level < 1:
        raise UsageError(f"a level of significance is between 0 and 1, such as 0.05, not {level}")
    runs = {name: _runs(name, system, unit) for name, system in systems.items()}
    # The runs of a system are alike in all but their numbers.
    firsts = {name: next(iter(of_system.values())) for name, of_system in runs.items()}
    shared = groups_by_score(firsts)
    if not any(is_named(name, headline) for name, _ in shared):
        headline = ()

    def is_chosen(key: Key) -> bool:
        return not headline or is_named(key[0], headline)

    parts = () if isinstance(scopes, bool) else scopes
    groups = {
        key: of_score
        for key, of_score in shared.items()
        if is_chosen(key) and (scopes is True or key[1] in (WHOLE, *parts))
    }
    if all(len(group.systems) == 1 for of_score in groups.values() for group in of_score):
        raise not_comparable(firsts)
    keys: dict[tuple[str, ...], list[Key]] = {}
    for key, of_score in groups.items():
        for group in of_score:
            keys.setdefault(group.systems, []).append(key)
    compared = {
        names: _compare_group(
            {name: runs[name] for name in names}, of_names, how, level, intervals, unit, clusters
        )
        for names, of_names in keys.items()
    }
    lacking = {
        measure.label: tuple(
            name for name, other in firsts.items() if measure.key not in signatures_of(other)
        )
        for scored in firsts.values()
        for measure in scored.measures
        if measure.scope == WHOLE and is_chosen(measure.key) and measure.key not in shared
    }
    undefined = {
        key
        for key, of_score in groups.items()
        if any(key not in compared[group.systems] for group in of_score)
    }
    return Comparison(
        systems=tuple(systems),
        runs={name: tuple(of_system) for name, of_system in runs.items()},
        measures=tuple(
            replace(measure, group=replace(measure.group, setting=group.setting))
            for key, of_score in groups.items()
            for group in of_score
            if (measure := compared[group.systems].get(key)) is not None
        ),
        lacking=lacking,
        undefined=tuple(
            m.label if m.scope == WHOLE else f"{m.label}, {m.scope}"
            for m in next(iter(firsts.values())).measures
            if m.key in undefined
        ),
        amounts={name: amounts_of(scored) for name, scored in firsts.items()},
        level=level,
        confidence=how.confidence,
        samples=how.samples,
        seed=how.seed,
        unit=unit,
    )


def _runs(name: str, system: System, unit: str) -> dict[str, ScoredTable]:
    """Return the runs of a system by their names, sorted, as results are the same in any order."""
    if isinstance(system, ScoredTable):
        return {name: system}
    if not system:
        raise UsageError("a system has at least one run")
    if len(system) > 1:
        check_alike(system, unit)
    return dict(sorted(system.items()))


def _compare_group(
    runs: Mapping[str, Mapping[str, ScoredTable]],
    keys: Collection[Key],
    how: Resampling,
    level: float,
    intervals: bool,
    unit: str,
    clusters: Mapping[str, str] | None,
) -> dict[Key, ComparedMeasure]:
    """Compare the systems of a group in those scores that have a value on the common units."""
    firsts = {name: next(iter(of_system.values())) for name, of_system in runs.items()}
    baseline, first = next(iter(firsts.items()))
    units = common_units(firsts, unit)
    group = Group(
        systems=tuple(runs),
        units=units,
        left_out={name: len(scored.table.units) - len(units) for name, scored in firsts.items()},
        clusters=None if clusters is None else len({clusters[name] for name in units}),
    )
    everything = [scored for of_system in runs.values() for scored in of_system.values()]
    ordered = iter(aligned(everything, units))
    rows = {name: [next(ordered) for _ in of_system] for name, of_system in runs.items()}
    scores = {
        name: [_scores(run, keys, is_whole=not group.left_out[name]) for run in of_system]
        for name, of_system in rows.items()
    }
    defined = [
        measure
        for measure in first.measures
        if measure.key in keys
        and all(np.isfinite(run[measure.key]) for of_runs in scores.values() for run in of_runs)
    ]
    cases = {
        measure.key: {
            name: len(units)
            if measure.cases is None
            else round(float(of_runs[0].table.column(measure.cases).sum()))
            for name, of_runs in rows.items()
        }
        for measure in defined
    }
    if clusters is not None and any(measure.of_types for measure in defined):
        raise ValueError("scores of types, such as distinct words, have no sums of clusters")
    tables = [run.table for of_system in rows.values() for run in of_system]
    measures = tuple(_as_tested(m, firsts.values(), tables, clusters) for m in defined)
    rows = {
        name: [replace(run, measures=measures) for run in of_runs] for name, of_runs in rows.items()
    }
    if clusters is not None:
        # Scores are functions of sums, so that they stay the same.
        rows = {
            name: [
                replace(run, table=Trials.of(run.table, clusters.__getitem__).totals())
                for run in of_runs
            ]
            for name, of_runs in rows.items()
        }
    several = any(len(of_system) > 1 for of_system in rows.values())
    signatures = [signatures_of(scored) for scored in firsts.values()]

    # What is drawn of a system serves all scores and all pairs that it is in.
    @cache
    def drawn(draw: Callable[..., list[DrawnSums]], block: int) -> dict[str, list[DrawnSums]]:
        tables = [in_blocks(run.table, block) for of_runs in rows.values() for run in of_runs]
        found = iter(draw(tables, samples=how.samples, seed=how.seed))
        return {name: [next(found) for _ in of_runs] for name, of_runs in rows.items()}

    @cache
    def jackknives() -> dict[str, dict[Key, Jackknife]]:
        return {name: run.jackknives() for name, (run,) in rows.items()}

    @cache
    def types_of_runs(system: str) -> dict[Key, ResampledRuns]:
        return _resampled_types(system, rows[system], how)

    @cache
    def own_scores(system: str) -> tuple[Score, ...]:
        (run,) = rows[system]
        return run.scores(how)

    def compared(measure: Measure) -> ComparedMeasure:
        key, block = measure.key, measure.block
        pairs = [
            (later, earlier)
            for earlier, later in combinations(rows, 2)
            if earlier == baseline or measure.scope == WHOLE
        ]
        found_runs: dict[str, ResampledRuns] = {}
        tests: dict[Pair, Difference] = {}
        test: str | None = None
        if several and (pairs or intervals):
            test = HIERARCHICAL
            by_unit: dict[str, NDArray[np.float64]] = {}
            if measure.of_types:
                found_runs = {name: types_of_runs(name)[key] for name in rows}
            else:
                found_runs = {
                    name: _resampled_runs(measure, name, rows[name], sums, how.seed)
                    for name, sums in drawn(resampled_sums, block).items()
                }
                if block == 1:
                    by_unit = {
                        name: np.mean([_by_unit(measure, run.table) for run in of_system], axis=0)
                        for name, of_system in rows.items()
                    }
            tests = _test_runs(found_runs, by_unit, pairs, how.confidence)
        elif pairs and measure.of_types:
            tests = _differences_of_types(
                {name: run[key] for name, (run,) in scores.items()},
                {name: found[key] for name, found in jackknives().items() if found},
                how.confidence,
            )
        elif pairs:
            test = MCNEMAR if measure.outcome is not None else RANDOMIZATION
            tests = _test_units(
                measure,
                {name: run.table for name, (run,) in rows.items()},
                {name: sums for name, (sums,) in drawn(resampled_sums, block).items()},
                partial(drawn, given_sums, block),
                pairs,
                how.confidence,
            )

        own: dict[str, Interval | None] = dict.fromkeys(rows)
        for name, of_system in rows.items() if intervals else ():
            if len(of_system) == 1:
                own[name] = named(own_scores(name), measure.name, measure.scope).interval
            elif np.isfinite(found_runs[name].of_units).any():
                own[name] = found_runs[name].interval(how.confidence)
        return _compared(
            measure,
            group,
            signature=common_signature([of_system[key] for of_system in signatures], group),
            of_runs={name: tuple(run[key] for run in scores[name]) for name in rows},
            cases=cases[key],
            intervals=own,
            test=test,
            tests=tests,
            level=level,
            least=1 / (1 + how.samples),
        )

    return {measure.key: compared(measure) for measure in followed(measures, "scores")}


def _compared(
    measure: Measure,
    group: Group,
    *,
    signature: Signature,
    of_runs: Mapping[str, tuple[float, ...]],
    cases: Mapping[str, int],
    intervals: Mapping[str, Interval | None],
    test: str | None,
    tests: Mapping[Pair, Difference],
    level: float,
    least: float,
) -> ComparedMeasure:
    """Return a score with corrected p values and places; `least` is the least p value of samples.

    Scores of types, descriptions and scores of few seeds are not tested.
    """
    baseline = group.systems[0]
    lower_is_better = measure.lower_is_better
    seeds = len(group.units) // measure.block if measure.block > 1 else None
    is_tested = not measure.is_description and not 1 < (seeds or 0) < FEWEST_RUNS
    p_values = {
        pair: found.p_value
        for pair, found in tests.items()
        if is_tested and found.p_value is not None
    }
    against = {name: p for (name, other), p in p_values.items() if other == baseline}
    adjusted = dict(zip(against, holm(list(against.values())), strict=True))
    # Exact: runs that score the same have that score as their mean, to the last bit.
    values = {name: float(mean(of_system)) for name, of_system in of_runs.items()}
    over_pairs: dict[Pair, float] = {}
    places: dict[str, Place] = {}
    if measure.scope == WHOLE:
        over_pairs = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    if over_pairs and not measure.name.startswith(WITHOUT_DIRECTION):
        goodness = {name: -v if lower_is_better else v for name, v in values.items()}
        places = ranks(goodness, [pair for pair, p in over_pairs.items() if p <= level])

    entries = []
    for name in group.systems:
        found = tests.get((name, baseline))
        if found is not None:
            counts = None if measure.is_description else found.counts
            found = replace(
                found,
                p_value=against.get(name),
                adjusted=adjusted.get(name),
                counts=counts.reversed() if counts and lower_is_better else counts,
                is_least=test != MCNEMAR and against.get(name, 1) <= least,
            )
        entries.append(
            ComparedSystem(
                name,
                values[name],
                found,
                places.get(name),
                of_runs[name],
                cases[name],
                intervals[name],
                seeds,
            )
        )
    return ComparedMeasure(
        name=measure.name,
        label=measure.label,
        n=len(group.units) if group.clusters is None else group.clusters,
        signature=signature,
        test=test if p_values else None,
        systems=tuple(entries),
        group=group,
        places=measure.places,
        scope=measure.scope,
        lower_is_better=lower_is_better,
        is_description=measure.is_description,
        pairs=over_pairs,
    )


def _scores(run: ScoredTable, keys: Collection[Key], *, is_whole: bool) -> dict[Key, float]:
    """Return the scores on the common units; NaN for a score that has no value.

    Where the common units are all units of the run, a score that is known is taken as it is.
    """
    sums = observed(run.table)
    values = {}
    for measure in run.measures:
        if measure.key in keys:
            of_rows = run.count_types().sums() if measure.of_types else sums
            value = float(evaluate(measure.of, of_rows)[0])
            is_known = is_whole and measure.known is not None and np.isfinite(value)
            values[measure.key] = measure.value(of_rows) if is_known else value
    return values


def _as_tested(
    measure: Measure,
    firsts: Iterable[ScoredTable],
    tables: Sequence[Table],
    clusters: Mapping[str, str] | None,
) -> Measure:
    """Return a measure with outcomes only if McNemar's test applies to them.

    It does not where a system has means of outcomes (over trials), where systems have different
    cases, and where outcomes of one cluster are not independent.
    """
    if clusters is not None:
        return replace(measure, outcome=None, cases=None)
    are_means = any(
        other.outcome is None
        for scored in firsts
        for other in scored.measures
        if other.key == measure.key
    )
    first, *others = tables
    differ = measure.cases in first.columns and any(
        not np.array_equal(first.column(measure.cases), table.column(measure.cases))
        for table in others
    )
    return replace(measure, outcome=None) if are_means or differ else measure


def _test_units(
    measure: Measure,
    tables: Mapping[str, Table],
    resampled: Mapping[str, DrawnSums],
    given: Callable[[], Mapping[str, Sequence[DrawnSums]]],
    pairs: Sequence[Pair],
    confidence: float,
) -> dict[Pair, Difference]:
    """Test pairs of systems with one run each; intervals and counts are of the baseline's pairs."""
    baseline = next(iter(tables))
    samples = {name: evaluate(measure.of, s.samples) for name, s in resampled.items()}
    by_unit = {name: _by_unit(measure, table) for name, table in tables.items()}
    tests = {}
    for system, other in pairs:
        interval = counts = None
        if other == baseline:
            with np.errstate(invalid="ignore"):
                differences = samples[system] - samples[other]
            interval = percentile_interval(differences, confidence, "paired-bootstrap")
        if measure.outcome is not None:
            outcomes = [tables[name].column(measure.outcome) for name in (system, other)]
            if measure.cases is not None:
                # Both systems have the same cases, or they have no outcomes (`_as_tested`).
                cases = tables[system].column(measure.cases) > 0
                outcomes = [of_system[cases] for of_system in outcomes]
            mine, theirs = outcomes
            value = measure.scale * float(mine.mean() - theirs.mean())
            p_value = mcnemar(mine, theirs)
            counts = wins_ties_losses(mine, theirs)
        else:
            swapped = swapped_differences(measure.of, given()[system][0], given()[other][0])
            value, p_value = swapped.observed, swapped.p_value()
            if other == baseline and measure.block == 1:
                counts = _counts(by_unit[system], by_unit[other])
        tests[system, other] = Difference(value, interval, p_value, None, counts)
    return tests


def _by_unit(measure: Measure, table: Table) -> NDArray[np.float64]:
    """Return the score of each unit alone, shape (units,); NaN where it has none."""
    columns = zip(table.columns, np.ascontiguousarray(table.values.T), strict=True)
    return evaluate(measure.of, dict(columns))


def _counts(system: NDArray[np.float64], baseline: NDArray[np.float64]) -> WinsTiesLosses:
    """Compare unit by unit; a unit without a score of its own in either is left out."""
    defined = np.isfinite(system) & np.isfinite(baseline)
    return wins_ties_losses(system[defined], baseline[defined], tolerance=ROUNDING)


def _differences_of_types(
    values: Mapping[str, float], jackknives: Mapping[str, Jackknife], confidence: float
) -> dict[Pair, Difference]:
    """Return the differences to the first system; scores of types are not tested.

    A difference has no interval with a single unit, and where a score has no value without a unit.
    """
    baseline, *others = values
    found = {}
    for system in others:
        interval = None
        if jackknives:
            interval = (jackknives[system] - jackknives[baseline]).interval(confidence)
            interval = interval if np.isfinite(interval.low) else None
        difference = values[system] - values[baseline]
        found[system, baseline] = Difference(difference, interval, None, None, None)
    return found


def _resampled_runs(
    measure: Measure,
    system: str,
    runs: Sequence[ScoredTable],
    drawn: Sequence[DrawnSums],
    seed: int,
) -> ResampledRuns:
    """Return a score of the runs of a system, each with its sums of the same drawn units."""
    values = [float(evaluate(measure.of, observed(run.table))[0]) for run in runs]
    samples = np.mean([evaluate(measure.of, sums.samples) for sums in drawn], axis=0)
    return ResampledRuns.of(values, samples, system=system, seed=seed)


def _resampled_types(
    system: str, runs: Sequence[ScoredTable], how: Resampling
) -> dict[Key, ResampledRuns]:
    """Return the scores of types of the runs of a system, which resampled units would bias.

    They are means of jackknife pseudo-values, and these are resampled: as wide as the jackknife.
    """
    measures = [measure for measure in runs[0].measures if measure.of_types]
    units = runs[0].count_types().units
    sums_of_runs = [run.count_types().sums() for run in runs]
    values = np.array([[evaluate(m.of, sums).item() for m in measures] for sums in sums_of_runs])
    deviations = np.zeros((len(units), len(measures)))
    if len(units) > 1:
        left_out = np.array(
            [[found.left_out for found in run.jackknives().values()] for run in runs]
        ).mean(axis=0)
        deviations = (len(units) - 1) * (left_out.mean(axis=1) - left_out.T)
    table = Table(units, tuple(map(str, range(len(measures)))), deviations / len(units))
    sums = resampled_sums([table], samples=how.samples, seed=how.seed)[0].samples.values()
    return {
        measure.key: ResampledRuns.of(
            of_runs.tolist(), of_runs.mean() + drawn, system=system, seed=how.seed
        )
        for measure, of_runs, drawn in zip(measures, values.T, sums, strict=True)
    }


def _test_runs(
    found: Mapping[str, ResampledRuns],
    by_unit: Mapping[str, NDArray[np.float64]],
    pairs: Sequence[Pair],
    confidence: float,
) -> dict[Pair, Difference]:
    """Test pairs of systems with several runs; no interval for a score without any sample.

    `by_unit` has the mean over the runs of the score of each unit, where units alone have a score.
    """
    tests = {}
    for system, other in pairs:
        mine, theirs = found[system], found[other]
        counts = _counts(by_unit[system], by_unit[other]) if by_unit else None
        value, p_value, interval = mine.value - theirs.value, 1.0, None
        if np.isfinite(mine.of_units - theirs.of_units).any():
            test = mine - theirs
            value, p_value = test.observed, test.p_value()
            interval = percentile_interval(test.samples, confidence, HIERARCHICAL)
        tests[system, other] = Difference(value, interval, p_value, None, counts)
    return tests
