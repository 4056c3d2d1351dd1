"""How probably a dialogue will succeed, from what the system knows in each of its exchanges.

Where users are people nobody sees their goals, and an estimate is all there is. It is learned from
dialogues whose end is known, calibrated on others, and judged on those of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

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
    expected_calibration_error,
    log_loss,
    reliability,
)
from mwzeval.pydial.studies.watched import Watched, watched
from mwzeval.report.formats import Cell, Document, sheet

Numbers = NDArray[np.float64]
Estimator = Literal["logistic", "boosting"]
Calibration = Literal["platt", "isotonic"]
EXTRA = "retrieval"
"""It brings scikit-learn."""
BASE, RAW, BELIEF, CRITIC = "share of successes", "belief, raw", "belief", "critic"
FIGURES = ("brier", "log_loss", "calibration_error", "auc")
LABELS = ("Brier", "log loss", "calibration error", "AUC")
NOTE = (
    "Over exchanges of the test dialogues. Brier, log loss and calibration error are 0 at best, "
    "AUC is 1; the share of successes is that of the dialogues learned from."
)


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """An estimate of a policy's success with one seed: what was estimated, and what came.

    `probabilities` and `outcomes` have shape (exchanges,).
    """

    task: str
    policy: str
    seed: int
    estimate: str
    probabilities: Numbers
    outcomes: Numbers


def estimator_of(
    features: Numbers, outcomes: Numbers, kind: Estimator = "logistic"
) -> Callable[[Numbers], Numbers]:
    """Return what gives probabilities for features, shape (cases, size), learned from outcomes.

    `kind` is logistic regression or gradient boosting. Where all outcomes are alike the estimate
    is the same for all. Raises `DependencyError` without scikit-learn.
    """
    if len(np.unique(outcomes)) < 2:
        share = (outcomes.sum() + 1) / (len(outcomes) + 2)
        return lambda other: np.full(len(other), share)
    if kind == "boosting":
        ensemble = required("sklearn.ensemble", EXTRA)
        model = ensemble.HistGradientBoostingClassifier(max_iter=100, random_state=0)
    else:
        linear = required("sklearn.linear_model", EXTRA)
        preprocessing = required("sklearn.preprocessing", EXTRA)
        model = required("sklearn.pipeline", EXTRA).make_pipeline(
            preprocessing.StandardScaler(), linear.LogisticRegression(C=0.1, max_iter=1000)
        )
    model.fit(features, outcomes)
    return lambda other: np.asarray(model.predict_proba(other)[:, 1])


def calibrator_of(
    scores: Numbers, outcomes: Numbers, kind: Calibration = "platt"
) -> Callable[[Numbers], Numbers]:
    """Return what makes probabilities of scores, shape (cases,), learned from outcomes.

    `kind` is Platt's (a logistic curve) or isotonic regression. Raises `DependencyError` without
    scikit-learn.
    """
    if kind == "isotonic":
        model = required("sklearn.isotonic", EXTRA).IsotonicRegression(
            y_min=0.0, y_max=1.0, out_of_bounds="clip"
        )
        model.fit(scores, outcomes)
        return lambda other: np.asarray(model.predict(other))
    curve = estimator_of(scores[:, np.newaxis], outcomes)
    return lambda other: curve(other[:, np.newaxis])


def logit(probabilities: Numbers) -> Numbers:
    """Return the logarithms of odds."""
    held = np.clip(probabilities, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(held / (1 - held)))


def estimated(
    output: str | Path,
    jobs: Sequence[Job],
    *,
    estimator: Estimator = "logistic",
    calibration: Calibration = "platt",
    learned_from: int = 500,
    calibrated_on: int = 250,
    tests: int = 500,
) -> tuple[Judged, ...]:
    """Judge estimates of success of the policies of a run, after their last checkpoint.

    The `tests` dialogues are those of the run; `learned_from` and `calibrated_on` are the numbers
    of others, that follow them. Nothing is written. Raises `UsageError` when there is nothing to be
    judged, `DependencyError` without scikit-learn, and what `watched` raises.
    """
    required("sklearn", EXTRA)
    judged: list[Judged] = []
    for job in jobs:
        if len(job.tasks) > 1:
            raise UsageError(f"{job.task}: one policy of several tasks is not judged")
        if job.preset.learns and not job.model_file(output, job.tested_at[-1]).exists():
            continue
        first, second = tests + learned_from, tests + learned_from + calibrated_on
        test, learned, held = (
            watched(job, output, range(*ends))
            for ends in ((0, tests), (tests, first), (first, second))
        )
        for name, probabilities in _estimates(test, learned, held, estimator, calibration):
            judged.append(
                Judged(job.task, job.policy, job.seed, name, probabilities, test.outcomes)
            )
    if not judged:
        raise UsageError(f"{output} holds nothing to be judged: train it with `mwzeval pydial run`")
    return tuple(judged)


def _estimates(
    test: Watched, learned: Watched, held: Watched, estimator: Estimator, calibration: Calibration
) -> Iterator[tuple[str, Numbers]]:
    yield BASE, np.full(len(test.outcomes), learned.outcomes.mean())
    estimate = estimator_of(learned.features, learned.outcomes, estimator)
    raw = estimate(test.features)
    yield RAW, raw
    calibrate = calibrator_of(logit(estimate(held.features)), held.outcomes, calibration)
    yield BELIEF, calibrate(logit(raw))
    if test.values is not None and held.values is not None:
        yield CRITIC, calibrator_of(held.values, held.outcomes, calibration)(test.values)


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
    table = sheet("Estimates of success", ["Task", "Policy", "Estimate from", *LABELS], rows)
    return Document((), (table,), tuple(_notes(records)), tuple(records), {"estimates": records})


def _notes(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield NOTE
    yield from notes_on_means(record["seeds"] for record in records)


def _records(judged: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    for key in dict.fromkeys((j.task, j.policy, j.estimate) for j in judged):
        found = [j for j in judged if (j.task, j.policy, j.estimate) == key]
        record: dict[str, Any] = dict(zip(("task", "policy", "estimate"), key, strict=True))
        for name, of in zip(
            FIGURES, (brier, log_loss, expected_calibration_error, auc), strict=True
        ):
            values = [of(j.probabilities, j.outcomes) for j in found]
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
