"""Scores submissions; the command line and scripts use these functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mwzeval.benchmark import ScoredFile
from mwzeval.dstc7 import NAME, SCORING_REVISION
from mwzeval.dstc7.explain import explain
from mwzeval.dstc7.loading import SAMPLE_NOTE, Gold, Loaded, load
from mwzeval.dstc7.measures import ANSWERABLE, CUTOFFS, rows, scored_table
from mwzeval.dstc7.tracks import Options, Track, track_from
from mwzeval.errors import Problem
from mwzeval.libraries import no_garbage_collection
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.findings import Findings
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Score
from mwzeval.version import versions

__all__ = [
    "Gold",
    "Options",
    "ScoredSubmission",
    "Track",
    "evaluate",
    "mean_final",
    "plain_metrics",
    "score",
    "validate",
]

ALIASES = {"recall10": "recall@10", "recall1": "recall@1"}


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSubmission(ScoredFile):
    """A scored submission: its rows, its measures, and the warnings."""

    loaded: Loaded
    scored_table: ScoredTable
    warnings: tuple[Problem, ...]

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the scores with their signatures and rows, and intervals if requested."""
        loaded, scores = self.loaded, self.scored_table.scores(resampling)
        options = asdict(loaded.options)
        if loaded.options.metric != "fscore":
            options["coverage"] = None
        submitted = sum(example in loaded.submission for example in loaded.targets)
        return Report(
            metrics=plain_metrics(self, scores),
            scores=scores,
            table=self.scored_table.table,
            warnings=self.warnings,
            meta={
                "corpus": loaded.track.name,
                "unit": "example",
                "note": SAMPLE_NOTE if loaded.is_sample else None,
                "case": loaded.track.case,
                "fold": loaded.split,
                "sources": loaded.checksum,
                "options": options,
                "coverage": {"examples": {"scored": submitted, "of": len(loaded.targets)}},
                "versions": versions(SCORING_REVISION),
            },
            benchmark=NAME,
            aliases=ALIASES,
        )

    def explain(self, unit: str) -> Explanation:
        """Return the explanation of an example. Raises `UsageError` for an unknown example."""
        return explain(self.loaded, unit)


def evaluate(
    submission: str | Path,
    gold: Gold,
    track: Track | str | None = None,
    options: Options | None = None,
) -> ScoredSubmission:
    """Return the scores of a submission (a file, `-`, or a zip with officially named files).

    `track` is a `Track` or its name (`dstc7-ubuntu-1`); by default, the official file name
    determines the track. Raises `UsageError` if the track is unknown. Raises `InputError` with all
    problems if the submission or its gold data cannot be scored under these `options`.
    """
    with no_garbage_collection():
        loaded, findings = _load(submission, gold, track, options)
        findings.check()
        assert loaded is not None, "a submission that cannot be read must have an error"
        return score(loaded, findings.warnings)


def validate(
    submission: str | Path,
    gold: Gold,
    track: Track | str | None = None,
    options: Options | None = None,
) -> list[Problem]:
    """Return all problems of a submission and its gold data, errors first. No error is raised.

    Raises `UsageError` like `evaluate`.
    """
    with no_garbage_collection():
        return _load(submission, gold, track, options)[1].problems


def _load(
    submission: str | Path, gold: Gold, track: Track | str | None, options: Options | None
) -> tuple[Loaded | None, Findings]:
    options = options or Options()
    findings = Findings(lenient=not options.strict)
    if not isinstance(track, Track):
        track = track_from(track, str(submission))
    return load(submission, gold, track, options, findings), findings


def score(loaded: Loaded, warnings: Sequence[Problem] = ()) -> ScoredSubmission:
    """Return the scores of a loaded submission."""
    table = rows(loaded.submission, loaded.targets, loaded.options, has_none=loaded.track.has_none)
    several = any(len(set(correct)) > 1 for correct in loaded.targets.values())
    of_table = scored_table(
        table, loaded.track, loaded.options, checksum=loaded.checksum, several=several
    )
    return ScoredSubmission(loaded, of_table, tuple(warnings))


def plain_metrics(
    evaluated: ScoredSubmission, scores: Iterable[Score] | None = None
) -> dict[str, Any]:
    """Return the unrounded scores (0 to 1) as plain values.

    The keys are `ranking` (`recall` and `set_recall` by cut-off, `mrr`, `map`, `final`),
    `answerable` (the same for examples with a correct candidate; None outside subtask 4), `none`
    (`precision`, `recall`, `f1`) and `fscore`. The value of a score that was not computed is None.
    """
    table = evaluated.scored_table.table
    scores = evaluated.scored_table.scores() if scores is None else scores
    values = {(score.name, score.scope): score.value for score in scores}
    sums = table.sums()

    def ranking(scope: str, prefix: str) -> dict[str, Any] | None:
        if not (n := sums.get(f"{prefix}examples")):
            return None
        return {
            "n": int(n),
            "recall": {str(k): values[f"recall@{k}", scope] for k in CUTOFFS},
            "set_recall": {str(k): sums[f"{prefix}set_recall@{k}"] / n for k in CUTOFFS},
            **{name: values[name, scope] for name in ("mrr", "map", "final")},
        }

    metrics: dict[str, Any] = dict.fromkeys(("ranking", "answerable", "none", "fscore"))
    if evaluated.loaded.options.metric == "fscore":
        counts = ("selected", "correct_selected", "correct")
        metrics["fscore"] = {name: value for (name, _), value in values.items()}
        metrics["fscore"]["counts"] = {name: int(sums[name]) for name in counts}
        return metrics
    metrics["ranking"] = ranking(WHOLE, "")
    metrics["answerable"] = ranking(ANSWERABLE, f"{ANSWERABLE}.")
    if "none.gold" in table.columns:
        names = ("precision", "recall", "f1")
        metrics["none"] = {name: values[f"none.{name}", WHOLE] for name in names}
    return metrics


def mean_final(evaluated: Mapping[str, ScoredSubmission]) -> tuple[float, tuple[str, ...]]:
    """Return the mean final score of several submissions, and the tracks of the submissions.

    The mean of final scores is not official, because it is unknown how the organizers combined
    subtasks. Raises `ValueError` if there are no submissions.
    """
    if not evaluated:
        raise ValueError("a mean needs at least one submission")
    values = [plain_metrics(scored)["ranking"]["final"] for scored in evaluated.values()]
    return sum(values) / len(values), tuple(evaluated)
