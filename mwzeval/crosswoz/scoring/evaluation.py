"""Scores predictions: the functions that the command line runs and that scripts import."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mwzeval.benchmark import ScoredFile
from mwzeval.crosswoz import NAME, SCORING_REVISION
from mwzeval.crosswoz.checks import (
    DEFAULT_OPTIONS,
    CheckedPredictions,
    Options,
    check,
    fields_needed,
)
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Exchange
from mwzeval.crosswoz.corpus.folds import SAMPLE, Fold, Gold
from mwzeval.crosswoz.protocols import SYSTEM, USER
from mwzeval.crosswoz.reading import Predicted
from mwzeval.crosswoz.scoring.baselines import (
    CEILING,
    GOLD,
    REFERENCES,
    ceiling_exchanges,
    copied_exchanges,
    gold_exchanges,
)
from mwzeval.crosswoz.scoring.scores import (
    NluScores,
    PolicyScores,
    SimulatorScores,
    StateScores,
    TrackScores,
)
from mwzeval.crosswoz.scoring.success import EndToEndScores, goal_facts
from mwzeval.crosswoz.scoring.text_scores import FIELD_OF, TextScores
from mwzeval.crosswoz.tracks import (
    DST,
    END_TO_END,
    GOLD_PREVIOUS_STATE,
    NLU,
    POLICY,
    SIMULATOR,
    SYSTEM_ACTS,
    SYSTEM_ACTS_NLU,
    TRACKS,
    Track,
)
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.libraries import no_garbage_collection
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable
from mwzeval.scores.explanation import Explanation, TurnView, Utterance
from mwzeval.scores.findings import Findings
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Score, Signature
from mwzeval.scores.table import Table
from mwzeval.version import __version__, versions

ALIASES = {"nlu": "nlu.f1", "policy": "policy.f1", "dst": "dst.joint_single_turn"}
"""Short names of scores for gates."""
SAMPLE_NOTE = "The sample describes a fictional town: these are not CrossWOZ scores."
"""The note that is shown whenever the embedded sample was scored."""
MAIN_SCOPES = (WHOLE, USER, SYSTEM)
"""The scopes in which the scores of baselines are shown next to those of a system."""
Source = Callable[[Dialogue], Sequence[Predicted]]
"""A function that returns the predictions for a dialogue."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPredictions(ScoredFile):
    """Scored predictions: their tracks, rows and measures.

    `scores` has the scores of the tracks; texts are scored for each side separately.
    """

    checked: CheckedPredictions
    scores: tuple[TrackScores, ...]
    scored_table: ScoredTable

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The warnings: problems that did not prevent scoring."""
        return self.checked.warnings

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the scores with their signatures and rows, and intervals if requested.

        The report also has the scores of the baselines, with names such as
        `gold.dst.joint_single_turn`.
        """
        beside = self.reference_scores()
        of_baselines = [
            replace(score, name=f"{baseline}.{score.name}", label=f"{score.label}, {text}")
            for baseline, text in REFERENCES.items()
            for score in beside.get(baseline, ())
        ]
        scores = self.scored_table.scores(resampling)
        return Report(
            metrics=plain_metrics(scores, beside),
            scores=(*scores, *of_baselines),
            table=self.scored_table.table,
            warnings=self.warnings,
            meta=_meta(self.checked),
            benchmark=NAME,
            references=REFERENCES,
            aliases=ALIASES,
        )

    def reference_scores(self) -> dict[str, tuple[Score, ...]]:
        """Return the main scores of each baseline on the same dialogues."""
        found = {}
        for baseline in REFERENCES:
            kept: list[Score] = []
            for scores in self.scores:
                source = _baseline(baseline, self.checked, scores)
                if source is not None:
                    kept += [
                        score
                        for score in _scored_table(self.checked, [scores], source).scores()
                        if score.name in scores.main and score.scope in MAIN_SCOPES
                    ]
            if kept:
                found[baseline] = tuple(kept)
        return found

    def explain(self, unit: str) -> Explanation:
        """Return the outcomes of a dialogue. Raises `UsageError` for an unknown dialogue."""
        if unit not in self.checked.units:
            hint = did_you_mean(unit, self.checked.units)
            raise UsageError(f'no dialogue "{shorten(unit)}" was scored{hint}')
        gold = self.checked.gold.fold.dialogues[unit]
        predicted = self.checked.predictions.dialogues[unit]
        found = (of_track.explain(gold, predicted) for of_track in self.scores)
        parts = [part for part in found if part is not None]
        return Explanation(
            unit=unit,
            outcomes={WHOLE: {k: v for part in parts for k, v in part.outcomes.items()}},
            goal=tuple(goal_facts(gold.goal_type, gold.goal)),
            turns=tuple(
                TurnView(
                    _utterances(*turn), tuple(fact for part in parts for fact in part.facts[n])
                )
                for n, turn in enumerate(zip(gold.exchanges, predicted, strict=True))
            ),
            reasons=tuple(reason for part in parts for reason in part.reasons),
        )


