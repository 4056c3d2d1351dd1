"""A submission in, a report out: what the command line runs and what scripts import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.dstc7 import NAME, SCORING_REVISION
from mwzeval.dstc7.reading.loading import SAMPLE_NOTE, Gold, Loaded, load
from mwzeval.dstc7.reading.tracks import NONE, Options, Track, track_from
from mwzeval.dstc7.scoring.explanation import explain, explain_all
from mwzeval.dstc7.scoring.measures import ANSWERABLE, NOTHING, ranked_ids, rows, scored_table
from mwzeval.dstc7.scoring.ranking import CUTOFFS, found_positions
from mwzeval.errors import Problem
from mwzeval.libraries import no_garbage_collection
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.findings import Findings
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Score
from mwzeval.version import __version__, library_version

ALIASES = {"recall10": "recall@10", "recall1": "recall@1"}
DEPENDENCIES = ("numpy", "ijson")


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSubmission:
    """A submission that has been scored: its rows, the measures over these, and warnings."""

    loaded: Loaded
    scored_table: ScoredTable
    warnings: tuple[Problem, ...]

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the scores with their signatures and rows, and intervals when it is said how."""
        scores = self.scored_table.scores(resampling)
        return Report(
            metrics=plain_metrics(self, scores),
            scores=scores,
            table=self.scored_table.table,
            warnings=self.warnings,
            meta=_meta(self.loaded),
            benchmark=NAME,
            aliases=ALIASES,
        )

    def units(self) -> Sequence[str]:
        """Return the ids of the examples, in order."""
        return self.scored_table.table.units

    def explain(self, unit: str) -> Explanation:
        """Return what became of an example. Raises `UsageError` for an unknown one."""
        return explain(self.loaded, unit)

    def explain_all(self) -> Iterator[Explanation]:
        """Yield what became of every example."""
        return explain_all(self.loaded)


def evaluate(
    submission: str | Path,
    gold: Gold,
    track: Track | str | None = None,
    options: Options | None = None,
) -> ScoredSubmission:
    """Return the scores of a submission (a file, `-`, or a zip with officially named files).

    `track` is a `Track` or its name (`dstc7-ubuntu-1`); without it, the file's official name says
    it. Raises `UsageError` when it does not, `InputError` with every problem when the submission
    or its gold data cannot be scored under these `options`.
    """
    options = options or Options()
    findings = Findings(lenient=not options.strict)
    of_track = _track(track, submission)
    with no_garbage_collection():
        loaded = load(submission, gold, of_track, options, findings)
        findings.check()
        assert loaded is not None, "what cannot be read has an error among the findings"
        return score(loaded, findings.warnings)


def validate(
    submission: str | Path,
    gold: Gold,
    track: Track | str | None = None,
    options: Options | None = None,
) -> list[Problem]:
    """Return every problem of a submission and its gold data, errors first, instead of raising.

    The list is what `evaluate` would find. Raises `UsageError` like it.
    """
    options = options or Options()
    findings = Findings(lenient=not options.strict)
    of_track = _track(track, submission)
    with no_garbage_collection():
        load(submission, gold, of_track, options, findings)
    return findings.problems


def score(loaded: Loaded, warnings: Sequence[Problem] = ()) -> ScoredSubmission:
    """Return the scores of a submission that has been loaded."""
    table = rows(loaded.submission, loaded.targets, loaded.options, has_none=loaded.track.has_none)
    several = any(len(set(correct)) > 1 for correct in loaded.targets.values())
    of_table = scored_table(
        table, loaded.track, loaded.options, checksum=loaded.checksum, several=several
    )
    return ScoredSubmission(loaded, of_table, tuple(warnings))


def _track(track: Track | str | None, submission: str | Path) -> Track:
    return track if isinstance(track, Track) else track_from(track, str(submission))


