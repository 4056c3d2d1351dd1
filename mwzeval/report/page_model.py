"""What a page is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.errors import Problem
from mwzeval.explanation import Explanation
from mwzeval.score import Score


@dataclass(frozen=True)
class PageSystem:
    """What the page shows of one system.

    `meta` says what was scored and how (corpus, rules, coverage, versions), in any nesting of
    mappings; None values are left out. A key `note` is a sentence for the top of the page.
    """

    name: str
    scores: tuple[Score, ...]
    explanations: tuple[Explanation, ...]
    warnings: tuple[Problem, ...]
    meta: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Words:
    """What the page calls a scored unit, several of them, a part of one, and what it aims at."""

    unit: str = "dialogue"
    units: str = "dialogues"
    scope: str = "domain"
    goal: str = "goal"


def letter_of(index: int) -> str:
    """Return how the page calls a system for short: A, B, … Z, S27, …"""
    return chr(ord("A") + index) if index < 26 else f"S{index + 1}"


def labels_of(systems: Sequence[PageSystem]) -> dict[str, str]:
    """Return what each score, and so the outcome of the same name, is called."""
    return {score.name: score.label for system in systems for score in reversed(system.scores)}
