"""How probably a dialogue will succeed, from what the system knows in each of its exchanges.

Where users are people nobody sees their goals, and an estimate is all there is. It is learned from
dialogues whose end is known, calibrated, and judged on those of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError
from mwzeval.libraries import required
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results.means import mean_cell, notes_on_means
from mwzeval.pydial.results.over_seeds import interval_over_seeds
from mwzeval.pydial.runs.job import Job
from mwzeval.pydial.studies.calibration import (
    Bin,
    brier,
    calibration_error_by_chance,
    expected_calibration_error,
    log_loss,
    reliability,
)
from mwzeval.pydial.studies.estimators import (
    EXTRA,
    Calibration,
    Kind,
    calibrator_of,
    estimator_of,
    logit,
)
from mwzeval.pydial.studies.watched import Watched, watched
from mwzeval.scores.sheets import Cell, Document, sheet

Numbers = NDArray[np.float64]
BASE, RAW, BELIEF, CRITIC = "share of successes", "belief, raw", "belief", "critic"
FIGURES: Mapping[str, tuple[str, Callable[[Judged], float]]] = {
    "brier": ("Brier", lambda j: brier(j.probabilities, j.outcomes)),
    "log_loss": ("log loss", lambda j: log_loss(j.probabilities, j.outcomes)),
    "calibration_error": (
        "calibration error",
        lambda j: expected_calibration_error(j.probabilities, j.outcomes),
    ),
    "calibration_error_by_chance": (
        "by chance",
        lambda j: calibration_error_by_chance(j.probabilities, j.lengths),
    ),
    "auc": ("AUC", lambda j: auc(j.probabilities, j.outcomes)),
}
"""What is told of an estimate: name, heading, and how it is computed for a seed."""
NOTE = (
    "Over exchanges of the test dialogues. Brier, log loss and calibration error are 0 at best, "
    "AUC is 1; by chance: the calibration error that right estimates would have in so many "
    "dialogues; the share of successes is that of the dialogues learned from."
)


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """An estimate of a policy's success with one seed: what was estimated, and what came.

    `probabilities` and `outcomes` have shape (exchanges,); `lengths` are those of the dialogues.
    """

    task: str
    policy: str
    seed: int
    estimate: str
    probabilities: Numbers
    outcomes: Numbers
    lengths: tuple[int, ...]


def estimated(
    output: str | Path,
    jobs: Sequence[Job],
    *,
    estimator: Kind = "logistic",
    calibration: Calibration = "platt",
    learned_from: int = 750,
    tests: int = 500,
) -> tuple[Judged, ...]:
    """Judge estimates of success of the policies of a run, after their last checkpoint.

    The `tests` dialogues are those of the run; `learned_from` is the number of others, that follow
    them. Nothing is written. Raises `UsageError` when there is nothing to be judged,
    `DependencyError` without scikit-learn, and what `watched` raises.
    """
    required("sklearn", EXTRA)
    judged: list[Judged] = []
    for job in jobs:
        if len(job.tasks) > 1:
            raise UsageError(f"{job.task}: one policy of several tasks is not judged")
        if job.preset.learns and not job.model_file(output, job.tested_at[-1]).exists():
            continue
        test = watched(job, output, range(tests))
        learned = watched(job, output, range(tests, tests + learned_from))
        for name, probabilities in _estimates(test, learned, estimator, calibration):
            judged.append(
                Judged(
                    job.task,
                    job.policy,
                    job.seed,
                    name,
                    probabilities,
                    test.outcomes,
                    test.lengths,
                )
            )
    if not judged:
        raise UsageError(f"{output} holds nothing to be judged: train it with `mwzeval pydial run`")
    return tuple(judged)


def _estimates(
    test: Watched, learned: Watched, kind: Kind, calibration: Calibration
) -> Iterator[tuple[str, Numbers]]:
    outcomes, dialogues = learned.outcomes, len(learned.lengths)
    share = np.full(len(test.outcomes), outcomes.mean())
    yield BASE, share
    estimate, outside = estimator_of(learned.features, outcomes, learned.lengths, kind)
    raw = estimate(test.features)
    yield RAW, raw
    calibrate = calibrator_of(logit(outside), outcomes, dialogues, calibration)
    yield BELIEF, calibrate(logit(raw))
    if test.values is not None and learned.values is not None:
        # A value is no log odds, but rises with them.
        centre, spread = learned.values.mean(), learned.values.std() or 1.0
        usual = logit(share[:1])
        values, others = ((v - centre) / spread + usual for v in (learned.values, test.values))
        yield CRITIC, calibrator_of(values, outcomes, dialogues, calibration)(others)


def auc(probabilities: Numbers, outcomes: Numbers) -> float:
    """Return how often a success is held more probable than a failure, equal ones counted half.

    NaN where all outcomes are alike. Both have shape (cases,).
    """
    from scipy.stats import rankdata

    successes = int(outcomes.sum())
    failures = len(outcomes) - successes
    if not successes or not failures:
        return float("nan")
    ranks = rankdata(probabilities)[outcomes == 1].sum()
    return float((ranks - successes * (successes + 1) / 2) / (successes * failures))


def estimates_document(judged: Sequence[Judged]) -> Document:
    """Return a table of how good estimates are; records have the bins of all seeds, too."""
    records = list(_records(judged))
    rows: list[list[Cell | str]] = [
        [
            r["task"],
            PRESETS[r["policy"]].label,
            r["estimate"],
            *(_cell(r, figure) for figure in FIGURES),
        ]
        for r in records
    ]
    labels = [label for label, _ in FIGURES.values()]
    table = sheet("Estimates of success", ["Task", "Policy", "Estimate from", *labels], rows)
    return Document((), (table,), tuple(_notes(records)), tuple(records), {"estimates": records})


def _notes(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield NOTE
    yield from notes_on_means(record["seeds"] for record in records)


def _records(judged: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    for key in dict.fromkeys((j.task, j.policy, j.estimate) for j in judged):
        found = [j for j in judged if (j.task, j.policy, j.estimate) == key]
        record: dict[str, Any] = dict(zip(("task", "policy", "estimate"), key, strict=True))
        for name, (_, of) in FIGURES.items():
            values = [of(j) for j in found]
            known = [value for value in values if not np.isnan(value)]
            interval = interval_over_seeds(known)
            record[name] = float(np.mean(known)) if known else None
            record[f"{name}_low"] = None if interval is None else interval.low
            record[f"{name}_high"] = None if interval is None else interval.high
        record["seeds"] = len(found)
        record["bins"] = [asdict(b) for b in pooled_bins(found)]
        yield record


def pooled_bins(judged: Sequence[Judged]) -> tuple[Bin, ...]:
    """Return the bins of the reliability diagram of an estimate, over all seeds."""
    probabilities = np.concatenate([j.probabilities for j in judged])
    return reliability(probabilities, np.concatenate([j.outcomes for j in judged]))


def _cell(record: Mapping[str, Any], figure: str) -> Cell:
    low, high = record[f"{figure}_low"], record[f"{figure}_high"]
    return mean_cell(record[figure], low, high, record["seeds"], digits=3)
