"""What an evaluation has found, before anything is printed or written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mwzeval.errors import Problem
from mwzeval.scores.score import Score
from mwzeval.scores.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """The result of one evaluation.

    `metrics` is the known plain shape, metric → numbers, None for a metric that was not asked for;
    `scores` are the same numbers unrounded, each with its signature; `table` has the rows (one per
    dialogue) behind the additive ones; `meta` says what was scored, how, and with which versions.
    """

    metrics: Mapping[str, Any]
    scores: tuple[Score, ...]
    table: Table
    warnings: tuple[Problem, ...]
    meta: Mapping[str, Any]
