"""A goal model estimated from goals, for a corpus that has none published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from mwzeval.multiwoz.goals.goals import ORDERING, Goal

PARTS = ("info", "reqt", "book")


def estimated_model(goals: Iterable[Goal]) -> dict[str, Any]:
    """Return a goal model in the form that `GoalModel` reads, as frequent as in the goals.

    Unlike in the published model, how often a domain is booked is told of the goals with the
    domain. Nothing is drawn that no goal has.
    """
    goals = list(goals)
    orderings = Counter("|".join(goal[ORDERING]) for goal in goals)
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for goal in goals:
        for domain in goal[ORDERING]:
            parts.setdefault(domain, []).append(goal[domain])
    return {
        "domain_orderings": _shares(orderings, len(goals)),
        "slot_combinations": {domain: {"info": _combinations(of)} for domain, of in parts.items()},
        "slot_probability": {
            domain: {part: _shares(_slots(of, part), len(of)) for part in PARTS}
            for domain, of in parts.items()
        },
        "value_distribution": {
            domain: {part: _values(of, part) for part in ("info", "book")}
            for domain, of in parts.items()
        },
        "book_probability": {
            domain: sum("book" in part for part in of) / len(of) for domain, of in parts.items()
        },
    }


def _shares(counts: Mapping[str, int], whole: int) -> dict[str, float]:
    return {name: count / whole for name, count in counts.items()}


def _combinations(parts: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return dict(Counter("|".join(sorted(part["info"])) for part in parts))


def _slots(parts: Iterable[Mapping[str, Any]], name: str) -> Counter[str]:
    return Counter(slot for part in parts for slot in part.get(name, ()))


def _values(parts: Iterable[Mapping[str, Any]], name: str) -> dict[str, dict[str, int]]:
    values: dict[str, Counter[str]] = {}
    for part in parts:
        for slot, value in part.get(name, {}).items():
            values.setdefault(slot, Counter())[value] += 1
    return {slot: dict(counts) for slot, counts in values.items()}
