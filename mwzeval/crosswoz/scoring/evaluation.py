"""Predictions in, report out: what the command line runs and what scripts import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mwzeval.crosswoz import NAME, SCORING_REVISION
from mwzeval.crosswoz.corpus.folds import SAMPLE, Fold, Gold
from mwzeval.crosswoz.predictions.checking import (
    DEFAULT_OPTIONS,
    CheckedPredictions,
    Options,
    check,
)
from mwzeval.crosswoz.predictions.fit import covered
from mwzeval.crosswoz.predictions.tracks import DST, POLICY, TRACKS
from mwzeval.crosswoz.scoring.act_scores import SYSTEM, USER
from mwzeval.crosswoz.scoring.baselines import BESIDE
from mwzeval.crosswoz.scoring.explanation import explain
from mwzeval.crosswoz.scoring.track_scores import baseline_of, scored_table
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.libraries import no_garbage_collection
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.findings import Findings
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Score, Signature
from mwzeval.version import __version__, library_version

ALIASES = {"nlu": "nlu.f1", "policy": "policy.f1", "dst": "dst.joint_single_turn"}
SAMPLE_NOTE = "The sample's town is invented: these are not CrossWOZ scores."
"""Shown wherever the embedded sample was scored."""
MAIN_SCOPES = (WHOLE, USER, SYSTEM)
"""Scopes in which baselines are shown beside a system."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPredictions:
    """Predictions that have been scored: their rows, the measures over these, and warnings."""

    checked: CheckedPredictions
    scored_table: ScoredTable

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What was noticed and did not prevent scoring."""
        return self.checked.warnings

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the scores with their signatures and rows, and intervals when it is said how.

        Behind them come those of the baselines, as `gold.dst.joint_single_turn`.
        """
        beside = self.beside()
        of_baselines = [
            replace(score, name=f"{baseline}.{score.name}", label=f"{score.label}, {text}")
            for baseline, text in BESIDE.items()
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
            references=BESIDE,
            aliases=ALIASES,
        )

    def beside(self) -> dict[str, tuple[Score, ...]]:
        """Return the main scores of the baselines on the same dialogues, baseline → scores."""
        checked, found = self.checked, {}
        for baseline in BESIDE:
            kept: list[Score] = []
            for track, scores in zip(checked.tracks, checked.scores, strict=True):
                source = baseline_of(baseline, track, checked.gold, scores, checked.conditioning)
                if source is not None:
                    of = scored_table(
                        checked.units, checked.gold, [scores], source, _Signer(checked)
                    )
                    kept += [
                        each
                        for each in of.scores()
                        if each.name in scores.main and each.scope in MAIN_SCOPES
                    ]
            if kept:
                found[baseline] = tuple(kept)
        return found

    def units(self) -> Sequence[str]:
        """Return the names of the dialogues that were scored, in order."""
        return self.checked.units

    def explain(self, unit: str) -> Explanation:
        """Return what became of one dialogue. Raises `UsageError` for an unknown one."""
        if unit not in self.checked.units:
            hint = did_you_mean(unit, self.checked.units)
            raise UsageError(f'no dialogue "{shorten(unit)}" was scored{hint}')
        return explain(self.checked, unit)

    def explain_all(self) -> Iterator[Explanation]:
        """Yield what became of every dialogue."""
        for unit in self.checked.units:
            yield explain(self.checked, unit)


def evaluate(
    predictions: Any,
    gold: Gold | Fold,
    options: Options = DEFAULT_OPTIONS,
    *,
    file: str | None = None,
) -> ScoredPredictions:
    """Return the scores of `predictions`: a file's name, or what such a file has in it.

    They are scored against `gold`, in the tracks and in the way that `options` say. `file` names
    the input in messages. Raises `InputError` with every problem when they cannot be scored.
    """
    findings = Findings(file or _file_of(predictions), options.lenient, options.strict)
    checked = check(predictions, _gold(gold), options, findings)
    findings.check()
    assert checked is not None, "what cannot be checked has an error among the findings"
    return score(checked)


def validate(
    predictions: Any,
    gold: Gold | Fold,
    options: Options = DEFAULT_OPTIONS,
    *,
    file: str | None = None,
) -> list[Problem]:
    """Return every problem, errors first, instead of raising; parameters as for `evaluate`."""
    findings = Findings(file or _file_of(predictions), options.lenient, options.strict)
    try:
        check(predictions, _gold(gold), options, findings)
    except InputError as error:
        return [*error.problems, *findings.problems]
    return findings.problems


def score(checked: CheckedPredictions) -> ScoredPredictions:
    """Return the scores of predictions that have been checked."""
    dialogues = checked.predictions.dialogues
    with no_garbage_collection():
        of = scored_table(
            checked.units,
            checked.gold,
            checked.scores,
            lambda gold: dialogues[gold.name],
            _Signer(checked),
        )
    return ScoredPredictions(checked, of)


def _gold(gold: Gold | Fold) -> Gold:
    return Gold(gold) if isinstance(gold, Fold) else gold


def _file_of(predictions: Any) -> str | None:
    return str(predictions) if isinstance(predictions, str | Path) else None


@dataclass(frozen=True, slots=True)
class _Signer:
    """Signs metrics with what was scored, and with choices of their own."""

    checked: CheckedPredictions

    def __call__(self, metric: str, choices: Mapping[str, object]) -> Signature:
        fold = self.checked.gold.fold
        common = {
            "corpus": f"{self.checked.gold.corpus}@{fold.checksum}",
            "fold": fold.name,
            "n": len(self.checked.units),
        }
        versions = {"rev": SCORING_REVISION, "version": __version__}
        return Signature.of(metric, {**common, **choices, **versions})


def plain_metrics(scores: Sequence[Score], beside: Mapping[str, Sequence[Score]]) -> dict[str, Any]:
    """Return the scores in a plain shape: track → score → scope → value, in percent.

    `beside` has those of the baselines, baseline → score → value.
    """
    plain: dict[str, Any] = dict.fromkeys(TRACKS)
    for each in scores:
        track, _, name = each.name.partition(".")
        plain[track] = plain.get(track) or {}
        plain[track].setdefault(name, {})[each.scope] = each.value
    plain["beside"] = {
        baseline: {
            each.name if each.scope == WHOLE else f"{each.name} {each.scope}": each.value
            for each in of
        }
        for baseline, of in beside.items()
    }
    return plain


def _meta(checked: CheckedPredictions) -> dict[str, Any]:
    fold, header = checked.gold.fold, checked.predictions.header
    return {
        "corpus": checked.gold.corpus,
        "unit": "dialogue",
        "note": SAMPLE_NOTE if fold.revision == SAMPLE else None,
        "fold": fold.name,
        "sources": fold.checksum,
        "tracks": [track.name for track in checked.tracks],
        "conditioning": checked.conditioning if DST in checked.tracks else None,
        "ceiling": _ceiling(checked),
        "system": header.system,
        "seed": header.seed,
        "said": dict(header.more) or None,
        "coverage": covered(checked.predictions, fold),
        "versions": {"numpy": library_version("numpy")}
        | {"mwzeval": __version__, "scoring_revision": SCORING_REVISION},
    }


def _ceiling(checked: CheckedPredictions) -> str | None:
    """Return which acts the ceiling of policies is made of."""
    if POLICY not in checked.tracks:
        return None
    vocabulary = checked.gold.system_vocabulary
    return "all gold acts" if vocabulary is None else f"gold acts of {len(vocabulary)} kinds"
