"""Scores of texts: BLEU-4, and of generated ones the share of values that they do not say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.nlg import NlgScorer
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.predictions.tracks import NLG, RESPONSE, USER_RESPONSE
from mwzeval.crosswoz.scoring.track_scores import TYPE_SCOPES, Sign
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, Side
from mwzeval.scores.measure import Measure
from mwzeval.scores.score import WHOLE
from mwzeval.statistics import Sums
from mwzeval.version import library_version

SIDES: dict[str, Side] = {USER_RESPONSE: USER, RESPONSE: SYSTEM}
"""The field with the texts of a side."""
BLEU4, MISSING_VALUES = "bleu4", "missing_values"
BLEU_PLACES = 4


@dataclass(frozen=True, slots=True, eq=False)
class TextScores:
    """BLEU-4 (0 to 1, as the paper has it) and value missing rate (percent) of each side.

    Of another track than NLG BLEU-4 alone, because what a system says end to end need not have the
    values of gold; such a track has one side, and its scopes do not name it.
    """

    scorers: tuple[NlgScorer, ...]
    track: str = NLG.name

    @classmethod
    def of(
        cls, dialogues: Mapping[str, Dialogue], fields: Sequence[str], track: str = NLG.name
    ) -> TextScores:
        """Return what scores texts in these fields; all sentences of the fold are references."""
        sides = [side for key, side in SIDES.items() if key in fields]
        return cls(tuple(NlgScorer.of(dialogues, side, track) for side in sides), track)

    @property
    def main(self) -> tuple[str, ...]:
        """The names of the measures that baselines are shown for."""
        names = (BLEU4, MISSING_VALUES) if self.track == NLG.name else (BLEU4,)
        return tuple(f"{self.track}.{name}" for name in names)

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        return tuple(
            _of_scope(column, scope)
            for scorer in self.scorers
            for scope in ("", *TYPE_SCOPES)
            for column in (*scorer.columns, _dialogues(scorer))
        )

    def rows(
        self, gold: Mapping[str, Dialogue], predicted: Mapping[str, Sequence[Predicted]]
    ) -> dict[str, dict[str, float]]:
        """Return the numbers of each dialogue. Raises `DependencyError` without jieba."""
        rows: dict[str, dict[str, float]] = {name: {} for name in predicted}
        for scorer in self.scorers:
            texts = {name: _texts(of, scorer.side) for name, of in predicted.items()}
            for name, row in scorer.rows(texts).items():
                counted = {**row, _dialogues(scorer): 1.0}
                for scope in ("", gold[name].goal_type):
                    rows[name] |= {_of_scope(key, scope): n for key, n in counted.items()}
        return rows

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the scores of each side, and of each goal type on it (`user, S`)."""
        for scorer in self.scorers:
            choices = {"side": scorer.side, "jieba": library_version("jieba"), "refs": "act-group"}
            signature = sign(self.track, choices)
            for scope in ("", *TYPE_SCOPES):
                cases = _of_scope(_dialogues(scorer), scope)
                if not sums[cases]:
                    continue
                parts: list[tuple[str, str, Callable[[Sums], NDArray[np.float64]], int, bool]] = [
                    (BLEU4, "BLEU-4", scorer.bleu4, BLEU_PLACES, False),
                    (MISSING_VALUES, "Values not said", scorer.missing_rate, 2, True),
                ]
                for name, label, of, places, is_lower_better in parts[: len(self.main)]:
                    yield Measure(
                        f"{self.track}.{name}",
                        label,
                        signature,
                        partial(_scoped, of, scorer.columns, scope),
                        places,
                        self._where(scorer.side, scope),
                        cases,
                        lower_is_better=is_lower_better,
                    )

    def _where(self, side: Side, scope: str) -> str:
        if self.track != NLG.name:
            return scope or WHOLE
        return f"{side}, {scope}" if scope else side


def _scoped(
    of: Callable[[Sums], NDArray[np.float64]], columns: Sequence[str], scope: str, sums: Sums
) -> NDArray[np.float64]:
    return of({column: sums[_of_scope(column, scope)] for column in columns})


def _texts(predicted: Sequence[Predicted], side: Side) -> list[str]:
    said = (each.user_response if side == USER else each.response for each in predicted)
    return [text or "" for text in said]


def _dialogues(scorer: NlgScorer) -> str:
    return f"{scorer.prefix}.dialogues"


def _of_scope(column: str, scope: str) -> str:
    return f"{column}@{scope}" if scope else column
