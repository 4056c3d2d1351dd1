"""All chosen metrics over checked dialogues: rows, numbers, and the signature of each number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from mwzeval.metrics.bleu import SIGNATURE as BLEU_SIGNATURE
from mwzeval.metrics.richness import MSTTR_WINDOW, Richness
from mwzeval.multiwoz.database import FUZZY_THRESHOLD
from mwzeval.multiwoz.predictions import Dialogues
from mwzeval.multiwoz.scoring import DST_THRESHOLD, Scorer, Sources
from mwzeval.score import Score, Signature
from mwzeval.table import Table
from mwzeval.version import SCORING_REVISION, __version__

LABELS = {
    "entropy": ("Entropy (bits)", 2),
    "cond_entropy": ("Conditional entropy (bits)", 2),
    "avg_lengths": ("Words per turn", 2),
    "msttr": ("MSTTR-50", 3),
    "num_unigrams": ("Distinct unigrams", 0),
    "num_bigrams": ("Distinct bigrams", 0),
    "num_trigrams": ("Distinct trigrams", 0),
    "joint_accuracy": ("Joint accuracy", 1),
    "slot_f1": ("Slot F1", 1),
    "slot_precision": ("Slot precision", 3),
    "slot_recall": ("Slot recall", 3),
}
"""How the numbers of richness and state tracking are called, and their customary decimals."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Which metrics are asked for."""

    bleu: bool = False
    success: bool = False
    richness: bool = False
    dst: bool = False

    @property
    def need_responses(self) -> bool:
        """Whether any of them looks at responses; a run for state tracking alone does not."""
        return self.bleu or self.success or self.richness


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What scoring has found: additive rows, and richness, which is not additive."""

    scorer: Scorer
    metrics: Metrics
    sources: Sources
    table: Table
    richness: Richness

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
        rows = []
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
        return cls(scorer, metrics, sources, Table.from_rows(columns, rows), richness)

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

    def scores(self) -> tuple[Score, ...]:
        """Return every number, unrounded, with its signature."""
        sums = self.table.sums()
        n = len(self.table.units)
        scores: list[Score] = []
        if self.metrics.success:
            for what, label in (("inform", "Inform"), ("success", "Success")):
                signature = self._signature(what)
                for scope, rate in self.scorer.goal_success.rates(what, sums).items():
                    of = int(sums[f"goals.{scope}"])
                    scores.append(Score(what, label, rate, of, signature, 1, scope))
        if self.metrics.bleu:
            for name, value in self._bleu(sums).items():
                signature = self._signature("bleu", name)
                scores.append(Score(f"bleu.{name}", f"BLEU ({name})", value, n, signature))
        plain: list[tuple[str, Mapping[str, Any]]] = []
        if self.metrics.richness:
            plain.append(("richness", self.richness.scores()))
        if self.has_dst:
            plain.append(("dst", self.scorer.state_tracking.scores(sums)))
        for metric, numbers in plain:
            signature = self._signature(metric)
            for name, value in numbers.items():
                label, places = LABELS[name]
                scores.append(Score(f"{metric}.{name}", label, float(value), n, signature, places))
        return tuple(scores)

    def _signature(self, metric: str, reference_set: str | None = None) -> Signature:
        gold = self.scorer.gold
        choices: dict[str, object] = {
            "corpus": f"{gold.corpus}@{gold.checksum}",
            "fold": gold.fold,
            "n": len(self.table.units),
        }
        if metric in ("inform", "success"):
            choices["state"] = "predicted" if self.sources.predicted_states else "gold"
            choices["domains"] = "predicted" if self.sources.predicted_domains else "estimated"
            choices["rules"] = self.scorer.rules
            choices["fuzzy"] = FUZZY_THRESHOLD
        elif metric == "dst":
            choices["rules"] = self.scorer.rules
            choices["fuzzy"] = f">{DST_THRESHOLD}"
        elif metric == "bleu":
            choices |= {"references": reference_set, **BLEU_SIGNATURE}
            choices |= {"moses": version("sacremoses"), "sacrebleu": version("sacrebleu")}
        else:
            choices |= {"msttr": MSTTR_WINDOW, "moses": version("sacremoses")}
        choices |= {"rev": SCORING_REVISION, "version": __version__}
        return Signature.of(metric, choices)
