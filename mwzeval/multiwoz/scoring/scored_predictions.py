"""Predictions on their way to a report: checked, then scored.

`CheckedPart` is what can be said of a part of an input; `CheckedPredictions` is a whole input that
can be scored; `ScoredPredictions` is what came of it, for reports, comparisons and explanations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mwzeval.errors import Problem
from mwzeval.metrics.measure import Resampling, ScoredTable, no_garbage_collection
from mwzeval.multiwoz import SCORING_REVISION
from mwzeval.multiwoz.choices import AUTO, SAMPLE
from mwzeval.multiwoz.predictions.census import Census, Coverage
from mwzeval.multiwoz.predictions.reading import Dialogues
from mwzeval.multiwoz.predictions.wording import Wording
from mwzeval.multiwoz.scoring.explanation import explanation_as_written
from mwzeval.multiwoz.scoring.measures import plain_metrics, scored_table
from mwzeval.multiwoz.scoring.scored_dialogues import ScoredDialogues
from mwzeval.multiwoz.scoring.scorer import Scorer
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.score import Report
from mwzeval.version import __version__, library_version

if TYPE_CHECKING:
    from mwzeval.multiwoz.evaluator import Evaluator

DEPENDENCIES = (
    *("sacrebleu", "sacremoses", "fuzzywuzzy", "python-Levenshtein"),
    *("lexical-diversity", "numpy"),
)

SAMPLE_NOTE = "The sample corpus is an invented town: these are not MultiWOZ scores."


@dataclass(frozen=True, slots=True, eq=False)
class CheckedPart:
    """Predictions that may be all of an input or some, what scores them, and what they have."""

    dialogues: Dialogues
    scorer: Scorer
    census: Census


@dataclass(frozen=True, slots=True, eq=False)
class CheckedPredictions:
    """A whole input that can be scored, what scores it, and what was noticed about it.

    `dialogues` is empty where they came in parts, of which sums are kept.
    """

    dialogues: Dialogues
    scorer: Scorer
    coverage: Coverage
    warnings: tuple[Problem, ...]
    wording: Wording


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPredictions:
    """An input that has been scored: its rows, and the measures over these."""

    evaluator: Evaluator
    checked: CheckedPredictions
    dialogues: ScoredDialogues
    scored_table: ScoredTable

    @classmethod
    def of(
        cls, evaluator: Evaluator, checked: CheckedPredictions, dialogues: ScoredDialogues
    ) -> ScoredPredictions:
        """Return scored dialogues with the measures over them."""
        return cls(evaluator, checked, dialogues, scored_table(dialogues))

    @property
    def warnings(self) -> Sequence[Problem]:
        """What was noticed and did not prevent scoring."""
        return self.checked.warnings

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the report, with intervals as `resampling` says, else as the evaluator does."""
        checked, scorer = self.checked, self.checked.scorer
        with no_garbage_collection():
            scores = self.scored_table.scores(resampling or self.evaluator.resampling)
        return Report(
            metrics=plain_metrics(self.dialogues, scores),
            scores=scores,
            table=self.scored_table.table,
            warnings=checked.warnings,
            meta={
                "corpus": scorer.gold.corpus,
                "note": SAMPLE_NOTE if scorer.gold.corpus == SAMPLE else None,
                "fold": scorer.gold.fold,
                "sources": scorer.gold.checksum,
                "rules": scorer.rules,
                "responses": {
                    "taken_as": scorer.kind(self.dialogues.sources),
                    "said": scorer.responses != AUTO,
                    **checked.wording.plain(),
                },
                "coverage": checked.coverage.to_json(),
                "versions": {name: library_version(name) for name in DEPENDENCIES}
                | {"mwzeval": __version__, "scoring_revision": SCORING_REVISION},
            },
        )

    def units(self) -> Sequence[str]:
        """Return the ids of the dialogues, in order."""
        return tuple(self.checked.dialogues)

    def explain(self, unit: str) -> Explanation:
        """Return what became of a dialogue. Raises `KeyError` for an unknown one."""
        return next(self._explained([unit]))

    def explain_all(self) -> Iterator[Explanation]:
        """Yield what became of every dialogue.

        Predictions without any response can neither keep nor lose Inform and Success: their
        explanations have no outcomes and no reasons, only what was said and the states.
        """
        return self._explained(self.units())

    def _explained(self, units: Iterable[str]) -> Iterator[Explanation]:
        scorer, dialogues = self.checked.scorer, self.checked.dialogues
        sources = self.dialogues.sources
        with_responses = any(
            turn.response is not None for turns in dialogues.values() for turn in turns
        )
        for unit in units:
            explanation = explanation_as_written(scorer, unit, dialogues[unit], sources)
            yield explanation if with_responses else replace(explanation, outcomes={}, reasons=())
