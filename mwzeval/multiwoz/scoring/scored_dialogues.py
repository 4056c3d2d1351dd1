"""All chosen metrics over checked dialogues: their rows, and what is not additive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mwzeval.metrics.bleu import tokenize as segment
from mwzeval.multiwoz.grounding.scores import Computed, grounded_columns
from mwzeval.multiwoz.predictions.reading import Dialogues
from mwzeval.multiwoz.scoring.goal_success import GOAL_SUCCESS, goal_row
from mwzeval.multiwoz.scoring.richness import (
    RICHNESS_COLUMNS,
    DialogueWords,
    Richness,
    richness_rows,
    tokenize,
)
from mwzeval.multiwoz.scoring.scorer import Scorer, Sources
from mwzeval.multiwoz.tracking.conventions import Convention
from mwzeval.multiwoz.tracking.joint_goals import DST_COLUMNS, Confusion
from mwzeval.scores.table import Table


@dataclass(frozen=True, slots=True)
class Metrics:
    """Which metrics are asked for."""

    bleu: bool = False
    success: bool = False
    richness: bool = False
    dst: bool = False
    dst_rules: tuple[Convention, ...] = ()
    grounded: bool = False

    @property
    def need_normalizing(self) -> bool:
        """Whether dialogues are looked at in normal form, which `dst_rules` do for themselves."""
        return replace(self, dst_rules=()) != Metrics()

    @property
    def tracking(self) -> bool:
        """Whether state tracking is asked for, under whichever rule."""
        return self.dst or bool(self.dst_rules)

    @property
    def need_responses(self) -> bool:
        """Whether responses are looked at; only a run for state tracking alone does without."""
        return not self.tracking or replace(self, dst=False, dst_rules=()) != Metrics()


@dataclass(frozen=True, slots=True, eq=False)
class ScoredDialogues:
    """What scoring has found: additive rows, and what is not additive, richness and confusions.

    `confusions` are the wrong values of state tracking by rule, each with its number of turns.
    `words` are those of each dialogue that has a row of its own.
    """

    scorer: Scorer
    metrics: Metrics
    sources: Sources
    table: Table
    richness: Richness
    turns: int
    words: Sequence[DialogueWords] = ()
    confusions: Mapping[str, Counter[Confusion]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        scorer: Scorer,
        dialogues: Dialogues,
        metrics: Metrics,
        *,
        names: Iterable[str] | None = None,
        sources: Sources | None = None,
        is_part: bool = False,
    ) -> ScoredDialogues:
        """Score checked dialogues, in the order of `names` (default: as they come).

        State tracking needs predicted states; without them it is not computed. Without `sources`
        the dialogues themselves decide on these, as those of a whole input do. The rows of a part
        say nothing about windows of MSTTR, which begin where the parts before it end; its words
        are for the accumulator of the input to take.
        """
        sources = sources or Sources.of(dialogues.values())
        columns: tuple[str, ...] = ()
        if metrics.success:
            columns += GOAL_SUCCESS.columns
        if metrics.dst and sources.predicted_states:
            columns += DST_COLUMNS
        rules = scorer.joint_goals if sources.predicted_states else ()
        columns += tuple(column for rule in rules for column in rule.columns)
        confusions = {rule.name: Counter[Confusion]() for rule in rules}
        if metrics.bleu:
            columns += tuple(column for bleu in scorer.bleus.values() for column in bleu.columns)
        if metrics.grounded:
            columns += grounded_columns(scorer.delexicalizes(sources))
        said: list[tuple[str, list[str]]] = []
        words: list[DialogueWords] = []
        if metrics.richness:
            columns += RICHNESS_COLUMNS
        rows: list[tuple[str, dict[str, float]]] = []
        need_normalizing = metrics.need_normalizing
        for name in dialogues if names is None else names:
            row: dict[str, float] = {}
            for rule in rules:
                in_corpus = scorer.gold.name_of(name)
                gold = scorer.gold.dialogues[in_corpus]
                states = rule.states(in_corpus, gold, dialogues[name])
                row.update(rule.row(states, confusions[rule.name]))
            if not need_normalizing:
                rows.append((name, row))
                continue
            dialogue = scorer.normalize(name, dialogues[name], sources)
            if metrics.success:
                row.update(goal_row(scorer.outcome(dialogue)))
            if metrics.dst and sources.predicted_states:
                row.update(scorer.state_row(dialogue))
            if metrics.grounded:
                row.update(scorer.grounded_row(dialogue, dialogues[name], sources))
            if metrics.bleu or metrics.richness:
                responses = dialogue.responses
                if metrics.richness:
                    words.append([tokenize(response) for response in responses])
                if metrics.bleu:
                    said.append((dialogue.name, [segment(response) for response in responses]))
            rows.append((name, row))
        for bleu in scorer.bleus.values() if metrics.bleu else ():
            for (_, row), of_segments in zip(rows, bleu.rows(said), strict=True):
                row.update(of_segments)
        turns = sum(len(dialogues[name]) for name, _ in rows)
        richness = Richness()
        if not is_part:
            richness.update(words)
            for (_, row), of_words in zip(rows, richness_rows(words), strict=False):
                row.update(of_words)
        table = Table.from_rows(columns, rows)
        return cls(scorer, metrics, sources, table, richness, turns, words, confusions)

    @property
    def has_dst(self) -> bool:
        """Whether state tracking was scored: asked for, and states predicted."""
        return self.metrics.dst and self.sources.predicted_states

    def computed(self, sums: Mapping[str, float]) -> Computed:
        """Return which grounded scores can be computed."""
        return Computed.of(
            sums,
            lexicalized=self.scorer.delexicalizes(self.sources),
            predicted_states=self.sources.predicted_states,
        )
