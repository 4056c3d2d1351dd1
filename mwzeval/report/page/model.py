"""What a page is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.errors import Problem
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.score import Figures, Report, Score

NAMED = 3
"""How many systems the title of a page names."""


@dataclass(frozen=True)
class PageSystem:
    """What the page shows of one system.

    `meta` says what was scored and how (corpus, rules, coverage, versions), in any nesting of
    mappings; None values are left out. A key `note` is a sentence for the top of the page.
    `figures` are tables of totals beside the scores.
    """

    name: str
    scores: tuple[Score, ...]
    explanations: tuple[Explanation, ...]
    warnings: tuple[Problem, ...]
    meta: Mapping[str, Any]
    figures: tuple[Figures, ...] = ()


def page_system(name: str, report: Report, explanations: Iterable[Explanation]) -> PageSystem:
    """Return what the page shows of a system: its report, and its units explained."""
    meta = {**report.meta, "coverage": _in_short(report.meta["coverage"])}
    told = tuple(explanations)
    return PageSystem(name, report.scores, told, report.warnings, meta, report.figures)


def _in_short(coverage: Mapping[str, Any]) -> dict[str, Any]:
    """Return a coverage without the parts of the input that are all there."""
    return {what: count if "of" in count else _lacking(count) for what, count in coverage.items()}


def _lacking(parts: Mapping[str, Any]) -> dict[str, Any] | None:
    lacking = {name: count for name, count in parts.items() if count["scored"] < count["of"]}
    return lacking or None


def title_of(systems: Sequence[PageSystem]) -> str:
    """Return the title of a page: its systems and what they were scored on."""
    names = [system.name for system in systems]
    shown = ", ".join(names) if len(names) <= NAMED else f"{len(names)} systems"
    meta = systems[0].meta
    return f"{shown} · {meta['corpus']} {meta['fold']}"


def letter_of(index: int) -> str:
    """Return how the page calls a system for short: A, B, … Z, S27, …"""
    return chr(ord("A") + index) if index < 26 else f"S{index + 1}"


def labels_of(systems: Sequence[PageSystem]) -> dict[str, str]:
    """Return what each score, and so the outcome of the same name, is called."""
    return {score.name: score.label for system in systems for score in reversed(system.scores)}
