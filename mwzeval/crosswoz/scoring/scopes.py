"""What the scores of all tracks share: scopes, rows of dialogues, and measures over their sums.

A column is named `PREFIX.KIND@SCOPE`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.acts import SELECT
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Exchange
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.reading import Predicted
from mwzeval.metrics.measure import Measure, f_score, percentage, ratio
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics.bootstrap import Sums

SELECT_TURNS = "Select turns"
"""The scope of exchanges whose user refers to what was chosen before ("near the one …")."""
TYPE_SCOPES = tuple(GOAL_TYPES)
ALL_AND_TYPES = (WHOLE, *TYPE_SCOPES)
Sign = Callable[[str, Mapping[str, object]], Signature]
"""Returns the signature of a metric with choices of its own."""
RIGHT, PREDICTED, GOLD = "right", "predicted", "gold"


class TrackScores(ABC):
    """The scores of one track."""

    main: tuple[str, ...]
    """The names of the measures that baselines are shown for."""
    columns: tuple[str, ...]
    """The additive numbers of a row."""

    def rows(
        self, gold: Mapping[str, Dialogue], predicted: Mapping[str, Sequence[Predicted]]
    ) -> dict[str, dict[str, float]]:
        """Return the numbers of each dialogue; those that are 0 may be left out."""
        return {name: self.row(gold[name], turns) for name, turns in predicted.items()}

    @abstractmethod
    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the numbers of one dialogue."""

    @abstractmethod
    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the scores, in the order of a report; `sums` are those of all rows."""


def selects(exchange: Exchange) -> bool:
    """Tell whether the user of an exchange refers to something chosen before."""
    return any(act.intent == SELECT for act in exchange.user.acts)


def turn_scopes(gold: Dialogue, exchange: Exchange) -> tuple[str, ...]:
    """Return the scopes of an exchange: its dialogue's goal type, and whether it selects."""
    return (gold.goal_type, SELECT_TURNS) if selects(exchange) else (gold.goal_type,)


def rates(
    name: str,
    label: str,
    signature: Signature,
    sums: Mapping[str, float],
    scopes: Iterable[str],
    part: str,
    whole: str,
    *,
    is_outcome: bool = False,
) -> Iterator[Measure]:
    """Yield the share of `part` in `whole` (columns without their scope) in percent, by scope.

    Scopes in which there is nothing are left out. The cases are the track's `dialogues`; an outcome
    is 0 or 1 in each of them.
    """
    cases = f"{whole.partition('.')[0]}.dialogues"
    for scope in scopes:
        if sums[f"{whole}@{scope}"]:
            yield Measure(
                name,
                label,
                signature,
                percentage(f"{part}@{scope}", of=f"{whole}@{scope}"),
                scope=scope,
                cases=f"{cases}@{scope}",
                outcome=f"{part}@{scope}" if is_outcome else None,
            )


def f_scores(
    name: str,
    label: str,
    signature: Signature,
    sums: Mapping[str, float],
    scopes: Iterable[str],
    counts: str,
    cases: str,
) -> Iterator[Measure]:
    """Yield F1, precision and recall of the whole in percent, and F1 of each scope in gold.

    In `name` and `label`, `{}` stands for the three. `counts` is what the columns of right,
    predicted and gold begin with, `cases` the column of the units that have gold.
    """
    for scope in scopes:
        right, predicted, gold = (f"{counts}{kind}@{scope}" for kind in (RIGHT, PREDICTED, GOLD))
        if scope != WHOLE and not sums[gold]:
            continue
        parts: list[tuple[str, str, Callable[[Sums], NDArray[np.float64]]]] = [
            ("f1", "F1", partial(f_score, right, predicted, gold))
        ]
        if scope == WHOLE:
            parts.append(("precision", "precision", partial(ratio, right, predicted)))
            parts.append(("recall", "recall", partial(ratio, right, gold)))
        for part, text, of in parts:
            yield Measure(
                name.format(part),
                label.format(text),
                signature,
                partial(_percent, of),
                scope=scope,
                cases=f"{cases}@{scope}",
            )


def _percent(of: Callable[[Sums], NDArray[np.float64]], sums: Sums) -> NDArray[np.float64]:
    return 100 * of(sums)
