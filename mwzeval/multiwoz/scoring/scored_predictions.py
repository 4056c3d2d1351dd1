"""Checked predictions and their scores: rows of counts, measures computed from sums of rows,
reports and explanations.

Functions of measures are at module level, so that they can be pickled for other processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import Problem, UsageError
from mwzeval.libraries import no_garbage_collection
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, percentage
from mwzeval.metrics.types import TypeCounts
from mwzeval.multiwoz import AUTO, NAME, SAMPLE, SCORING_REVISION
from mwzeval.multiwoz.census import Census
from mwzeval.multiwoz.corpus import References
from mwzeval.multiwoz.database import FUZZY_THRESHOLD
from mwzeval.multiwoz.grounding.claims import Claim
from mwzeval.multiwoz.grounding.scores import CHOICES as GROUNDED_CHOICES
from mwzeval.multiwoz.grounding.scores import (
    booking_source,
    grounded_columns,
    grounded_measures,
    grounded_view,
)
from mwzeval.multiwoz.plausibility import coverage
from mwzeval.multiwoz.predictions import Dialogues, spelling
from mwzeval.multiwoz.scoring.bleu import SIGNATURE as BLEU_SIGNATURE
from mwzeval.multiwoz.scoring.bleu import tokenize as segment
from mwzeval.multiwoz.scoring.explanation import explain
from mwzeval.multiwoz.scoring.goal_success import GOAL_SUCCESS, goal_row
from mwzeval.multiwoz.scoring.richness import (
    MSTTR_WINDOW,
    RICHNESS_COLUMNS,
    DialogueWords,
    Richness,
    richness_rows,
    tokenize,
)
from mwzeval.multiwoz.scoring.scorer import Metrics, Scorer, Sources
from mwzeval.multiwoz.tracking import (
    DST_COLUMNS,
    DST_THRESHOLD,
    Confusion,
    JointGoals,
    dst_measures,
    with_state_errors,
)
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Score, Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import ScoreFunction, Sums
from mwzeval.version import __version__, library_version

FOLDED = "all"
"""The name of the single row that contains the sums of several rows."""
RICHNESS = (
    *("entropy", "cond_entropy", "avg_lengths", "msttr"),
    *("num_unigrams", "num_bigrams", "num_trigrams"),
)
# In the units of the original evaluator
STATE_TRACKING = {"joint_accuracy": 1, "slot_f1": 1, "slot_precision": 100, "slot_recall": 100}
DEPENDENCIES = (
    *("sacrebleu", "sacremoses", "fuzzywuzzy", "python-Levenshtein"),
    *("lexical-diversity", "numpy"),
)
SAMPLE_NOTE = "The sample corpus describes a fictional town: these are not MultiWOZ scores."


@dataclass(slots=True, eq=False)
class Rows:
    """The rows of scored dialogues, and the data for scores that are not sums: richness and
    confusions.

    `words` are the words of each dialogue. `confusions` has, for each state tracking rule, the
    wrong values and their numbers of turns.
    """

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
        sources: Sources,
        names: Iterable[str] | None = None,
    ) -> Rows:
        """Score checked dialogues in the order of `names` (default: their own order).

        State tracking is only scored if states are predicted.
        """
        metrics = scorer.metrics
        has_dst = metrics.dst and sources.predicted_states
        rules = scorer.joint_goals if sources.predicted_states else ()
        bleus = scorer.bleus.values() if metrics.bleu else ()
        columns = (
            *(GOAL_SUCCESS.columns if metrics.success else ()),
            *(DST_COLUMNS if has_dst else ()),
            *(column for rule in rules for column in rule.columns),
            *(column for bleu in bleus for column in bleu.columns),
            *(grounded_columns(sources.lexicalized) if metrics.grounded else ()),
            *(RICHNESS_COLUMNS if metrics.richness else ()),
        )
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
        for counts in (*(bleu.rows(segments) for bleu in bleus), richness_rows(words)):
            for (_, row), more in zip(rows, counts, strict=False):
                row.update(more)
        richness = Richness([turn for dialogue in words for turn in dialogue])
        number = sum(len(dialogues[name]) for name, _ in rows)
        return cls(sources, Table.from_rows(columns, rows), number, richness, confusions, words)

    def folded(self) -> Rows:
        """Return a copy whose table has only one row, which contains the sums."""
        richness = Richness()
        richness.merge(self.richness)
        confusions = {rule: Counter(counts) for rule, counts in self.confusions.items()}
        table = self.table.folded_into(FOLDED)
        return replace(self, table=table, richness=richness, confusions=confusions, words=())

    def merge(self, later: Rows) -> None:
        """Add the sums of a later part of the input to the sums of this part."""
        self.table = (self.table + later.table).folded_into(FOLDED)
        self.turns += later.turns
        self.richness.merge(later.richness)
        for rule, counts in later.confusions.items():
            self.confusions[rule].update(counts)

    def with_windows(self) -> Rows:
        """Return the summed rows of an input, with the MSTTR windows of the whole input."""
        values = self.table.values.copy()
        for column, total in self.richness.totals().items():
            if column in self.table.columns:
                values[:, self.table.columns.index(column)] = total
        return replace(self, table=replace(self.table, values=values))


@dataclass(eq=False)
class ScoredPredictions:
    """Checked predictions with their scorer, their counts and the warnings.

    Rows and measures are computed when they are first needed. If an input is scored in parts,
    `dialogues` is empty, because only sums are stored. If `resampling` is given, the scores in
    reports have intervals.
    """

    dialogues: Dialogues
    scorer: Scorer
    census: Census
    warnings: tuple[Problem, ...] = ()
    resampling: Resampling | None = None

    @cached_property
    def sources(self) -> Sources:
        """The sources of the states and active domains."""
        return Sources.of_census(self.census, self.scorer.responses)

    @cached_property
    def rows(self) -> Rows:
        """The rows of counts, with one row per dialogue."""
        return Rows.of(self.scorer, self.dialogues, self.sources)

    def with_rows(self, rows: Rows) -> ScoredPredictions:
        """Return a copy that contains the given rows, which were computed separately."""
        other = replace(self)
        other.rows = rows
        return other

    @cached_property
    def scored_table(self) -> ScoredTable:
        """The rows of counts with all measures that are computed from them."""
        table, words = self.rows.table, self.rows.words
        measures = tuple(self.measures())
        if not self.scorer.metrics.richness:
            return ScoredTable(table, measures)
        return ScoredTable(table, measures, partial(_count_types, table.units, words))

    def measures(self) -> Iterator[Measure]:
        """Yield all measures, in the order of a report."""
        scorer, rows, metrics = self.scorer, self.rows, self.scorer.metrics
        sums, sign = rows.table.sums(), cache(self._signature)
        if metrics.success:
            yield from GOAL_SUCCESS.measures(sums, sign)
        for name, references in scorer.reference_sets.items() if metrics.bleu else ():
            yield from scorer.bleus[name].measures(self._signature("bleu", references))
        own = scorer.reference_sets.get(scorer.gold.reference_set)
        if metrics.bleu and metrics.success and own is not None:
            combined = partial(_combined, scorer.bleus[own.name].of)
            signed = self._signature("combined", own)
            yield Measure("combined", "Combined", signed, combined, unit="points")
        if metrics.dst and rows.sources.predicted_states:
            yield from dst_measures(sign("dst"))
        for rule in scorer.joint_goals if rows.sources.predicted_states else ():
            yield from rule.measures(partial(sign, "dst", None, rule), sums)
        if metrics.grounded:
            yield from grounded_measures(sums, sign, bookings=self._booking_source(sums))
        if metrics.richness:
            yield from rows.richness.measures(sign("richness"))

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the report; intervals use `resampling` or else the setting of the evaluator."""
        scorer, gold = self.scorer, self.scorer.gold
        with no_garbage_collection():
            scores = self.scored_table.scores(resampling or self.resampling)
        return Report(
            metrics=self._plain(scores),
            scores=scores,
            table=self.scored_table.table,
            warnings=self.warnings,
            meta={
                "corpus": gold.corpus,
                "note": SAMPLE_NOTE if gold.corpus == SAMPLE else None,
                "fold": gold.fold,
                "sources": gold.checksum,
                "rules": scorer.rules,
                "responses": {
                    "taken_as": self.rows.sources.kind,
                    "said": scorer.responses != AUTO,
                    **self.census.wording._asdict(),
                },
                "coverage": coverage(self.census, gold),
                "versions": {name: library_version(name) for name in DEPENDENCIES}
                | {"mwzeval": __version__, "scoring_revision": SCORING_REVISION},
            },
            benchmark=NAME,
            aliases={"bleu": f"bleu.{scorer.gold.reference_set}"},
        )

    def units(self) -> Sequence[str]:
        """Return the ids of the dialogues, in order."""
        return tuple(self.dialogues)

    def explain(self, unit: str) -> Explanation:
        """Return the explanation of a dialogue. Raises `KeyError` for an unknown id."""
        turns, metrics = self.dialogues[unit], self.scorer.metrics
        explanation = explain(self.scorer, self.scorer.normalize(unit, turns, self.sources), turns)
        if metrics.tracking and self.sources.predicted_states:
            tracked = self.scorer.tracked(explanation.unit, turns)
            return with_state_errors(explanation, *tracked, alone=not self._with_responses)
        return (
            explanation if self._with_responses else replace(explanation, outcomes={}, reasons=())
        )

    def explain_all(self) -> Iterator[Explanation]:
        """Yield the explanation of every dialogue.

        If state tracking is scored, the explanation of a turn shows the errors in its state. If
        only state tracking is scored, for example because there are no responses, the outcomes and
        failure reasons are those of state tracking.
        """
        return map(self.explain, self.units())

    def claims(self) -> Iterator[tuple[str, Claim]]:
        """Yield (dialogue id, claim) for all claims of lexicalized responses.

        Raises `UsageError` if responses were read as delexicalized.
        """
        if not self.sources.lexicalized:
            raise UsageError(
                "claims need lexicalized responses, but these responses were read as "
                "delexicalized (use --responses lexicalized to change this)"
            )
        for unit, turns in self.dialogues.items():
            dialogue = self.scorer.normalize(unit, turns, self.sources)
            for claim in self.scorer.words(dialogue).claims:
                yield unit, claim

    @cached_property
    def _with_responses(self) -> bool:
        return self.scorer.metrics.need_responses and any(
            turn.response is not None for turns in self.dialogues.values() for turn in turns
        )

    def _booking_source(self, sums: Mapping[str, float]) -> str | None:
        return booking_source(sums, predicted_states=self.rows.sources.predicted_states)

    def _plain(self, scores: Iterable[Score]) -> dict[str, Any]:
        """Return the unrounded scores in the form of the JSON report; missing scores are None."""
        scorer, rows, metrics = self.scorer, self.rows, self.scorer.metrics
        sums = rows.table.sums()
        values: dict[str, dict[str, float]] = {}
        for score in scores:
            # Scores with no decimals are counts.
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
        if metrics.dst and rows.sources.predicted_states:
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
            bookings = self._booking_source(sums)
            plain["grounded"] = grounded_view(sums, values, bookings=bookings)
        return plain

    def _signature(
        self,
        metric: str,
        references: References | None = None,
        rule: JointGoals | None = None,
        score: str = "",
    ) -> Signature:
        """Return the signature of a metric, which contains all choices that affect its scores.

        Scores of state tracking have separate signatures, which depend on `rule` and `score`.
        """
        scorer, rows, sources = self.scorer, self.rows, self.rows.sources
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
                choices["bookings"] = self._booking_source(rows.table.sums())
            else:
                choices["domains"] = "predicted" if sources.predicted_domains else "estimated"
            choices |= {"rules": scorer.rules, "fuzzy": FUZZY_THRESHOLD}
            choices |= GROUNDED_CHOICES.get(metric, {})
        if metric not in ("dst", "booking"):
            choices["responses"] = sources.kind
            if sources.lexicalized:
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


def _count_types(units: Sequence[str], dialogues: Sequence[DialogueWords]) -> TypeCounts:
    return TypeCounts.of(zip(units, dialogues, strict=True))


def _combined(bleu: ScoreFunction, sums: Sums) -> NDArray[np.float64]:
    """Return (Inform + Success) / 2 + BLEU, the leaderboard's combined score.

    Source: Mehri et al., "Structured Fusion Networks for Dialog", SIGDIAL 2019.
    """
    inform, success = (
        percentage(f"{name}.{WHOLE}", of=f"goals.{WHOLE}")(sums) for name in ("inform", "success")
    )
    return (inform + success) / 2 + bleu(sums)
