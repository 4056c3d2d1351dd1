"""Systems in groups that can be compared, and what each group is found to score."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Executor
from dataclasses import replace

from mwzeval.comparison.alignment import (
    amounts_of,
    groups_by_score,
    keys_of,
    labels_of,
    lacking_measures,
    not_comparable,
)
from mwzeval.comparison.group_work import GroupWork
from mwzeval.comparison.model import Comparison, System
from mwzeval.comparison.pairs import Key
from mwzeval.comparison.runs import check_alike
from mwzeval.errors import UsageError
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.scores.score import WHOLE, is_named

LEVEL = 0.05
"""Adjusted p values up to this are called significant, unless said otherwise."""


def compare(
    systems: Mapping[str, System],
    *,
    resampling: Resampling | None = None,
    level: float = LEVEL,
    scopes: bool | Collection[str] = False,
    headline: Collection[str] = (),
    intervals: bool = False,
    executor: Executor | None = None,
    unit: str = "dialogue",
    clusters: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare each system with the first one, and all pairs for their ranks.

    In each score only systems whose signatures agree are compared with each other; where these are
    several groups, each has its own first system, ranks and common units.

    Where a system has several runs, its score is their mean, and intervals and p values of all
    systems are of a hierarchical bootstrap of units and runs. Otherwise:
    Scores of 0/1 outcomes are tested by McNemar's exact test, all others by approximate
    randomisation; intervals of differences are of a paired bootstrap, those of scores of types of a
    jackknife. P values are corrected by Holm's method, over the systems for each score, and over
    all pairs for the ranks. Higher is better, unless a measure says otherwise. `scopes` adds the
    scores of parts (domains), all or those named, which are only compared with the first system;
    of scores, those of the `headline` are compared, or all where none of it is there;
    `intervals` adds those of the scores themselves. Outcomes of which the systems have different
    cases are tested as scores that are no outcomes. `executor` shares the work; the result is the
    same.

    `clusters` says of each unit what it shares with others (questions about one text, say), so that
    they are not independent: clusters are then resampled and swapped, whole, and outcomes are
    tested as all other scores are. Scores stay means over units.

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
    firsts = {name: next(iter(of.values())) for name, of in runs.items()}
    groups = groups_by_score(firsts)
    more = () if isinstance(scopes, bool) else scopes
    if not any(is_named(name, headline) for name, _ in groups):
        headline = ()
    asked = {
        key: of
        for key, of in groups.items()
        if (not headline or is_named(key[0], headline))
        and (scopes is True or key[1] in (WHOLE, *more))
    }
    if all(len(group.systems) == 1 for of in asked.values() for group in of):
        raise not_comparable(firsts)
    work = GroupWork(how, level, intervals, executor, unit, clusters)
    keys: dict[tuple[str, ...], list[Key]] = {}
    for key, of in asked.items():
        for group in of:
            keys.setdefault(group.systems, []).append(key)
    compared = {
        names: work.compare({name: runs[name] for name in names}, of_names)
        for names, of_names in keys.items()
    }
    shown = tuple(
        replace(measure, group=replace(measure.group, setting=group.setting))
        for key, of in asked.items()
        for group in of
        if (measure := compared[group.systems].get(key)) is not None
    )
    undefined = [
        key for key, of in asked.items() if any(key not in compared[group.systems] for group in of)
    ]
    known = {name: keys_of(scored) for name, scored in firsts.items()}
    return Comparison(
        systems=tuple(systems),
        runs={name: tuple(of) for name, of in runs.items()},
        measures=shown,
        lacking=lacking_measures(firsts, known, list(groups), headline),
        undefined=tuple(labels_of(next(iter(firsts.values())), undefined)),
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
