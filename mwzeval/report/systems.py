"""The data of several systems for pages and figures: names, scores, groups, and failure reasons.

A system is a `Report` with a name and, for failure reasons, with explanations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from mwzeval.scores.explanation import Reason, count_reasons
from mwzeval.scores.report import Report
from mwzeval.scores.score import Group, groups_of


def title_of(systems: Sequence[Report]) -> str:
    """Return the title of a page: the names of the systems (at most three), and the scored data."""
    names = [system.name for system in systems]
    shown = ", ".join(names) if len(names) <= 3 else f"{len(names)} systems"
    corpora = dict.fromkeys(f"{system.meta['corpus']} {system.meta['fold']}" for system in systems)
    return f"{shown} · {', '.join(corpora)}"


def headline_of(systems: Sequence[Report], headline: Iterable[str]) -> list[str]:
    """Return the headline scores that any system has; `bleu` stands for its first variant."""
    names = labels_of(systems)
    found = ([n for n in names if n == main or n.startswith(f"{main}.")] for main in headline)
    return [matching[0] for matching in found if matching]


def labels_of(systems: Sequence[Report]) -> dict[str, str]:
    """Return the label of each score, which is also the label of the outcome with the same name."""
    labels: dict[str, str] = {}
    for system in systems:
        for score in system.scores:
            labels.setdefault(score.name, score.label)
    return labels


def comparable_in(systems: Sequence[Report], name: str) -> Sequence[Group]:
    """Return the groups of systems with comparable scores; a single group contains all systems."""
    found = (
        (system.name, [s.signature for s in system.scores if s.name == name]) for system in systems
    )
    signed = {system: signatures[0] for system, signatures in found if signatures}
    groups = groups_of(signed) if signed else ()
    return groups if len(groups) > 1 else [Group(tuple(system.name for system in systems))]


@dataclass(frozen=True, slots=True)
class Kind:
    """A failure reason of an outcome, and the number of items with this reason in each system.

    `details` counts the reason separately for each of its details (`code:detail`). An item that has
    the reason with several details counts once for the reason.
    """

    outcome: str
    code: str
    counts: tuple[int, ...]
    details: tuple[Kind, ...] = ()

    def occurs_in(self, places: Collection[int]) -> bool:
        """Return whether the reason occurs in any of the systems at these positions."""
        return any(self.counts[place] for place in places)


def kinds_of(systems: Sequence[Report]) -> list[Kind]:
    """Return all failure reasons in the order of outcomes, then of decreasing frequency."""
    everything = [explanation for system in systems for explanation in system.explanations]
    order = dict.fromkeys(o for e in everything for named in e.outcomes.values() for o in named)
    places = {outcome: place for place, outcome in enumerate(order)}

    def keys(reason: Reason) -> Iterator[tuple[str, str]]:
        yield from ((reason.outcome, code) for code in (reason.kind, reason.code))

    by_system = [count_reasons(system.explanations, keys) for system in systems]
    found = dict.fromkeys(key for of_system in by_system for key in of_system)
    counts = {key: tuple(of_system.get(key, 0) for of_system in by_system) for key in found}

    def rank(key: tuple[str, str]) -> tuple[int, str, int, str]:
        return places.get(key[0], len(places)), key[0], -sum(counts[key]), key[1]

    details: dict[tuple[str, str], list[Kind]] = {}
    for outcome, code in sorted(counts, key=rank):
        kind, _, detail = code.partition(":")
        of_kind = details.setdefault((outcome, kind), [])
        of_kind += [Kind(outcome, code, counts[outcome, code])] if detail else []
    return [Kind(*key, counts[key], tuple(of_kind)) for key, of_kind in details.items()]
