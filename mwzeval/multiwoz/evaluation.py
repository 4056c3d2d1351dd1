"""All chosen metrics over checked dialogues: rows, and the numbers in the known plain shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mwzeval.metrics.richness import Richness
from mwzeval.multiwoz.predictions import Dialogues
from mwzeval.multiwoz.scoring import Scorer, Sources
from mwzeval.table import Table


@dataclass(frozen=True, slots=True)
class Metrics:
    """Which metrics are asked for."""

    bleu: bool = False
    success: bool = False
    richness: bool = False
    dst: bool = False

    @property
    def need_responses(self) -> bool:
        """Whether responses are looked at; only a run for state tracking alone does without."""
        return self != Metrics(dst=True)


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What scoring has found: additive rows, and richness, which is not additive."""

    scorer: Scorer
    metrics: Metrics
    sources: Sources
    table: Table
    richness: Richness
    turns: int

    @classmethod
    def of(
        cls,
        scorer: Scorer,
        dialogues: Dialogues,
        metrics: Metrics,
        *,
        names: Iterable[str] | None = None,
    ) -> Evaluation:
        """Score checked dialogues, in the order of `names` (default: as they come).

        State tracking needs predicted states; without them it is not computed.
        """
        sources = Sources.of(dialogues.values())
        columns: tuple[str, ...] = ()
        if metrics.success:
            columns += scorer.goal_success.columns
        if metrics.dst and sources.predicted_states:
            columns += scorer.state_tracking.columns
        if metrics.bleu:
            columns += tuple(column for bleu in scorer.bleus.values() for column in bleu.columns)
        richness = Richness()
        if metrics.richness:
            columns += richness.columns
        rows: list[tuple[str, dict[str, float]]] = []
        for name in dialogues if names is None else names:
            dialogue = scorer.normalize(name, dialogues[name], sources)
            row: dict[str, float] = {}
            if metrics.success:
                row.update(scorer.goal_success.row(scorer.outcome(dialogue)))
            if metrics.dst and sources.predicted_states:
                row.update(scorer.state_row(dialogue))
            if metrics.bleu or metrics.richness:
                responses = dialogue.responses
                if metrics.richness:
                    richness.update(responses)
                if metrics.bleu:
                    row.update(scorer.bleu_row(dialogue, responses))
            rows.append((name, row))
        turns = sum(len(dialogues[name]) for name, _ in rows)
        for (_, row), of_words in zip(rows, richness.rows(), strict=False):
            row.update(of_words)
        return cls(scorer, metrics, sources, Table.from_rows(columns, rows), richness, turns)

    @property
    def has_dst(self) -> bool:
        """Whether state tracking was scored: asked for, and states predicted."""
        return self.metrics.dst and self.sources.predicted_states

    def plain(self) -> dict[str, Any]:
        """Return the numbers in the known shape; None for what was not computed."""
        sums = self.table.sums()
        scorer = self.scorer
        return {
            "bleu": self._bleu(sums) if self.metrics.bleu else None,
            "success": scorer.goal_success.scores(sums) if self.metrics.success else None,
            "richness": self.richness.scores() if self.metrics.richness else None,
            "dst": scorer.state_tracking.scores(sums) if self.has_dst else None,
        }

    def _bleu(self, sums: Mapping[str, float]) -> dict[str, float]:
        return {name: bleu.score(sums) for name, bleu in self.scorer.bleus.items()}
