"""What systems share: the scores in which they can be compared, and the units and columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache

from mwzeval.errors import InputError, Problem, UsageError, shorten
from mwzeval.metrics.measure import ScoredTable
from mwzeval.scores.score import AMOUNTS, Group, Signature, differing, groups_of
from mwzeval.scores.table import Table

Key = tuple[str, str]
"""Name and scope of a measure."""

GOALS = "goals"
"""The key of a signature that says which goals were chosen; only common ones are compared."""


def signatures_of(scored: ScoredTable) -> dict[Key, Signature]:
    """Return the signature of each score."""
    return {measure.key: measure.signature for measure in scored.measures}


def groups_by_score(systems: Mapping[str, ScoredTable]) -> dict[Key, tuple[Group, ...]]:
    """Return the groups of systems that can be compared, for each score that all systems have.

    Systems may have chosen different goals if the goal of each unit is known.
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
    """Raise `UsageError` with all differences unless all systems are comparable in every score.

    With `score`, only the score of that name counts.
    """
    groups = groups_by_score(systems)
    keys = [key for key in groups if score in (None, key[0])]
    if not keys or any(len(groups[key]) > 1 for key in keys):
        raise not_comparable(systems, keys)


def not_comparable(systems: Mapping[str, ScoredTable], keys: Collection[Key] = ()) -> UsageError:
    """Return the error for systems that cannot be compared, with all differences in some scores.

    Without `keys`, these are the scores that the first system shares with another.
    """
    signed = [signatures_of(scored) for scored in systems.values()]
    found: dict[str, str] = {}
    for key in keys or signed[0]:
        found |= differing([signatures[key] for signatures in signed if key in signatures])
    if not found:
        return UsageError("the systems have no score in common")
    what = ", ".join(f"{choice} ({values})" for choice, values in found.items())
    called = " and ".join(f'"{name}"' for name in systems)
    return UsageError(f"{called} cannot be compared: they differ in {what}")


def common_signature(signatures: Sequence[Signature], group: Group) -> Signature:
    """Return the choices in which the signatures of a group agree, and its size."""
    first, *others = signatures
    different = {key for other in others for key in first.differences(other)}
    kept = tuple(choice for choice in first.choices if choice[0] not in {*AMOUNTS, *different})
    counts = {"common": len(group.units)}
    if group.clusters is not None:
        counts["clusters"] = group.clusters
    return Signature(first.metric, kept).extended(counts)


def amounts_of(scored: ScoredTable) -> dict[str, str]:
    """Return how much of each unit was scored, by the choice of the signatures that says it."""
    return {
        choice: value
        for signature in signatures_of(scored).values()
        for choice, value in signature.choices
        if choice in AMOUNTS and choice != "n"
    }


def _may_have_other_goals(systems: Mapping[str, ScoredTable]) -> bool:
    """Return whether units of the same name may have different goals.

    They may if the goals of the systems were chosen differently, or if no signature says how they
    were chosen but the goals are known.
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
    """Return the units that all systems have, in the order of the first system.

    `units_of` has the units of each system, by default the rows of its table. Where goals may have
    been chosen differently, only units with the same goal are the same.

    Raises:
        UsageError: When two systems have no unit in common.
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
            raise UsageError(f'"{other}" has no {unit}{same} in common with the systems before it')
    kept = {name for name, _ in common}
    return tuple(name for name in names[baseline] if name in kept)


def aligned(
    systems: Mapping[str, Mapping[str, ScoredTable]], units: Sequence[str]
) -> dict[str, list[ScoredTable]]:
    """Return the runs of each system with the common units and columns only.

    Tables keep the order of `units`, because neighbours may belong together; counts of types are
    sorted by unit, so that the order does not matter.
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
    """Check that runs of one system differ in nothing but their scores.

    Raises:
        UsageError: For runs that were not scored alike.
        InputError: For runs of different units.
    """
    _check_units(runs, unit)
    (first, scored), *others = runs.items()
    signatures = signatures_of(scored)
    for name, other in others:
        of_other = signatures_of(other)
        found = [
            f"only one of {first} and {name} has {score} ({scope})"
            for score, scope in sorted(signatures.keys() ^ of_other.keys())
        ]
        # Runs are of the same units, so that amounts may not differ either.
        found += [
            f"for {key[0]}, {what} is {dict(signature.choices).get(what)} in {first} and "
            f"{dict(of_other[key].choices).get(what)} in {name}"
            for key, signature in signatures.items()
            if key in of_other
            for what in signature.differences(of_other[key])
        ]
        if found:
            raise UsageError(
                f"the runs are not alike: {found[0]}; runs of one system differ in nothing but "
                "their seed"
            )


def _check_units(runs: Mapping[str, ScoredTable], unit: str) -> None:
    everything = dict.fromkeys(name for scored in runs.values() for name in scored.table.units)
    problems = []
    for file, scored in runs.items():
        there = set(scored.table.units)
        if lacking := [name for name in everything if name not in there]:
            some = ", ".join(f'"{shorten(name)}"' for name in lacking[:3])
            more = ", …" if len(lacking) > 3 else ""
            message = (
                f"lacks {len(lacking)} of the {len(everything)} {unit}s that other runs have "
                f"({some}{more}); all runs need the same {unit}s"
            )
            problems.append(Problem("different-dialogues", message, file=file))
    if _may_have_other_goals(runs):
        (first, scored), *others = runs.items()
        for file, other in others:
            known = scored.about.keys() & other.about.keys()
            if count := sum(scored.about[name] != other.about[name] for name in known):
                message = (
                    f"has other goals than {first} in {count} {unit}s of the same name; all runs "
                    "need the same goals"
                )
                problems.append(Problem("different-goals", message, file=file))
    if problems:
        raise InputError(problems)
