"""Inform, Success and BLEU of a system end to end, on the corpus' own dialogues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.outcomes import outcome_of
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.scoring.success import Judgement, judge
from mwzeval.crosswoz.scoring.text_scores import TextScores
from mwzeval.crosswoz.scoring.track_scores import TYPE_SCOPES, Sign, percentage
from mwzeval.scores.measure import Measure
from mwzeval.scores.score import WHOLE

OUTCOMES = {"inform": "Inform", "success": "Success"}
SCOPES = (WHOLE, *TYPE_SCOPES)


@dataclass(frozen=True, slots=True)
class EndToEndScores:
    """Share of dialogues in which every venue is right, and of those with right answers, too.

    `texts` scores the responses. `by_acts` says whether the system's acts are predicted or only its
    words.
    """

    database: Database
    texts: TextScores
    by_acts: bool = False

    @property
    def main(self) -> tuple[str, ...]:
        """The names of the measures that baselines are shown for."""
        return ("e2e.inform", "e2e.success", *self.texts.main)

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        return (*outcome_columns(OUTCOMES), *self.texts.columns)

    def rows(
        self, gold: Mapping[str, Dialogue], predicted: Mapping[str, Sequence[Predicted]]
    ) -> dict[str, dict[str, float]]:
        """Return the numbers of each dialogue. Raises `DependencyError` without jieba."""
        of_texts = self.texts.rows(gold, predicted)
        return {
            name: self.row(gold[name], said) | of_texts[name] for name, said in predicted.items()
        }

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the outcomes of one dialogue."""
        judged = self.judgement(gold, predicted)
        return outcome_row(gold.goal_type, inform=judged.inform, success=judged.success)

    def judgement(self, gold: Dialogue, predicted: Sequence[Predicted]) -> Judgement:
        """Return what is wrong with what a dialogue comes to."""
        return judge(gold.goal, outcome_of(gold, predicted, self.database), self.database)

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield Inform, Success and BLEU-4, by goal type."""
        signature = sign("e2e", {"told": "acts" if self.by_acts else "text", "user": "corpus"})
        for name, label in OUTCOMES.items():
            for scope in SCOPES:
                if sums[outcome_column("dialogues", scope)]:
                    cases, outcome = outcome_column("dialogues", scope), outcome_column(name, scope)
                    yield Measure(
                        f"e2e.{name}",
                        label,
                        signature,
                        percentage(outcome, cases),
                        scope=scope,
                        cases=cases,
                        outcome=outcome,
                    )
        yield from self.texts.measures(sign, sums)


def outcome_columns(names: Sequence[str] | Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns of 0/1 outcomes with these names."""
    return tuple(outcome_column(kind, scope) for scope in SCOPES for kind in ("dialogues", *names))


def outcome_row(goal_type: str, **outcomes: bool) -> dict[str, float]:
    """Return the numbers of a dialogue with these outcomes."""
    kinds = {"dialogues": True, **outcomes}
    return {outcome_column(k, s): float(v) for k, v in kinds.items() for s in (WHOLE, goal_type)}


def outcome_column(kind: str, scope: str) -> str:
    """Return the column of an outcome in a scope."""
    return f"e2e.{kind}@{scope}"
