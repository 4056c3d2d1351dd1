"""Which units, columns and scores systems share, and whether these may be compared at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from mwzeval.comparison.pairs import AnyMeasure, Key, Rows, key_of
from mwzeval.errors import UsageError
from mwzeval.metrics.measure import ScoredTable
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.table import Table
from mwzeval.statistics import Trials

COUNTED = ("n", "turns", "trials")
"""Keys of a signature that say how much was scored; only common units are compared."""

FREE = ("state", "domains", "bookings", "responses", "rapidfuzz")
"""Keys that may differ between systems: one predicts states, another does without, or speaks in
words where another has placeholders. It is shown."""


GOALS = "goals"
"""The key of a signature that says which goals were chosen; only common ones are compared."""


def check_signatures(systems: Mapping[str, ScoredTable]) -> None:
    """Refuse systems that were scored differently. Raises `UsageError` with all that differs.

    Which goals were chosen may differ where it is known what each unit is about.
    """
    baseline, *others = systems
    known = (GOALS,) if all(scored.about for scored in systems.values()) else ()
    signed = {name: _signatures(scored) for name, scored in systems.items()}
    for other in others:
        differing: dict[str, str] = {}
        for mine, theirs in _counterparts(signed[baseline], signed[other]):
            here, there = dict(mine.choices), dict(theirs.choices)
            for choice in mine.differences(theirs, ignoring=(*COUNTED, *FREE, *known)):
                differing[choice] = f"{here.get(choice, 'none')} and {there.get(choice, 'none')}"
        if differing:
            what = ", ".join(f"{choice} ({values})" for choice, values in differing.items())
            raise UsageError(
                f'"{baseline}" and "{other}" cannot be compared: they differ in {what}'
            )


def _signatures(scored: ScoredTable) -> dict[Key, Signature]:
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


def common_signature(signature: Signature, n: int, clusters: int | None = None) -> Signature:
    """Return a signature with the number of common units and clusters, without what may differ."""
    kept = tuple(c for c in signature.choices if c[0] not in (*COUNTED, *FREE))
    counts = {"common": n} | ({} if clusters is None else {"clusters": clusters})
    return Signature(signature.metric, kept).extended(counts)


def setting_of(signature: Signature) -> str:
    """Return the choices of a signature that may differ between systems."""
    return ", ".join(f"{choice} {value}" for choice, value in signature.choices if choice in FREE)


def free_choices(scored: ScoredTable) -> dict[str, str]:
    """Return what may differ between systems, of all metrics together."""
    return {
        choice: value
        for signature in _signatures(scored).values()
        for choice, value in signature.choices
        if choice in (*FREE, "turns", "trials")
    }


def have_other_goals(systems: Mapping[str, ScoredTable]) -> bool:
    """Tell whether the systems say that their goals were chosen differently."""
    chosen = {
        dict(signature.choices).get(GOALS)
        for scored in systems.values()
        for signature in _signatures(scored).values()
    }
    return len(chosen) > 1


def common_units(
    systems: Mapping[str, ScoredTable],
    unit: str,
    units_of: Mapping[str, Sequence[str]] | None = None,
) -> tuple[str, ...]:
    """Return the units that all systems have, in the order of the first one.

    These are the rows, or what `units_of` has of each system. Where goals were chosen differently,
    only units with the same goal are the same. Raises `UsageError` when two systems have none in
    common.
    """
    by_goal = have_other_goals(systems)
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
            raise UsageError(f'"{other}" has no {unit}{same} in common with the systems before it')
    names = {name for name, _ in common}
    return tuple(name for name in of[baseline] if name in names)


def without_goals(scored: ScoredTable) -> ScoredTable:
    """Return the same whose signatures do not say which goals were chosen."""

    def without(signature: Signature) -> Signature:
        kept = tuple(choice for choice in signature.choices if choice[0] != GOALS)
        return Signature(signature.metric, kept)

    return replace(
        scored,
        measures=tuple(replace(m, signature=without(m.signature)) for m in scored.measures),
    )


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
    systems: Mapping[str, ScoredTable], known: Mapping[str, Sequence[Key]], shared: Sequence[Key]
) -> dict[str, tuple[str, ...]]:
    """Return the systems without a score that others have, by its label."""
    lacking = {}
    for scored in systems.values():
        for measure in measures_of(scored):
            key = key_of(measure)
            if key not in shared and measure.scope == WHOLE:
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
