"""Scores and explains submissions; the command line and scripts use these functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mwzeval.benchmark import ScoredFile
from mwzeval.dstc7 import NAME, SCORING_REVISION
from mwzeval.dstc7.loading import SAMPLE_NOTE, Gold, Loaded, load
from mwzeval.dstc7.measures import (
    ANSWERABLE,
    CUTOFFS,
    NOTHING,
    found_positions,
    ranked_ids,
    rows,
    scored_table,
    select,
)
from mwzeval.dstc7.tracks import NONE, Options, Track, track_from
from mwzeval.errors import Problem, UsageError, did_you_mean, shorten
from mwzeval.libraries import no_garbage_collection
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
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
    "explain",
    "mean_final",
    "plain_metrics",
    "score",
    "validate",
]

ALIASES = {"recall10": "recall@10", "recall1": "recall@1"}
EXPLAINED = (1, 10)
"""The cut-offs of the hits that are the outcomes of an example."""

SHOWN = 10
"""The number of top-ranked candidates that are shown, in addition to correct candidates."""

MEANINGS = {
    "ranked-below": "The right candidate is in the ranking, but not at the top.",
    "not-ranked": "The right candidate is not in the ranking.",
    "none-first": "NONE is ranked first, but one of the candidates is right.",
    "none-below": "No candidate is right, but NONE is not ranked first.",
    "no-none": "No candidate is right, but NONE is not in the ranking.",
    "not-selected": "The right candidate is not among the choices that the F-score selects.",
    "empty-ranking": "The ranking is empty.",
    "not-submitted": "The example is not in the submission.",
}
"""The failure reasons of a missed hit (docs/dstc7.md); `ranked-below` and `none-below` end with the
rank."""

RIGHT, SELECTED = "right", "selected"
"""The marks of correct candidates, and of candidates that the F-score selects."""


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


def explain(loaded: Loaded, example: str) -> Explanation:
    """Return the explanation of an example: its outcomes, and the reason if a hit was missed.

    The turns are the messages of the context, followed by a turn with the ranked candidates. Raises
    `UsageError` for an example without targets.
    """
    if example not in loaded.targets:
        known = list(loaded.targets)
        raise UsageError(f'no example "{shorten(example)}"{did_you_mean(example, known)}')
    is_fscore = loaded.options.metric == "fscore"
    answers = tuple(dict.fromkeys(loaded.targets[example]))
    ranking = loaded.submission.get(example, NOTHING)
    ids = tuple(ranked_ids(ranking, loaded.options))
    found = found_positions(ids, answers)
    rank = found[0] if found else 0
    selected = select(ranking, loaded.options.coverage) if is_fscore else ()
    confidences: dict[str, float | None] = {}
    for identity, number in zip(ranking.ids, ranking.confidences, strict=True):
        confidences.setdefault(identity, number)
    data = loaded.examples.get(example)
    offered = (*data.candidates, *(data.correct or ())) if data else ()
    texts = {option.candidate_id: option.utterance for option in offered}
    pool = loaded.pool or {}

    def text(identity: str) -> str:
        if identity == NONE:
            return "(none of the candidates)"
        unknown = "(text unknown: no dialogues or pool)"
        return texts[identity] if identity in texts else pool.get(identity, unknown)

    goal = []
    places = {ids[place - 1]: place for place in found}
    for identity in answers:
        place = places.get(identity)
        where = f"ranked {place} of {len(ids)}" if place else "not ranked"
        goal.append(Fact(RIGHT, f"{identity}, {where}: {text(identity)}"))

    ranked = []
    for place, identity in enumerate(ids, start=1):
        if place <= SHOWN or identity in answers:
            number = confidences[identity]
            sure = "" if number is None else f" ({number:.4g})"
            marks = [RIGHT] * (identity in answers) + [SELECTED] * (identity in selected)
            mark = ", ".join(marks) or None
            ranked.append(Fact(str(place), f"{identity}{sure}: {text(identity)}", mark))

    def why() -> tuple[str, str]:
        """Return the failure reason of an example, and a sentence that describes the reason."""
        if example not in loaded.submission:
            return "not-submitted", "the example is not in the submission"
        if not ids:
            return "empty-ranking", "the ranking is empty"
        right = ids[rank - 1] if rank else answers[0]
        if not rank:
            code = "no-none" if right == NONE else "not-ranked"
            what = "NONE" if right == NONE else "the right answer"
            return code, f"{what} is not among the {len(ids)} ranked candidates"
        above = f"{rank - 1} ranked above it, first {ids[0]}: {text(ids[0])}"
        if is_fscore:
            return "not-selected", f"{right} is not among the {len(selected)} selected; {above}"
        if ids[0] == NONE:
            return "none-first", f"NONE is ranked first, but {right} is right, ranked {rank}"
        code = "none-below" if right == NONE else "ranked-below"
        return f"{code}:{_span(rank)}", f"{right} is ranked {rank}; {above}"

    outcomes: dict[str, bool | None] = {f"recall@{k}": 0 < rank <= k for k in EXPLAINED}
    if is_fscore:
        outcomes = {SELECTED: bool(set(selected) & set(answers))}
    lost = [name for name, outcome in outcomes.items() if not outcome]
    messages = data.messages if data else ()
    return Explanation(
        unit=example,
        outcomes={WHOLE: outcomes},
        goal=tuple(goal),
        turns=(
            *(TurnView((Utterance(m.speaker, m.utterance),), ()) for m in messages),
            TurnView((), tuple(ranked)),
        ),
        reasons=tuple(
            Reason(code, outcome, WHOLE, len(messages), reason)
            for outcome in lost
            for code, reason in [why()]
        ),
    )


def _span(rank: int) -> str:
    """Return the range of cut-offs around a rank: `2`, `3-5`, `6-10`, …, `over-100`."""
    low = 1
    for high in CUTOFFS:
        if rank <= high:
            return str(high) if low == high else f"{low}-{high}"
        low = high + 1
    return f"over-{CUTOFFS[-1]}"
