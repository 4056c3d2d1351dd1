"""The rows of scored dialogues, and the measures over their sums.

Functions of measures have a place in a module, so that they can be sent to other processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.bleu import SIGNATURE as BLEU_SIGNATURE
from mwzeval.metrics.bleu import tokenize as segment
from mwzeval.metrics.measure import Measure, ScoredTable, percentage
from mwzeval.metrics.types import TypeCounts
from mwzeval.multiwoz import SCORING_REVISION
from mwzeval.multiwoz.corpus import References
from mwzeval.multiwoz.database import FUZZY_THRESHOLD
from mwzeval.multiwoz.grounding.scores import CHOICES as GROUNDED_CHOICES
from mwzeval.multiwoz.grounding.scores import (
    Computed,
    grounded_columns,
    grounded_measures,
    grounded_view,
)
from mwzeval.multiwoz.predictions.reading import Dialogues, spelling
from mwzeval.multiwoz.scoring.goal_success import GOAL_SUCCESS, goal_row
from mwzeval.multiwoz.scoring.richness import (
    MSTTR_WINDOW,
    RICHNESS_COLUMNS,
    DialogueWords,
    Richness,
    richness_rows,
    tokenize,
)
from mwzeval.multiwoz.scoring.scorer import Scorer, Sources
from mwzeval.multiwoz.tracking.joint_goals import DST_COLUMNS, Confusion, JointGoals, dst_measures
from mwzeval.multiwoz.tracking.states import DST_THRESHOLD, Convention
from mwzeval.scores.score import WHOLE, Score, Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import ScoreFunction, Sums
from mwzeval.version import __version__, library_version

FOLDED = "all"
"""The unit of the one row that is left of many."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics that are requested."""

    bleu: bool = False
    success: bool = False
    richness: bool = False
    dst: bool = False
    dst_rules: tuple[Convention, ...] = ()
    grounded: bool = False

    @property
    def tracking(self) -> bool:
        """Whether state tracking is scored, under any rule."""
        return self.dst or bool(self.dst_rules)

    @property
    def need_responses(self) -> bool:
        """Whether responses are scored; state tracking alone does without."""
        return not self.tracking or replace(self, dst=False, dst_rules=()) != Metrics()


