"""Training and prediction from files to files: what the command line calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mwzeval.dstc7.baselines.dual_encoder.arrays import Settings
from mwzeval.dstc7.baselines.dual_encoder.training import train_dual_encoder
from mwzeval.dstc7.baselines.query import Knowledge, Query, as_choices, query_of
from mwzeval.dstc7.baselines.ranker import (
    DUAL_ENCODER,
    RANDOM,
    Baseline,
    Ranker,
    Threshold,
    insert_none,
)
from mwzeval.dstc7.reading.dialogues import stream_examples
from mwzeval.dstc7.reading.submission import write_submission
from mwzeval.dstc7.reading.tracks import Track
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.neural.training import Point, Watch


@dataclass(frozen=True, slots=True)
class Predicted:
    """What was written: how many examples, and the threshold for NONE if one was tuned."""

    examples: int
    threshold: Threshold | None = None


def train(
    training: str | Path,
    dev: str | Path,
    folder: str | Path,
    *,
    settings: Settings | None = None,
    last_message: bool = False,
    knowledge: Knowledge | None = None,
    watch: Watch | None = None,
) -> Sequence[Point]:
    """Train a dual encoder on dialogue files with answers and return its learning curve.

    The best model is in `folder` (`model.safetensors`), with a checkpoint from which training goes
    on when this is called again. Examples are streamed. Errors: see `train_dual_encoder`, and
    `InputError` for the files.
    """

    def read(file: str | Path, with_candidates: bool) -> Iterator[Query]:
        for example in stream_examples(file):
            seen = example if with_candidates else replace(example, candidates=())
            yield query_of(seen, last_message=last_message, knowledge=knowledge)

    return train_dual_encoder(read(training, False), read(dev, True), folder, settings, watch)[1]


def predict(
    baseline: Baseline,
    track: Track,
    dialogues: str | Path,
    output: str | Path,
    *,
    pool: str | Path | None = None,
    dev: str | Path | None = None,
    none_score: float | None = None,
    choices: bool = False,
) -> Predicted:
    """Rank the candidates of a dialogue file and write the submission.

    Subtask 2 needs its `pool`. In subtask 4 NONE joins every list with a fixed score: `none_score`,
    or the one that is best on `dev`, a dialogue file with answers; with neither it joins none. The
    random baseline draws its place. Confidences are the baseline's scores; with `choices` the
    submission has the ten best with probabilities instead, for the task description's F-score.

    Raises `UsageError` for options that do not go together, `InputError` for files that cannot be
    used, `DependencyError` when a library of an extra is missing.
    """
    _check_options(baseline, track, pool, dev, none_score)
    ranker = Ranker(baseline, track, pool)
    queries = list(baseline.queries(dialogues))
    _check_candidates(queries, track, dialogues)
    rankings = ranker.rank(queries)
    threshold = None
    if dev is not None:
        threshold = ranker.threshold(dev)
        none_score = threshold.score
    if none_score is not None:
        rankings = [insert_none(ranking, none_score) for ranking in rankings]
    if choices:
        are_logarithms = baseline.name == DUAL_ENCODER
        rankings = [as_choices(ranking, are_logarithms=are_logarithms) for ranking in rankings]
    write_submission(output, ((ranking.example, ranking.entries) for ranking in rankings))
    return Predicted(len(rankings), threshold)


def _check_options(
    baseline: Baseline,
    track: Track,
    pool: str | Path | None,
    dev: str | Path | None,
    none_score: float | None,
) -> None:
    if track.has_pool != (pool is not None):
        what = "needs its pool of candidates" if track.has_pool else "has no pool of candidates"
        raise UsageError(f"{track.name} {what}")
    if dev is None and none_score is None:
        return
    if baseline.name == RANDOM:
        raise UsageError("the random baseline draws the place of NONE: it takes no score for it")
    if not track.has_none:
        raise UsageError(f"{track.name} always has a right answer: NONE is for subtask 4")
    if dev is not None and none_score is not None:
        raise UsageError("the score of NONE is given or tuned on dev, not both")


def _check_candidates(queries: Sequence[Query], track: Track, file: str | Path) -> None:
    if not queries:
        raise InputError([Problem("empty-file", "there are no examples in it", file=str(file))])
    if track.has_pool:
        return
    lacking = [query.example for query in queries if not query.candidates]
    if lacking:
        message = f"no options-for-next, which {track.name} ranks"
        problem = Problem(
            "missing-field", message, file=str(file), example=lacking[0], count=len(lacking)
        )
        raise InputError([problem])
