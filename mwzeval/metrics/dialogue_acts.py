"""Dialogue acts as additive rows: how many of those predicted, and of those asked for, are right.

Dataset-blind: an act is any hashable value, equal acts are the same act, and a turn has a set of
them. Turns without acts count for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.measure import Measure
from mwzeval.metrics.ranking import f_score, ratio
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics import Sums

Act = TypeVar("Act", bound=Hashable)
RIGHT, PREDICTED, GOLD, UNITS = "right", "predicted", "gold", "units"
KINDS = (RIGHT, PREDICTED, GOLD)


@dataclass(frozen=True, slots=True)
class ActTurn(Generic[Act]):
    """The acts of a turn, predicted and gold; `scopes` are the parts that the turn belongs to."""

    predicted: frozenset[Act]
    gold: frozenset[Act]
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ActScores(Generic[Act]):
    """Micro-averaged precision, recall and F1 of acts, over all and over each of `scopes`.

    `scopes_of` says to which scopes an act belongs (its intent, say), beside those of its turn.
    Whatever is in no scope known here counts for the whole alone.
    """

    prefix: str
    scopes: tuple[str, ...]
    scopes_of: Callable[[Act], Iterable[str]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row."""
        kinds = (*KINDS, UNITS)
        return tuple(self._column(kind, s) for s in (WHOLE, *self.scopes) for kind in kinds)

    def row(self, turns: Iterable[ActTurn[Act]]) -> dict[str, float]:
        """Return the counts over the turns of a unit; what is 0 is left out."""
        counts: dict[tuple[str, str], int] = {}
        for turn in turns:
            right = turn.predicted & turn.gold
            for kind, acts in ((RIGHT, right), (PREDICTED, turn.predicted), (GOLD, turn.gold)):
                if not acts:
                    continue
                for scope in (WHOLE, *turn.scopes):
                    counts[kind, scope] = counts.get((kind, scope), 0) + len(acts)
                for act in acts:
                    for scope in self.scopes_of(act):
                        counts[kind, scope] = counts.get((kind, scope), 0) + 1
        known = {WHOLE, *self.scopes}
        row = {self._column(k, s): float(n) for (k, s), n in counts.items() if s in known}
        # A unit is behind a score when it has something to be found.
        row |= {self._column(UNITS, s): 1.0 for k, s in counts if k == GOLD and s in known}
        return row

    def measures(
        self, label: str, signature: Signature, sums: Mapping[str, float], places: int = 2
    ) -> Iterator[Measure]:
        """Yield F1 in percent, of all and of each scope with gold acts; of all the other two, too.

        `sums` are the column sums of all rows.
        """
        for scope in (WHOLE, *self.scopes):
            right, predicted, gold = (self._column(kind, scope) for kind in KINDS)
            units = self._column(UNITS, scope)
            if scope != WHOLE and not sums[gold]:
                continue
            of = partial(_percent_f_score, right, predicted, gold)
            yield Measure(f"{self.prefix}.f1", f"{label} F1", signature, of, places, scope, units)
            if scope == WHOLE:
                for name, below in (("precision", predicted), ("recall", gold)):
                    yield Measure(
                        f"{self.prefix}.{name}",
                        f"{label} {name}",
                        signature,
                        partial(_percent_ratio, right, below),
                        places,
                        scope,
                        units,
                    )

    def _column(self, kind: str, scope: str) -> str:
        return f"{self.prefix}.{kind}@{scope}"


def _percent_f_score(right: str, predicted: str, gold: str, sums: Sums) -> NDArray[np.float64]:
    return 100 * f_score(right, predicted, gold, sums)


def _percent_ratio(part: str, whole: str, sums: Sums) -> NDArray[np.float64]:
    return 100 * ratio(part, whole, sums)
