"""Which units, columns and scores systems share, and whether these may be compared at all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from mwzeval.comparison.pairs import AnyMeasure, Key, Rows, key_of
from mwzeval.errors import UsageError
from mwzeval.metrics.measure import ScoredTable
from mwzeval.scores.comparable import AMOUNTS, Group, differing, groups_of
from mwzeval.scores.score import WHOLE, Signature, is_named
from mwzeval.scores.table import Table
from mwzeval.statistics import Trials

GOALS = "goals"
"""The key of a signature that says which goals were chosen; only common ones are compared."""


def groups_by_score(systems: Mapping[str, ScoredTable]) -> dict[Key, tuple[Group, ...]]:
    """Return the groups of systems that can be compared, for each score that all systems have.

    Which goals were chosen may differ where it is known what each unit is about.
    """
    known = (GOALS,) if all(scored.about for scored in systems.values()) else ()
    signed = {name: signatures_of(scored) for name, scored in systems.items()}
    first = next(iter(signed.values()))
    return {
        key: groups_of({name: of[key] for name, of in signed.items()}, known)
        for key in first
        if all(key in of for of in signed.values())
    }


def check_comparable(systems: Mapping[str, ScoredTable], score: str | None = None) -> None:
    """Raise `UsageError` with all that differs where not all systems are one group.

    Not in one of the scores, or not in the one named `score`.
    """
    groups = groups_by_score(systems)
    asked = [key for key in groups if score in (None, key[0])]
    if any(len(groups[key]) > 1 for key in asked):
        raise not_comparable(systems, asked)
    if not asked:
        raise not_comparable(systems)


def not_comparable(
    systems: Mapping[str, ScoredTable], keys: Collection[Key] | None = None
) -> UsageError:
    """Return the error for systems that cannot be compared, with all that differs.

    In the scores with these `keys`; else in all that two systems share, and where they share none,
    in those of the same metric.
    """
    names, signed = list(systems), [signatures_of(scored) for scored in systems.values()]
    baseline, *others = signed
    found: dict[str, str] = {}
    for other in others:
        for pair in _counterparts(baseline, other):
            if keys is None or pair[0] in [baseline[key] for key in keys]:
                found |= differing(pair)
    if not found:
        return UsageError("the systems have no score in common")
    what = ", ".join(f"{choice} ({values})" for choice, values in found.items())
    called = " and ".join(f'"{name}"' for name in names)
    return UsageError(f"{called} cannot be compared: they differ in {what}")


def signatures_of(scored: ScoredTable) -> dict[Key, Signature]:
    """Return the signature of each score."""
    return {key_of(m): m.signature for m in measures_of(scored)}


def _counterparts(
    mine: Mapping[Key, Signature], theirs: Mapping[Key, Signature]
) -> Iterator[tuple[Signature, Signature]]:
    """Yield the signatures of the same score; of the same metric where no score is the same."""
    shared = {mine[key].metric for key in mine if key in theirs}
    of_metric = {signature.metric: signature for signature in theirs.values()}
    for key, signature in mine.items():
        if key in theirs:
            yield signature, theirs[key]
        elif signature.metric in of_metric and signature.metric not in shared:
            yield signature, of_metric[signature.metric]


def common_signature(
    signatures: Sequence[Signature], n: int, clusters: int | None = None
) -> Signature:
    """Return what the signatures of a group agree in, and how many common units and clusters."""
    first, *others = signatures
    different = {key for other in others for key in first.differences(other)}
    kept = tuple(choice for choice in first.choices if choice[0] not in {*AMOUNTS, *different})
    counts = {"common": n} | ({} if clusters is None else {"clusters": clusters})
    return Signature(first.metric, kept).extended(counts)


def amounts_of(scored: ScoredTable) -> dict[str, str]:
    """Return how much of each unit was scored, of all metrics together."""
    return {
        choice: value
        for signature in signatures_of(scored).values()
        for choice, value in signature.choices
        if choice in AMOUNTS and choice != "n"
    }


def may_have_other_goals(systems: Mapping[str, ScoredTable]) -> bool:
    """Tell whether units of the same name may have other goals.

    The goals of the systems were chosen differently, or nothing says how, but what they are.
    """
    chosen = {
        dict(signature.choices).get(GOALS)
        for scored in systems.values()
        for signature in signatures_of(scored).values()
    }
    are_known = all(scored.about for scored in systems.values())
    return len(chosen) > 1 or (None in chosen and are_known)


def common_units(
    systems: Mapping[str, ScoredTable],
    unit: str,
    units_of: Mapping[str, Sequence[str]] | None = None,
) -> tuple[str, ...]:
    """Return the units that all systems have, in the order of the first one.

    These are the rows, or what `units_of` has of each system. Where goals may have been chosen
    differently, only units with the same goal are the same.

    Raises:
        UsageError: When two systems have none in common.
    """
    by_goal = may_have_other_goals(systems)
    of = units_of or {name: scored.table.units for name, scored in systems.items()}
    identities = {
        name: {(unit, scored.about.get(unit) if by_goal else None) for unit in of[name]}
        for name, scored in systems.items()
    }
    baseline, *others = systems
    common = identities[baseline]
    for other in others:
        common = common & identities[other]
        if not common:
            same = " about the same goal" if by_goal else ""
            shared = set(of[baseline]) & set(of[other])
            named = f": those of the same name ({len(shared)}) have other goals" if shared else ""
            raise UsageError(
                f'"{other}" has no {unit}{same} in common with the systems before it'
                f"{named if by_goal else ''}"
            )
    names = {name for name, _ in common}
    return tuple(name for name in of[baseline] if name in names)


Name = TypeVar("Name")


def aligned_rows(systems: Mapping[Name, ScoredTable], units: Sequence[str]) -> dict[Name, Rows]:
    """Return the common units and columns of each system, or each run of one, by its name.

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


def in_clusters(rows: Rows, clusters: Mapping[str, str]) -> Rows:
    """Return the sums of the units of each cluster as its row.

    Scores are functions of sums, so they stay what they are. Raises `KeyError` for a unit without a
    cluster.
    """
    of = Trials.of(rows.table, clusters.__getitem__)
    sums = np.zeros((len(of.names), len(rows.table.columns)))
    np.add.at(sums, of.positions, rows.table.values)
    return Rows(Table(of.names, rows.table.columns, sums), rows.types)


def lacking_measures(
    systems: Mapping[str, ScoredTable],
    known: Mapping[str, Sequence[Key]],
    shared: Sequence[Key],
    headline: Collection[str],
) -> dict[str, tuple[str, ...]]:
    """Return the systems without a score (of the headline, if any) that others have, by label."""
    lacking = {}
    for scored in systems.values():
        for measure in measures_of(scored):
            key = key_of(measure)
            is_asked = not headline or is_named(measure.name, headline)
            if is_asked and key not in shared and measure.scope == WHOLE:
                lacking[measure.label] = tuple(n for n, keys in known.items() if key not in keys)
    return lacking


def keys_of(scored: ScoredTable) -> list[Key]:
    """Return the keys of all measures."""
    return [key_of(m) for m in measures_of(scored)]


def labels_of(scored: ScoredTable, keys: Iterable[Key]) -> list[str]:
    """Return what the measures with these keys are called."""
    chosen = set(keys)
    return [
        m.label if m.scope == WHOLE else f"{m.label}, {m.scope}"
        for m in measures_of(scored)
        if key_of(m) in chosen
    ]


def measures_of(scored: ScoredTable) -> tuple[AnyMeasure, ...]:
    """Return the measures of both kinds."""
    return (*scored.measures, *scored.type_measures)
