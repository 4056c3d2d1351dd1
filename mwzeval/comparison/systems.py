"""Compare systems on their common units: differences, intervals, tests and ranks.

For each score, only systems whose signatures agree are compared, on their common units and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import combinations
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.comparison import (
    MCNEMAR,
    RANDOMIZATION,
    ComparedMeasure,
    ComparedSystem,
    Comparison,
    Difference,
    System,
)
from mwzeval.errors import InputError, Problem, UsageError, shorten
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, observed
from mwzeval.output import followed
from mwzeval.scores.score import (
    AMOUNTS,
    NONE,
    SKIPPED,
    WHOLE,
    Group,
    Interval,
    Score,
    Signature,
    by_place,
    different_choices,
    groups_of,
    is_named,
)
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
from mwzeval.statistics.tests import Place, holm, mcnemar, ranks, wins_ties_losses
from mwzeval.statistics.trials import Trials

Key = tuple[str, str]

GOALS = "goals"
"""The key of signatures for the choice of goals; only systems with the same goals are compared."""
STRESS = "stress"
"""The key of a signature for the conditions of live dialogues."""


def signatures_of(scored: ScoredTable) -> dict[Key, Signature]:
    """Return the signature of each score."""
    return {measure.key: measure.signature for measure in scored.measures}


def choice_of(scored: ScoredTable, key: str) -> str:
    """Return the value of a choice in the signatures of a table, or `NONE`."""
    chosen = (dict(measure.signature.choices).get(key) for measure in scored.measures)
    return next(filter(None, chosen), NONE)


def without_choice(scored: ScoredTable, key: str) -> ScoredTable:
    """Return the table with this choice removed from its signatures."""

    def signed(measure: Measure) -> Measure:
        signature = measure.signature
        kept = tuple(choice for choice in signature.choices if choice[0] != key)
        return replace(measure, signature=replace(signature, choices=kept))

    return replace(scored, measures=tuple(map(signed, scored.measures)))


def groups_by_score(systems: Mapping[str, ScoredTable]) -> dict[Key, tuple[Group, ...]]:
    """Return the groups of comparable systems, for each score that all systems have.

    Systems with different choices of goals are comparable if the goal of each unit is known.
    """
    ignored = (GOALS,) if all(scored.about for scored in systems.values()) else ()
    signed = {name: signatures_of(scored) for name, scored in systems.items()}
    first, *others = signed.values()
    return {
        key: groups_of({name: signatures[key] for name, signatures in signed.items()}, ignored)
        for key in first
        if all(key in other for other in others)
    }


def check_comparable(systems: Mapping[str, ScoredTable], score: str | None = None) -> None:
    """Raise `UsageError` with all differences if the scores of systems are not comparable."""
    groups = groups_by_score(systems)
    keys = [key for key in groups if score in (None, key[0])]
    if not keys or any(len(groups[key]) > 1 for key in keys):
        raise not_comparable(systems, keys)


def not_comparable(systems: Mapping[str, ScoredTable], keys: Collection[Key] = ()) -> UsageError:
    """Return the error for systems that are not comparable, with the differences in all `keys`.

    By default, `keys` are the scores that the first system shares with any other system.
    """
    signed = [signatures_of(scored) for scored in systems.values()]
    found: dict[str, str] = {}
    for key in keys or signed[0]:
        found |= different_choices([signatures[key] for signatures in signed if key in signatures])
    if not found:
        return UsageError("the systems have no score in common")
    what = ", ".join(f"{choice} ({values})" for choice, values in found.items())
    called = " and ".join(f'"{name}"' for name in systems)
    remedy = ": use --missing empty" if SKIPPED in found else ""
    return UsageError(f"{called} cannot be compared: they differ in {what}{remedy}")


def _common_signature(signatures: Sequence[Signature], group: Group) -> Signature:
    first, *others = signatures
    different = {*AMOUNTS, *(key for other in others for key in first.differences(other))}
    choices = tuple(choice for choice in first.choices if choice[0] not in different)
    counts = {"common": len(group.units), "clusters": group.clusters}
    return Signature(first.metric, choices).extended(
        {key: count for key, count in counts.items() if count is not None}
    )


def _may_have_other_goals(systems: Mapping[str, ScoredTable]) -> bool:
    # Goals must agree if signatures state different choices of goals, or if no signature states a
    # choice but the goals are known.
    signatures = (m.signature for scored in systems.values() for m in scored.measures)
    chosen = {dict(signature.choices).get(GOALS) for signature in signatures}
    are_known = all(scored.about for scored in systems.values())
    return len(chosen) > 1 or (None in chosen and are_known)


def common_units(
    systems: Mapping[str, ScoredTable],
    unit: str,
    units_of: Mapping[str, Sequence[str]] | None = None,
) -> tuple[str, ...]:
    """Return the units that all systems have, in the order of the first system.

    `units_of` has the units of each system, by default the rows of its table. If systems may have
    chosen their own goals, a unit is common only if its goal is the same.

    Raises:
        UsageError: If two systems have no common unit.
    """
    by_goal = _may_have_other_goals(systems)
    names = units_of or {system: scored.table.units for system, scored in systems.items()}
    goals = {
        system: {name: scored.about.get(name) if by_goal else None for name in names[system]}
        for system, scored in systems.items()
    }
    baseline, *others = systems
    common = set(goals[baseline].items())
    for other in others:
        common = common & goals[other].items()
        if not common:
            same = " about the same goal" if by_goal else ""
            raise UsageError(f'"{other}" has no {unit}{same} in common with the previous systems')
    kept = {name for name, _ in common}
    return tuple(name for name in names[baseline] if name in kept)


def aligned(
    systems: Mapping[str, Mapping[str, ScoredTable]], units: Sequence[str]
) -> dict[str, list[ScoredTable]]:
    """Return the runs of each system with only the common units and columns.

    The rows of tables keep the order of `units`; the counts of types are sorted by unit.
    """
    first, *others = (run.table for runs in systems.values() for run in runs.values())
    columns = tuple(c for c in first.columns if all(c in table.columns for table in others))
    by_name = sorted(units)

    def select(run: ScoredTable) -> ScoredTable:
        chosen = run.table.select(units)
        places = [chosen.columns.index(column) for column in columns]
        table = Table(chosen.units, columns, chosen.values[:, places])
        count_types = cache(lambda: run.count_types().select(by_name))
        return replace(run, table=table, count_types=count_types)

    return {name: [select(run) for run in runs.values()] for name, runs in systems.items()}


def check_alike(runs: Mapping[str, ScoredTable], unit: str = "dialogue") -> None:
    """Check that runs of one system differ only in the values of the scores.

    Raises:
        UsageError: If runs of a system were scored with different settings.
        InputError: If runs have different units.
    """
    (first, scored), *others = runs.items()
    everything = dict.fromkeys(name for run in runs.values() for name in run.table.units)
    problems = []
    for file, run in runs.items():
        if lacking := everything.keys() - set(run.table.units):
            first_three = [name for name in everything if name in lacking][:3]
            some = ", ".join(f'"{shorten(name)}"' for name in first_three)
            message = (
                f"lacks {len(lacking)} of the {len(everything)} {unit}s of other runs "
                f"({some}{', …' * (len(lacking) > 3)}); all runs need the same {unit}s"
            )
            problems.append(Problem("different-dialogues", message, file=file))
    for file, other in others if _may_have_other_goals(runs) else ():
        known = scored.about.keys() & other.about.keys()
        if count := sum(scored.about[name] != other.about[name] for name in known):
            message = (
                f"has other goals than {first} for {count} {unit}s with the same name; all runs "
                "need the same goals"
            )
            problems.append(Problem("different-goals", message, file=file))
    if problems:
        raise InputError(problems)
    mine = signatures_of(scored)
    for name, other in others:
        theirs = signatures_of(other)
        differences = [
            f"only one of {first} and {name} has {score} ({scope})"
            for score, scope in sorted(mine.keys() ^ theirs.keys())
        ] or [
            # Runs have the same units, so their amounts must also be equal.
            f"for {key[0]}, {what} is {dict(signature.choices).get(what)} in {first} and "
            f"{dict(theirs[key].choices).get(what)} in {name}"
            for key, signature in mine.items()
            for what in signature.differences(theirs[key])
        ]
        if differences:
            raise UsageError(
                f"these are not runs of one system: {differences[0]}; runs may differ only in "
                "their seed"
            )


LEVEL = 0.05
"""The default significance level of adjusted p values."""

ROUNDING = 1e-9
"""Two scores of a unit that differ by at most this value are equal; rounding causes such
differences."""

Pair = tuple[str, str]
"""A system and another system, earlier in the list, with which it is compared."""

Tested = tuple[float, Interval | None, float | None]
"""The difference between two systems, its interval and its p value; a missing value is None."""

Draw = Callable[..., list[DrawnSums]]
"""A function that draws sums of the rows of several tables at once."""


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
    """Compare each system with the first system, and compare all pairs for the ranks.

    For each score, only systems whose signatures agree are compared with each other. If a score has
    several groups of comparable systems, each group has its own first system, ranks and common
    units.

    If any system has several runs, the score of a system is the mean over its runs. In this case,
    all intervals and p values come from a hierarchical bootstrap of units and runs. If no system
    has several runs, McNemar's exact test is used for scores of 0/1 outcomes, and approximate
    randomization for all other scores. Intervals of differences then come from a paired bootstrap,
    or for scores of types from a jackknife. For each score, Holm's method corrects the p values of
    the comparisons with the first system, and separately the p values of all pairs, which determine
    the ranks. McNemar's test requires that the systems have the same cases; otherwise approximate
    randomization is used.

    Args:
        systems: The scored table of each system, or tables of its runs by name; the baseline first.
        resampling: The confidence of intervals, the number of samples and the seed.
        level: Adjusted p values up to this are significant.
        scopes: Whether scores of parts (such as domains) are also compared, or the names of these
            parts. Systems are only compared with the first one in these scores, and not ranked.
        headline: The scores to compare; all of them if no system has a score of the headline.
        intervals: Whether the scores themselves have intervals.
        unit: The noun for a unit in messages.
        clusters: The cluster of each unit, if some units depend on each other (such as questions
            about one text). With clusters, whole clusters are resampled and swapped, and scores of
            0/1 outcomes are tested like all other scores. Scores remain means over units.

    Raises:
        UsageError: If there are fewer than two systems, no comparable systems, or no common units.
        InputError: If the runs of one system have different units.
        ValueError: If both clusters and scores of types are given.
    """
    how = resampling or Resampling()
    if len(systems) < 2:
        raise UsageError("a comparison needs at least two systems, the baseline first")
    if not 0 < level < 1:
        raise UsageError(f"a significance level must be between 0 and 1, such as 0.05: got {level}")
    runs = {name: _runs(name, system, unit) for name, system in systems.items()}
    # The runs of a system differ only in their numbers.
    firsts = {name: next(iter(of_system.values())) for name, of_system in runs.items()}
    shared = groups_by_score(firsts)
    if not any(is_named(name, headline) for name, _ in shared):
        headline = ()

    def is_chosen(key: Key) -> bool:
        return not headline or is_named(key[0], headline)

    parts = () if isinstance(scopes, bool) else scopes
    keys = [k for k in shared if is_chosen(k) and (scopes is True or k[1] in (WHOLE, *parts))]
    chosen = [(key, group) for key in keys for group in shared[key]]
    if all(len(group.systems) == 1 for _, group in chosen):
        raise not_comparable(firsts)
    settings: dict[tuple[str, ...], dict[Key, str]] = {}
    for key, group in chosen:
        settings.setdefault(group.systems, {})[key] = group.setting
    compared = {
        names: _compare_group(
            {name: runs[name] for name in names}, of_names, how, level, intervals, unit, clusters
        )
        for names, of_names in settings.items()
    }
    found = [(key, compared[group.systems].get(key)) for key, group in chosen]
    undefined = {key for key, measure in found if measure is None}
    return Comparison(
        systems=tuple(systems),
        runs={name: tuple(of_system) for name, of_system in runs.items()},
        measures=tuple(measure for _, measure in found if measure is not None),
        lacking={
            measure.label: tuple(
                name for name, other in firsts.items() if measure.key not in signatures_of(other)
            )
            for scored in firsts.values()
            for measure in scored.measures
            if measure.scope == WHOLE and is_chosen(measure.key) and measure.key not in shared
        },
        undefined=tuple(
            m.label if m.scope == WHOLE else f"{m.label}, {m.scope}"
            for m in next(iter(firsts.values())).measures
            if m.key in undefined
        ),
        amounts={
            name: {
                choice: value
                for signature in signatures_of(scored).values()
                for choice, value in signature.choices
                if choice in AMOUNTS and choice != "n"
            }
            for name, scored in firsts.items()
        },
        level=level,
        confidence=how.confidence,
        samples=how.samples,
        seed=how.seed,
        unit=unit,
    )


def _runs(name: str, system: System, unit: str) -> dict[str, ScoredTable]:
    """Return the runs of a system, sorted by name so that results do not depend on the order."""
    if isinstance(system, ScoredTable):
        return {name: system}
    if not system:
        raise UsageError("a system must have at least one run")
    if len(system) > 1:
        check_alike(system, unit)
    return dict(sorted(system.items()))


def _compare_group(
    runs: Mapping[str, Mapping[str, ScoredTable]],
    settings: Mapping[Key, str],
    how: Resampling,
    level: float,
    intervals: bool,
    unit: str,
    clusters: Mapping[str, str] | None,
) -> dict[Key, ComparedMeasure]:
    """Compare the systems of a group in the scores of `settings` that have a value."""
    firsts = {name: next(iter(of_system.values())) for name, of_system in runs.items()}
    units = common_units(firsts, unit)
    group = Group(
        systems=tuple(runs),
        units=units,
        left_out={name: len(scored.table.units) - len(units) for name, scored in firsts.items()},
        clusters=None if clusters is None else len({clusters[name] for name in units}),
    )
    aligned_runs = aligned(runs, units)
    found = {
        name: [_scores(run, settings, is_whole=not group.left_out[name]) for run in of_system]
        for name, of_system in aligned_runs.items()
    }
    defined = [
        measure
        for measure in next(iter(firsts.values())).measures
        if measure.key in settings
        and all(np.isfinite(run[measure.key][0]) for of_runs in found.values() for run in of_runs)
    ]
    if clusters is not None and any(measure.of_types for measure in defined):
        raise ValueError(
            "counts of distinct types, such as distinct words, cannot be summed over clusters"
        )
    tables = [run.table for of_system in aligned_runs.values() for run in of_system]
    measures = tuple(_as_tested(m, firsts.values(), tables, clusters) for m in defined)

    def rows_of(run: ScoredTable) -> ScoredTable:
        # Scores are functions of sums, so sums per cluster give the same scores.
        table = Trials.of(run.table, clusters.__getitem__).totals() if clusters else run.table
        return replace(run, measures=measures, table=table)

    rows = _Rows({name: list(map(rows_of, runs)) for name, runs in aligned_runs.items()}, how)
    signatures = [signatures_of(scored) for scored in firsts.values()]
    compared = {}
    for measure in followed(measures, "scores"):
        key = measure.key
        values = {name: tuple(run[key][0] for run in runs) for name, runs in found.items()}
        seeds = len(units) // measure.block if measure.block > 1 else None
        entries = [
            # `mean` is exact, so the mean of equal scores is the same score.
            ComparedSystem(name, float(mean(scores)), scores, found[name][0][key][1], seeds=seeds)
            for name, scores in values.items()
        ]
        test, systems, pairs = _tested(entries, measure, rows, level, intervals)
        compared[key] = ComparedMeasure(
            name=measure.name,
            label=measure.label,
            n=len(units) if group.clusters is None else group.clusters,
            signature=_common_signature([of_system[key] for of_system in signatures], group),
            test=test,
            systems=systems,
            group=replace(group, setting=settings[key]),
            places=measure.places,
            scope=measure.scope,
            lower_is_better=measure.lower_is_better,
            has_direction=measure.has_direction,
            pairs=pairs,
        )
    return compared


def _tested(
    systems: Sequence[ComparedSystem], measure: Measure, rows: _Rows, level: float, intervals: bool
) -> tuple[str | None, tuple[ComparedSystem, ...], dict[Pair, float]]:
    """Return the test of a score, the systems with its results, and the p values of pairs."""
    baseline = rows.baseline
    pairs = [
        (later, earlier)
        for earlier, later in combinations(rows.runs, 2)
        if measure.scope == WHOLE or earlier == baseline
    ]
    values = {entry.system: entry.value for entry in systems}
    tests = {pair: rows.test(measure, pair, values) for pair in pairs}
    exact = RANDOMIZATION if measure.outcome is None else MCNEMAR
    test = HIERARCHICAL if rows.several else exact
    # Descriptions (including scores of types) and scores of few seeds are not tested.
    is_tested = not measure.is_description and not 1 < (systems[0].seeds or 0) < FEWEST_RUNS
    p_values = {pair: p for pair, (_, _, p) in tests.items() if is_tested and p is not None}
    against = {name: p for (name, other), p in p_values.items() if other == baseline}
    adjusted = dict(zip(against, holm(list(against.values())), strict=True))
    places: dict[str, Place] = {}
    corrected = holm(list(p_values.values())) if measure.scope == WHOLE else ()
    over_pairs = dict(zip(p_values, corrected, strict=False))
    sign = -1 if measure.lower_is_better else 1
    if over_pairs and measure.has_direction:
        goodness = {name: sign * value for name, value in values.items()}
        places = ranks(goodness, [pair for pair, p in over_pairs.items() if p <= level])

    by_unit = {}
    if pairs and measure.block == 1 and not measure.is_description:
        by_unit = {name: sign * rows.by_unit(measure, name) for name in rows.runs}
    entries = []
    for entry in systems:
        name, difference, own = entry.system, None, None
        if name != baseline:
            counts = None
            if by_unit:  # skip units that lack a score in either system
                defined = np.isfinite(by_unit[name]) & np.isfinite(by_unit[baseline])
                both = (by_unit[system][defined] for system in (name, baseline))
                counts = wins_ties_losses(*both, tolerance=ROUNDING)
            value, interval, _ = tests[name, baseline]
            is_least = test != MCNEMAR and against.get(name, 1) <= 1 / (1 + rows.how.samples)
            p_value, corrected_p = against.get(name), adjusted.get(name)
            difference = Difference(value, interval, p_value, corrected_p, counts, is_least)
        if intervals and len(entry.runs) == 1:
            own = rows.own_scores[name][measure.key].interval
        elif intervals:
            own = rows.resampled(measure)[name].interval(rows.how.confidence)
        entries.append(replace(entry, difference=difference, place=places.get(name), interval=own))
    return test if p_values else None, tuple(entries), over_pairs


def _scores(
    run: ScoredTable, keys: Collection[Key], *, is_whole: bool
) -> dict[Key, tuple[float, int]]:
    """Return scores (NaN without a value) and cases on the common units; `known` scores if
    `is_whole`.
    """
    sums = observed(run.table)
    found = {}
    for measure in run.measures:
        if measure.key in keys:
            of_rows = run.count_types().sums() if measure.of_types else sums
            value = float(evaluate(measure.of, of_rows)[0])
            if is_whole and measure.known is not None and np.isfinite(value):
                value = measure.known
            cases = len(run.table.units) if measure.cases is None else sums[measure.cases][0]
            found[measure.key] = value, round(float(cases))
    return found


def _as_tested(
    measure: Measure,
    firsts: Iterable[ScoredTable],
    tables: Sequence[Table],
    clusters: Mapping[str, str] | None,
) -> Measure:
    """Return the measure; remove its outcomes if McNemar's test does not apply to them."""
    if clusters is not None:
        return replace(measure, outcome=None, cases=None)
    alike = (m for scored in firsts for m in scored.measures if m.key == measure.key)
    differ = any(m.outcome is None for m in alike)  # means of outcomes over trials
    if measure.cases in tables[0].columns:
        first, *others = (table.column(measure.cases) for table in tables)
        differ = differ or not all(np.array_equal(first, other) for other in others)
    return replace(measure, outcome=None) if differ else measure


