"""Grounded scores as additive rows: what is said is in the database, agrees, and is what is wanted.

Dataset-blind: a benchmark says of each value mentioned whether it is known and agrees with what is
on offer; here are rows of that, and rates. Whether goals were kept is `goal_success`.
Measures over mentions divide by mentions, not by dialogues; definitions are in `docs/metrics.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from mwzeval.metrics.measure import Measure, Sign, percentage
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
    """Rows and measures of mentions, `hallucination` and `consistency`: by slot and in total."""

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

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the percentages of each scope that has cases, `hallucination` first.

        Mentions of one dialogue depend on each other: they are no outcomes of units, and intervals
        come from resampled dialogues.
        """
        for name, label, outcome, cases in (
            ("hallucination", "Hallucination", "hallucinated", "mentions"),
            ("consistency", "Consistency", "consistent", "belonging"),
        ):
            for scope in self.scopes:
                if sums[f"{cases}.{scope}"]:
                    yield Measure(
                        name=name,
                        label=label,
                        signature=sign(name),
                        of=percentage(f"{outcome}.{scope}", of=f"{cases}.{scope}"),
                        places=1,
                        scope=scope,
                        cases=f"{cases}.{scope}",
                        lower_is_better=name == "hallucination",
                    )