def plain_metrics(
    evaluated: ScoredSubmission, scores: Iterable[Score] | None = None
) -> dict[str, Any]:
    """Return the scores in their plain shape, unrounded, 0 to 1.

    Keys `ranking` (`recall` and `set_recall` by cut-off, `mrr`, `map`, `final`), `answerable` (the
    same without examples whose answer is NONE, None outside subtask 4), `none` (`precision`,
    `recall`, `f1`) and `fscore`; None for what was not scored.
    """
    loaded, table = evaluated.loaded, evaluated.scored_table.table
    scores = evaluated.scored_table.scores() if scores is None else scores
    values = {(score.name, score.scope): score.value for score in scores}
    sums = table.sums()

    def ranking(scope: str, prefix: str) -> dict[str, Any] | None:
        n = sums[f"{prefix}examples"]
        if not n:
            return None
        set_recall = {str(k): sums[f"{prefix}set_recall@{k}"] / n for k in CUTOFFS}
        return {
            "n": int(n),
            "recall": {str(k): values[f"recall@{k}", scope] for k in CUTOFFS},
            "set_recall": set_recall,
            **{name: values[name, scope] for name in ("mrr", "map", "final")},
        }

    if loaded.options.metric == "fscore":
        fscore: dict[str, Any] = {name: value for (name, _), value in values.items()}
        counts = ("selected", "correct_selected", "correct")
        fscore |= {"counts": {name: int(sums[name]) for name in counts}}
        return {"ranking": None, "answerable": None, "none": None, "fscore": fscore}
    with_none = "none.gold" in table.columns
    none = (
        {name: values[f"none.{name}", WHOLE] for name in ("precision", "recall", "f1")}
        if with_none
        else None
    )
    return {
        "ranking": ranking(WHOLE, ""),
        "answerable": ranking(ANSWERABLE, f"{ANSWERABLE}.") if with_none else None,
        "none": none,
        "fscore": None,
    }


def _meta(loaded: Loaded) -> dict[str, Any]:
    submitted = sum(example in loaded.submission for example in loaded.targets)
    options = loaded.options
    return {
        "corpus": loaded.track.name,
        "unit": "example",
        "note": SAMPLE_NOTE if loaded.is_sample else None,
        "case": loaded.track.case,
        "fold": loaded.split,
        "sources": loaded.checksum,
        "options": {
            "metric": options.metric,
            "strict": options.strict,
            "order": options.order,
            "compat": options.compat,
            "coverage": options.coverage if options.metric == "fscore" else None,
        },
        "coverage": {"examples": {"scored": submitted, "of": len(loaded.targets)}},
        "versions": {name: library_version(name) for name in DEPENDENCIES}
        | {"mwzeval": __version__, "scoring_revision": SCORING_REVISION},
    }


@dataclass(frozen=True, slots=True)
class PerExample:
    """What one example is worth: the rank of the first right answer (0: none), and all ranks."""

    example: str
    rank: int
    ranks: tuple[int, ...]
    answers: tuple[str, ...]


def per_example(loaded: Loaded) -> tuple[PerExample, ...]:
    """Return where the right answers were ranked in each example, in the order of the targets."""
    found = []
    for example, correct in loaded.targets.items():
        answers = tuple(dict.fromkeys(correct))
        ids = ranked_ids(loaded.submission.get(example, NOTHING), loaded.options)
        ranks = found_positions(ids, answers)
        found.append(PerExample(example, ranks[0] if ranks else 0, ranks, answers))
    return tuple(found)


def mean_final(evaluated: Mapping[str, ScoredSubmission]) -> tuple[float, tuple[str, ...]]:
    """Return the plain mean of the final scores of several submissions, and what it covers.

    How the track combined subtasks is not known; this is ours. Raises `ValueError` for nothing.
    """
    if not evaluated:
        raise ValueError("a mean needs one submission at least")
    values = [plain_metrics(each)["ranking"]["final"] for each in evaluated.values()]
    return sum(values) / len(values), tuple(evaluated)


__all__ = [
    "NONE",
    "Gold",
    "Options",
    "PerExample",
    "ScoredSubmission",
    "Track",
    "evaluate",
    "mean_final",
    "per_example",
    "plain_metrics",
    "score",
    "validate",
]