class _Rows:
    """The common rows of the runs of each system; all scores use the same draws."""

    def __init__(self, runs: Mapping[str, Sequence[ScoredTable]], how: Resampling) -> None:
        self.runs, self.how = runs, how
        self.baseline = next(iter(runs))
        self.several = any(len(of_system) > 1 for of_system in runs.values())
        self._drawn: dict[tuple[Draw, int], dict[str, list[DrawnSums]]] = {}
        self._resampled: dict[Key, dict[str, ResampledRuns]] = {}

    def drawn(self, draw: Draw, block: int) -> dict[str, list[DrawnSums]]:
        """Return the column sums of the drawn rows of each run, for blocks of neighboring rows."""
        if (draw, block) not in self._drawn:
            tables = [in_blocks(run.table, block) for runs in self.runs.values() for run in runs]
            found = iter(draw(tables, samples=self.how.samples, seed=self.how.seed))
            by_name = {name: [next(found) for _ in runs] for name, runs in self.runs.items()}
            self._drawn[draw, block] = by_name
        return self._drawn[draw, block]

    @cached_property
    def jackknives(self) -> dict[str, dict[Key, Jackknife]]:
        """The jackknife estimates of scores of types, for systems with one run."""
        return {name: run.jackknives() for name, (run,) in self.runs.items()}

    @cached_property
    def resampled_types(self) -> dict[str, dict[Key, ResampledRuns]]:
        """The scores of types in each system's runs; resampling units would bias these scores.

        The scores of types are means of jackknife pseudo-values; resampling these values gives
        intervals of the same width.
        """
        return {name: self._resampled_types(name) for name in self.runs}

    def _resampled_types(self, system: str) -> dict[Key, ResampledRuns]:
        runs, how = self.runs[system], self.how
        measures = [measure for measure in runs[0].measures if measure.of_types]
        counts = [run.count_types() for run in runs]
        values = np.array([[evaluate(m.of, own.sums()).item() for m in measures] for own in counts])
        units = counts[0].units
        deviations = np.zeros((len(units), len(measures)))
        if len(units) > 1:
            left_out = np.array(
                [[of_score.left_out for of_score in run.jackknives().values()] for run in runs]
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

    @cached_property
    def own_scores(self) -> dict[str, dict[Key, Score]]:
        """The scores and intervals of the systems that have only one run."""
        single = {name: runs[0] for name, runs in self.runs.items() if len(runs) == 1}
        return {name: by_place(run.scores(self.how)) for name, run in single.items()}

    def by_unit(self, measure: Measure, system: str) -> NDArray[np.float64]:
        """Return the score of each unit, averaged over the runs; NaN if the unit has no score."""
        scores = []
        for run in self.runs[system]:
            columns = zip(run.table.columns, np.ascontiguousarray(run.table.values.T), strict=True)
            scores.append(evaluate(measure.of, dict(columns)))
        return np.asarray(np.mean(scores, axis=0))

    def resampled(self, measure: Measure) -> dict[str, ResampledRuns]:
        """Return each system's score for resampled units and resampled runs."""
        if measure.of_types:
            return {name: scores[measure.key] for name, scores in self.resampled_types.items()}
        found = self._resampled.setdefault(measure.key, {})
        sums = self.drawn(resampled_sums, measure.block)
        for name, runs in () if found else self.runs.items():
            values = [float(evaluate(measure.of, observed(run.table))[0]) for run in runs]
            samples = np.mean([evaluate(measure.of, drawn.samples) for drawn in sums[name]], axis=0)
            found[name] = ResampledRuns.of(values, samples, system=name, seed=self.how.seed)
        return found

    def test(self, measure: Measure, pair: Pair, values: Mapping[str, float]) -> Tested:
        """Test the difference between two systems; `values` has the scores of all systems.

        If no system has several runs, only differences from the baseline have intervals.
        """
        system, other = pair
        interval = None
        if measure.of_types and not self.several:
            if other == self.baseline and self.jackknives[other]:
                mine, theirs = (self.jackknives[name][measure.key] for name in pair)
                interval = (mine - theirs).interval(self.how.confidence)
                interval = interval if np.isfinite(interval.low) else None
            return values[system] - values[other], interval, None
        if self.several or other == self.baseline:
            first, second = (self.resampled(measure)[name] for name in pair)
            difference = first - second
            method = HIERARCHICAL if self.several else "paired-bootstrap"
            interval = percentile_interval(difference.samples, self.how.confidence, method)
            if self.several:
                return difference.observed, interval, difference.p_value()
        if measure.outcome is None:
            given = self.drawn(given_sums, measure.block)
            swapped = swapped_differences(measure.of, given[system][0], given[other][0])
            return swapped.observed, interval, swapped.p_value()
        tables = [self.runs[name][0].table for name in pair]
        outcomes = [table.column(measure.outcome) for table in tables]
        if measure.cases is not None:
            # Both systems have the same cases; otherwise `_as_tested` removed the outcomes.
            cases = tables[0].column(measure.cases) > 0
            outcomes = [column[cases] for column in outcomes]
        value = measure.scale * float(outcomes[0].mean() - outcomes[1].mean())
        return value, interval, mcnemar(*outcomes)