def _utterances(exchange: Exchange, predicted: Predicted) -> tuple[Utterance, ...]:
    response = predicted.response
    return (
        Utterance("user", exchange.user.utterance),
        *(() if response is None else (Utterance("system", response),)),
        Utterance("reference", exchange.system.utterance),
    )


def evaluate(
    predictions: Any,
    gold: Gold | Fold,
    options: Options = DEFAULT_OPTIONS,
    *,
    file: str | None = None,
) -> ScoredPredictions:
    """Return the scores of `predictions`, a file name or the content of a predictions file.

    `gold` has the correct answers, and `options` choose the tracks and the rules. Messages call the
    input `file`. Raises `InputError` with all problems if the predictions cannot be scored.
    """
    checked, findings = _checked(predictions, gold, options, file)
    findings.check()
    assert checked is not None, "predictions that cannot be checked must have an error"
    return score(checked)


def validate(
    predictions: Any,
    gold: Gold | Fold,
    options: Options = DEFAULT_OPTIONS,
    *,
    file: str | None = None,
) -> list[Problem]:
    """Return all problems of predictions, errors first, instead of raising an exception.

    `evaluate` describes the parameters.
    """
    try:
        return _checked(predictions, gold, options, file)[1].problems
    except InputError as error:
        return list(error.problems)


def _checked(
    predictions: Any, gold: Gold | Fold, options: Options, file: str | None
) -> tuple[CheckedPredictions | None, Findings]:
    if file is None and isinstance(predictions, str | Path):
        file = str(predictions)
    findings = Findings(file, options.lenient, options.strict)
    gold = Gold(gold) if isinstance(gold, Fold) else gold
    return check(predictions, gold, options, findings), findings


def score(checked: CheckedPredictions) -> ScoredPredictions:
    """Return the scores of checked predictions."""
    dialogues = checked.predictions.dialogues
    scores = tuple(part for track in checked.tracks for part in _scores_of(track, checked))
    with no_garbage_collection():
        scored = _scored_table(checked, scores, lambda gold: dialogues[gold.name])
    return ScoredPredictions(checked, scores, scored)


def _scores_of(track: Track, checked: CheckedPredictions) -> list[TrackScores]:
    """Return the objects that score checked predictions in a track."""
    needed, gold = fields_needed(checked.predictions, track), checked.gold
    if track is NLU:
        return [NluScores((USER, SYSTEM) if SYSTEM_ACTS_NLU in needed else (USER,))]
    if track is DST:
        assert checked.conditioning is not None, "checked before"
        return [StateScores(checked.conditioning)]
    if track is POLICY:
        return [PolicyScores(gold.database)]
    if track is SIMULATOR:
        return [SimulatorScores()]
    if track is END_TO_END:
        outcomes = EndToEndScores(gold.database, by_acts=SYSTEM_ACTS in needed)
        return [outcomes, TextScores(gold.fold.dialogues, SYSTEM, track.name)]
    sides = [side for side, field in FIELD_OF.items() if field in needed]
    return [TextScores(gold.fold.dialogues, side) for side in sides]


