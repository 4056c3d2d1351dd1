"""Grounded scores as additive rows: what is said is in the database, agrees, and is what is wanted.

Dataset-blind: a benchmark says of each value mentioned whether it is known and agrees with what is
on offer, and of each part of a goal whether it was kept; here are rows of that, and rates.
Measures over mentions divide by mentions, not by dialogues; definitions are in `docs/metrics.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mwzeval.scores.score import WHOLE


class JudgedValue(NamedTuple):
    """A value or an entity that a response mentions.

    `known` tells whether the database has it; `agrees` whether it is one of what is on offer, None
    where there is nothing that it could agree with.
    """

    slot: str
    known: bool
    agrees: bool | None


class MentionRates:
    """Rows and rates of mentions: `hallucination` and `consistency`, by slot and in total."""

    def __init__(self, slots: Iterable[str]) -> None:
        self.scopes = (WHOLE, *slots)
        counts = ("mentions", "hallucinated", "belonging", "consistent")
        self._of_scope = {
            scope: tuple(f"{count}.{scope}" for count in counts) for scope in self.scopes
        }
        self.columns = tuple(f"{count}.{scope}" for count in counts for scope in self.scopes)

    def row(self, judged: Iterable[JudgedValue]) -> dict[str, float]:
        """Return one dialogue's counts of mentions."""
        counted = Counter(judged)
        row: dict[str, float] = {}
        for (slot, known, agrees), times in counted.items():
            holds = (True, not known, agrees is not None, agrees is True)
            for columns in (self._of_scope[WHOLE], self._of_scope[slot]):
                for column, counts in zip(columns, holds, strict=True):
                    if counts:
                        row[column] = row.get(column, 0) + times
        return row


class OutcomeRates:
    """Rows and rates of 0/1 outcomes of the parts of a goal, and of the whole goal.

    `cases` names the column that counts where the outcomes are asked for.
    """

    def __init__(self, cases: str, outcomes: Sequence[str], parts: Iterable[str]) -> None:
        self.cases = cases
        self.outcomes = tuple(outcomes)
        self.scopes = (WHOLE, *parts)
        self.columns = tuple(
            f"{name}.{scope}" for name in (cases, *outcomes) for scope in self.scopes
        )

    def row(self, kept: Mapping[str, Sequence[bool]]) -> dict[str, float]:
        """Return one dialogue's row; `kept` has a scope's outcomes in the order of `outcomes`."""
        row: dict[str, float] = {}
        for scope, results in kept.items():
            row[f"{self.cases}.{scope}"] = 1
            for name, result in zip(self.outcomes, results, strict=True):
                row[f"{name}.{scope}"] = result
        return row


def percentages(
    scopes: Iterable[str], outcome: str, cases: str, sums: Mapping[str, float]
) -> dict[str, float]:
    """Return 100 × outcome / cases by scope, unrounded; scopes without cases are left out."""
    return {
        scope: 100 * sums[f"{outcome}.{scope}"] / sums[f"{cases}.{scope}"]
        for scope in scopes
        if sums[f"{cases}.{scope}"]
    }
