"""What every track offers to the evaluation: rows of dialogues, and measures over these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from mwzeval.crosswoz.corpus.acts import SELECT
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Exchange
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import Signature

SELECT_TURNS = "Select turns"
"""The scope of exchanges whose user refers to what was chosen before ("near the one …")."""
TYPE_SCOPES = tuple(GOAL_TYPES)
Sign = Callable[[str, Mapping[str, object]], Signature]
"""Returns the signature of a metric with choices of its own."""


class TrackScores(Protocol):
    """The scores of one track."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""

    @property
    def main(self) -> tuple[str, ...]:
        """The names of the measures that baselines are shown for."""

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the numbers of one dialogue; those that are 0 may be left out."""

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterable[Measure]:
        """Return the scores, in the order of a report."""


def selects(exchange: Exchange) -> bool:
    """Tell whether the user of an exchange refers to something chosen before."""
    return any(act.intent == SELECT for act in exchange.user.acts)


def turn_scopes(gold: Dialogue, exchange: Exchange) -> tuple[str, ...]:
    """Return the scopes of an exchange: its dialogue's goal type, and whether it selects."""
    return (gold.goal_type, SELECT_TURNS) if selects(exchange) else (gold.goal_type,)