def _baseline(baseline: str, checked: CheckedPredictions, scores: TrackScores) -> Source | None:
    """Return the predictions of a `baseline` (a name in `REFERENCES`).

    They have the same conditioning as the system's predictions and all fields that `scores` needs.
    The result is None if the baseline is not defined for these scores.
    """
    if baseline == CEILING:
        if not isinstance(scores, PolicyScores):
            return None
        return partial(ceiling_exchanges, vocabulary=checked.gold.system_vocabulary)
    if baseline == GOLD:
        return gold_exchanges
    own = isinstance(scores, StateScores) and checked.conditioning != GOLD_PREVIOUS_STATE
    return partial(copied_exchanges, own_states=own)


def _scored_table(
    checked: CheckedPredictions, scores: Sequence[TrackScores], source: Source
) -> ScoredTable:
    """Return the rows of the dialogues and the measures over them, track by track.

    `source` returns the predictions for a dialogue. Raises `DependencyError` if texts are scored
    and jieba is not installed.
    """
    fold = checked.gold.fold
    common = {
        "corpus": f"{checked.gold.corpus}@{fold.checksum}",
        "fold": fold.name,
        "n": len(checked.units),
    }
    versions = {"rev": SCORING_REVISION, "version": __version__}

    def sign(metric: str, choices: Mapping[str, object]) -> Signature:
        return Signature.of(metric, {**common, **choices, **versions})

    predicted = {name: source(fold.dialogues[name]) for name in checked.units}
    rows: dict[str, dict[str, float]] = {name: {} for name in predicted}
    for of_track in scores:
        for name, row in of_track.rows(fold.dialogues, predicted).items():
            rows[name].update(row)
    columns = tuple(column for of_track in scores for column in of_track.columns)
    table = Table.from_rows(columns, rows.items())
    sums = table.sums()
    measures: list[Measure] = []
    for of_track in scores:
        measures += of_track.measures(sign, sums)
    return ScoredTable(table, tuple(measures))


def plain_metrics(scores: Sequence[Score], beside: Mapping[str, Sequence[Score]]) -> dict[str, Any]:
    """Return the scores in percent as plain values, track → score → scope → value.

    `beside` maps each baseline to its scores on the same dialogues.
    """
    plain: dict[str, Any] = dict.fromkeys(TRACKS)
    for result in scores:
        track, _, name = result.name.partition(".")
        plain[track] = plain.get(track) or {}
        plain[track].setdefault(name, {})[result.scope] = result.value
    plain["beside"] = {
        baseline: {
            score.name if score.scope == WHOLE else f"{score.name} {score.scope}": score.value
            for score in results
        }
        for baseline, results in beside.items()
    }
    return plain


def _meta(checked: CheckedPredictions) -> dict[str, Any]:
    fold, header = checked.gold.fold, checked.predictions.header
    vocabulary = checked.gold.system_vocabulary
    ceiling = "all gold acts" if vocabulary is None else f"gold acts of {len(vocabulary)} kinds"
    return {
        "corpus": checked.gold.corpus,
        "unit": "dialogue",
        "note": SAMPLE_NOTE if fold.revision == SAMPLE else None,
        "fold": fold.name,
        "sources": fold.checksum,
        "tracks": [track.name for track in checked.tracks],
        "conditioning": checked.conditioning if DST in checked.tracks else None,
        "ceiling": ceiling if POLICY in checked.tracks else None,
        "system": header.system,
        "seed": header.seed,
        "said": dict(header.more) or None,
        "coverage": {
            "dialogues": {"scored": len(checked.units), "of": len(fold.dialogues)},
            "exchanges": {
                "scored": sum(len(fold.dialogues[name].exchanges) for name in checked.units),
                "of": sum(len(dialogue.exchanges) for dialogue in fold.dialogues.values()),
            },
        },
        "versions": versions(SCORING_REVISION),
    }