@dataclass(slots=True, eq=False)
class Rows:
    """The rows of scored dialogues, and what is not additive: richness and confusions.

    `words` are those of each dialogue; `confusions` are the wrong values of state tracking by rule,
    each with its number of turns.
    """

    metrics: Metrics
    sources: Sources
    table: Table
    turns: int
    richness: Richness
    confusions: Mapping[str, Counter[Confusion]]
    words: Sequence[DialogueWords] = ()

    @classmethod
    def of(
        cls,
        scorer: Scorer,
        dialogues: Dialogues,
        metrics: Metrics,
        sources: Sources,
        names: Iterable[str] | None = None,
    ) -> Rows:
        """Score checked dialogues, in the order of `names` (default: their own).

        State tracking needs predicted states; without them it is not scored.
        """
        columns: tuple[str, ...] = ()
        if metrics.success:
            columns += GOAL_SUCCESS.columns
        has_dst = metrics.dst and sources.predicted_states
        if has_dst:
            columns += DST_COLUMNS
        rules = scorer.joint_goals if sources.predicted_states else ()
        columns += tuple(column for rule in rules for column in rule.columns)
        if metrics.bleu:
            columns += tuple(column for bleu in scorer.bleus.values() for column in bleu.columns)
        if metrics.grounded:
            columns += grounded_columns(scorer.delexicalizes(sources))
        if metrics.richness:
            columns += RICHNESS_COLUMNS
        confusions = {rule.name: Counter[Confusion]() for rule in rules}
        segments: list[tuple[str, list[str]]] = []
        words: list[DialogueWords] = []
        rows: list[tuple[str, dict[str, float]]] = []
        need_normalizing = replace(metrics, dst_rules=()) != Metrics()
        for name in dialogues if names is None else names:
            row: dict[str, float] = {}
            rows.append((name, row))
            turns = dialogues[name]
            for rule in rules:
                in_corpus = scorer.gold.name_of(name)
                states = rule.states(in_corpus, scorer.gold.dialogues[in_corpus], turns)
                row.update(rule.row(states, confusions[rule.name]))
            if not need_normalizing:
                continue
            dialogue = scorer.normalize(name, turns, sources)
            if metrics.success:
                row.update(goal_row(scorer.outcome(dialogue)))
            if has_dst:
                row.update(scorer.state_row(dialogue))
            if metrics.grounded:
                row.update(scorer.grounded_row(dialogue, turns, sources))
            if metrics.bleu or metrics.richness:
                responses = dialogue.responses
                if metrics.richness:
                    words.append([tokenize(response) for response in responses])
                if metrics.bleu:
                    segments.append((dialogue.name, [segment(text) for text in responses]))
        for bleu in scorer.bleus.values() if metrics.bleu else ():
            for (_, row), counts in zip(rows, bleu.rows(segments), strict=True):
                row.update(counts)
        for (_, row), counts in zip(rows, richness_rows(words), strict=False):
            row.update(counts)
        richness = Richness()
        richness.update(words)
        table = Table.from_rows(columns, rows)
        number = sum(len(dialogues[name]) for name, _ in rows)
        return cls(metrics, sources, table, number, richness, confusions, words)

    def folded(self) -> Rows:
        """Return a copy whose table has one row, the sums."""
        richness = Richness()
        richness.merge(self.richness)
        confusions = {rule: Counter(counts) for rule, counts in self.confusions.items()}
        table = self.table.folded_into(FOLDED)
        return replace(self, table=table, richness=richness, confusions=confusions, words=())

    def merge(self, later: Rows) -> None:
        """Add the sums of rows that come after these, which are folded."""
        self.table = (self.table + later.table).folded_into(FOLDED)
        self.turns += later.turns
        self.richness.merge(later.richness)
        for rule, counts in later.confusions.items():
            self.confusions[rule].update(counts)

    def with_windows(self) -> Rows:
        """Return the folded rows of a whole input with its windows of MSTTR, which no part knew."""
        values = self.table.values.copy()
        for column, total in self.richness.totals().items():
            if column in self.table.columns:
                values[:, self.table.columns.index(column)] = total
        return replace(self, table=replace(self.table, values=values))

    @property
    def has_dst(self) -> bool:
        """Whether state tracking was scored: requested, and states predicted."""
        return self.metrics.dst and self.sources.predicted_states

    def computed(self, scorer: Scorer, sums: Mapping[str, float]) -> Computed:
        """Return which grounded scores can be computed."""
        return Computed.of(
            sums,
            lexicalized=scorer.delexicalizes(self.sources),
            predicted_states=self.sources.predicted_states,
        )


def scored_table(scorer: Scorer, rows: Rows) -> ScoredTable:
    """Return rows with all their measures, in the order of a report."""
    table, metrics = rows.table, rows.metrics
    sums, sign = table.sums(), cache(partial(signature, scorer, rows))
    measures: list[Measure] = []
    if metrics.success:
        measures += GOAL_SUCCESS.measures(sums, sign)
    if metrics.bleu:
        measures += _bleu_and_combined(scorer, rows)
    if rows.has_dst:
        measures += dst_measures(sign("dst"))
    if rows.sources.predicted_states:
        for rule in scorer.joint_goals:
            of_rule = cache(partial(signature, scorer, rows, "dst", None, rule))
            measures += rule.measures(of_rule, sums)
    if metrics.grounded:
        measures += grounded_measures(rows.computed(scorer, sums), sums, sign)
    if not metrics.richness:
        return ScoredTable(table, tuple(measures))
    measures += rows.richness.measures(sign("richness"))
    return ScoredTable(table, tuple(measures), partial(_count_types, table.units, rows.words))


def _count_types(units: Sequence[str], dialogues: Sequence[DialogueWords]) -> TypeCounts:
    return TypeCounts.of(zip(units, dialogues, strict=True))


def _bleu_and_combined(scorer: Scorer, rows: Rows) -> Iterator[Measure]:
    for name, references in scorer.reference_sets.items():
        yield from scorer.bleus[name].measures(signature(scorer, rows, "bleu", references))
    own = scorer.reference_sets.get(scorer.gold.reference_set)
    if rows.metrics.success and own is not None:
        combined = partial(_combined, scorer.bleus[own.name].of)
        signed = signature(scorer, rows, "combined", own)
        yield Measure("combined", "Combined", signed, combined, unit="points")


def _combined(bleu: ScoreFunction, sums: Sums) -> NDArray[np.float64]:
    """Return (Inform + Success) / 2 + BLEU, the leaderboard's combined score.

    Source: Mehri et al., "Structured Fusion Networks for Dialog", SIGDIAL 2019.
    """
    inform, success = (
        percentage(f"{name}.{WHOLE}", of=f"goals.{WHOLE}")(sums) for name in ("inform", "success")
    )
    return (inform + success) / 2 + bleu(sums)


