"""What a page is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mwzeval.errors import Problem
from mwzeval.scores.comparable import Group, apart, groups_of
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.report import Report
from mwzeval.scores.score import Score
from mwzeval.scores.sheets import Sheet

NAMED = 3
"""How many systems the title of a page names."""


@dataclass(frozen=True)
class PageSystem:
    """What the page shows of one system.

    `meta` says what was scored and how (corpus, rules, coverage, versions), in any nesting of
    mappings; None values are left out. A key `note` is a sentence for the top of the page.
    `figures` are tables of totals beside the scores, and `references` names what is scored beside
    the system, as in a `Report`.
    """

    name: str
    scores: tuple[Score, ...]
    explanations: tuple[Explanation, ...]
    warnings: tuple[Problem, ...]
    meta: Mapping[str, Any]
    figures: tuple[Sheet, ...] = ()
    references: Mapping[str, str] = field(default_factory=dict)


def page_system(name: str, report: Report, explanations: Iterable[Explanation]) -> PageSystem:
    """Return what the page shows of a system: its report, and its units explained."""
    meta = {**report.meta, "coverage": _in_short(report.meta["coverage"])}
    told = tuple(explanations)
    warnings = tuple(warning.shared() for warning in report.warnings)
    return PageSystem(name, report.scores, told, warnings, meta, report.figures, report.references)


def _in_short(coverage: Mapping[str, Any]) -> dict[str, Any]:
    """Return a coverage without the parts of the input that are all there."""
    return {what: count if "of" in count else _lacking(count) for what, count in coverage.items()}


def _lacking(parts: Mapping[str, Any]) -> dict[str, Any] | None:
    lacking = {name: count for name, count in parts.items() if count["scored"] < count["of"]}
    return lacking or None


def comparable_in(systems: Sequence[PageSystem], name: str) -> Sequence[Group]:
    """Return the groups of systems that can be compared in the score of a name.

    Systems without the score belong to the group if there is only one.
    """
    signed = {
        system.name: score.signature
        for system in systems
        if (score := next((s for s in system.scores if s.name == name), None)) is not None
    }
    groups = groups_of(signed) if signed else ()
    if len(groups) == 1:
        return [everyone(systems)]
    return groups


def everyone(systems: Sequence[PageSystem]) -> Group:
    """Return the group of all systems."""
    return Group(tuple(system.name for system in systems))


def not_comparable(systems: Sequence[PageSystem]) -> list[str]:
    """Return sentences that say which systems, by their letters, cannot be compared in what."""
    labels = labels_of(systems)
    letters = {system.name: letter_of(place) for place, system in enumerate(systems)}
    return apart(
        {
            labels.get(scored, scored): [
                Group(tuple(letters[name] for name in group.systems), group.setting)
                for group in comparable_in(systems, scored)
            ]
            for scored in dict.fromkeys(score.name for each in systems for score in each.scores)
        }
    )


def title_of(systems: Sequence[PageSystem]) -> str:
    """Return the title of a page: its systems and what they were scored on."""
    names = [system.name for system in systems]
    shown = ", ".join(names) if len(names) <= NAMED else f"{len(names)} systems"
    corpora = dict.fromkeys(f"{of.meta['corpus']} {of.meta['fold']}" for of in systems)
    return f"{shown} · {', '.join(corpora)}"


def headline_of(systems: Sequence[PageSystem], headline: Iterable[str]) -> list[str]:
    """Return the scores of a benchmark's headline that any system has, in its order.

    Of a group with a dot in its names, such as `bleu.`, it is the first.
    """
    names = list(dict.fromkeys(score.name for system in systems for score in system.scores))
    found = (
        next((name for name in names if name == asked or name.startswith(f"{asked}.")), None)
        for asked in headline
    )
    return [name for name in found if name is not None]


def letter_of(index: int) -> str:
    """Return how the page calls a system for short: A, B, … Z, S27, …"""
    return chr(ord("A") + index) if index < 26 else f"S{index + 1}"


def labels_of(systems: Sequence[PageSystem]) -> dict[str, str]:
    """Return what each score, and so the outcome of the same name, is called."""
    return {score.name: score.label for system in systems for score in reversed(system.scores)}