RICHNESS = (
    *("entropy", "cond_entropy", "avg_lengths", "msttr"),
    *("num_unigrams", "num_bigrams", "num_trigrams"),
)
# In the units of the original evaluator.
STATE_TRACKING = {"joint_accuracy": 1, "slot_f1": 1, "slot_precision": 100, "slot_recall": 100}


def plain_metrics(scorer: Scorer, rows: Rows, scores: Iterable[Score]) -> dict[str, Any]:
    """Return the scores as the JSON report has them, unrounded; None for what is not computed."""
    metrics, sums = rows.metrics, rows.table.sums()
    values: dict[str, dict[str, float]] = {}
    for score in scores:
        # What is shown without decimals is a count.
        value = score.value if score.places else int(score.value)
        values.setdefault(score.name, {})[score.scope] = value

    def whole(metric: str, names: Iterable[str]) -> dict[str, float]:
        return {name: values[f"{metric}.{name}"][WHOLE] for name in names}

    plain: dict[str, Any] = dict.fromkeys(("bleu", "success", "richness", "dst"))
    if metrics.bleu:
        plain["bleu"] = whole("bleu", scorer.bleus)
    if metrics.success:
        plain["success"] = {name: values.get(name, {}) for name in ("inform", "success")}
    if metrics.richness:
        plain["richness"] = whole("richness", RICHNESS)
    if rows.has_dst:
        percent = whole("dst", STATE_TRACKING)
        plain["dst"] = {name: value / STATE_TRACKING[name] for name, value in percent.items()}
    if metrics.dst_rules:
        plain["dst_rules"] = None
        if rows.sources.predicted_states:
            plain["dst_rules"] = {
                rule.name: rule.view(values, sums, rows.confusions.get(rule.name, Counter()))
                for rule in scorer.joint_goals
            }
    if metrics.grounded:
        plain["grounded"] = grounded_view(rows.computed(scorer, sums), sums, values)
    return plain


def signature(
    scorer: Scorer,
    rows: Rows,
    metric: str,
    references: References | None = None,
    rule: JointGoals | None = None,
    score: str = "",
) -> Signature:
    """Return everything that was chosen and moves the scores of a metric.

    Under a rule of state tracking scores have signatures of their own, by their names.
    """
    sources = rows.sources
    choices: dict[str, object] = {
        "corpus": f"{scorer.gold.corpus}@{scorer.gold.checksum}",
        "fold": scorer.gold.fold,
        "n": rows.table.count,
        "turns": rows.turns,
    }
    if scorer.gold.rollouts:
        choices["rollouts"] = "yes"
    if scorer.unfilled:
        choices["unfilled"] = ",".join(map(spelling, scorer.unfilled))
    if scorer.tools is not None:
        choices["tools"] = scorer.tools
    if metric in ("inform", "success", "combined", *GROUNDED_CHOICES):
        choices["state"] = "predicted" if sources.predicted_states else "gold"
        if metric == "booking":
            choices["bookings"] = rows.computed(scorer, rows.table.sums()).bookings
        else:
            choices["domains"] = "predicted" if sources.predicted_domains else "estimated"
        choices |= {"rules": scorer.rules, "fuzzy": FUZZY_THRESHOLD}
        choices |= GROUNDED_CHOICES.get(metric, {})
    if metric not in ("dst", "booking"):
        choices["responses"] = scorer.kind(sources)
        if scorer.delexicalizes(sources):
            choices["rapidfuzz"] = library_version("rapidfuzz")
    if rule is not None:
        choices |= rule.choices(score)
    elif metric == "dst":
        choices |= {"rules": scorer.rules, "fuzzy": f">{DST_THRESHOLD}"}
    if "fuzzy" in choices and rule is None:
        choices["levenshtein"] = library_version("python-Levenshtein")
    if references is not None:
        choices |= {"references": f"{references.name}@{references.checksum}", **BLEU_SIGNATURE}
        choices["sacrebleu"] = library_version("sacrebleu")
    if metric == "richness":
        choices |= {"msttr": MSTTR_WINDOW, "lexdiv": library_version("lexical-diversity")}
    if metric in ("bleu", "combined", "richness"):
        choices["moses"] = library_version("sacremoses")
    choices |= {"rev": SCORING_REVISION, "version": __version__}
    return Signature.of(metric, choices)
