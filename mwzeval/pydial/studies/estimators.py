"""Probabilities of success from features of exchanges: learned, and calibrated.

Exchanges of one dialogue have one outcome, so it is dialogues that are independent. They are
divided into folds, and estimates for a fold are learned from the others: by the log loss of such
out-of-fold estimates the strength of regularisation is chosen, and on them calibration is learned.
No dialogues are set aside for either, and the estimate itself is then learned from all of them.

Sources: Stone (1974) for cross-validation; Platt (1999) and Zadrozny and Elkan (2002) for
calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mwzeval.libraries import required
from mwzeval.pydial.studies.calibration import log_loss

Numbers = NDArray[np.float64]
Kind = Literal["logistic", "boosting"]
Calibration = Literal["platt", "isotonic"]
Curve = Callable[[Numbers], Numbers]
"""From features, shape (cases, size), or scores, (cases,), to probabilities, shape (cases,)."""
Curves = Callable[[Numbers], Numbers]
"""From features, shape (cases, size), to probabilities, shape (strengths, cases)."""
EXTRA = "retrieval"
"""It brings scikit-learn."""
FOLDS = 5
STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0)
"""Inverse strengths of regularisation of logistic regression: scikit-learn's C."""
ITERATIONS = 100
"""The most trees of boosting, which is the stronger regularised the fewer there are."""


def estimator_of(
    features: Numbers, outcomes: Numbers, lengths: Sequence[int], kind: Kind = "logistic"
) -> tuple[Curve, Numbers]:
    """Return what gives probabilities for features, and out-of-fold ones, shape (cases,).

    `features` has shape (cases, size), `outcomes` (cases,); `lengths` are the numbers of cases of
    the dialogues, in their order. `kind` is logistic regression or gradient boosting. Features are
    taken as they are, as beliefs are probabilities already: divided by their deviations, those that
    seldom move would weigh most. Where all outcomes are alike the estimate is the same for all.
    Raises `DependencyError` without scikit-learn.
    """
    learn = _boosting if kind == "boosting" else _logistic
    folds = np.repeat(np.arange(len(lengths)) % FOLDS, lengths)
    count = ITERATIONS if kind == "boosting" else len(STRENGTHS)
    outside = np.zeros((count, len(outcomes)))
    for fold in np.unique(folds):
        held = folds == fold
        outside[:, held] = _learned(learn, features[~held], outcomes[~held])(features[held])
    best = int(np.argmin([log_loss(each, outcomes) for each in outside]))
    curves = _learned(learn, features, outcomes)
    return lambda other: np.array(np.broadcast_to(curves(other), (count, len(other)))[best]), (
        outside[best]
    )


def _learned(
    learn: Callable[[Numbers, Numbers], Curves], features: Numbers, outcomes: Numbers
) -> Curves:
    if len(np.unique(outcomes)) > 1:
        return learn(features, outcomes)
    share = (outcomes.sum() + 1) / (len(outcomes) + 2)
    return lambda other: np.full((1, len(other)), share)


def _logistic(features: Numbers, outcomes: Numbers) -> Curves:
    linear = required("sklearn.linear_model", EXTRA)
    models: list[Any] = [
        linear.LogisticRegression(C=strength, max_iter=1000).fit(features, outcomes)
        for strength in STRENGTHS
    ]
    return lambda other: np.stack([model.predict_proba(other)[:, 1] for model in models])


def _boosting(features: Numbers, outcomes: Numbers) -> Curves:
    model = required("sklearn.ensemble", EXTRA).HistGradientBoostingClassifier(
        max_iter=ITERATIONS,
        learning_rate=0.1,
        max_leaf_nodes=4,
        min_samples_leaf=50,
        early_stopping=False,
        random_state=0,
    )
    model.fit(features, outcomes)
    return lambda other: np.stack([each[:, 1] for each in model.staged_predict_proba(other)])


def calibrator_of(
    scores: Numbers, outcomes: Numbers, dialogues: int, kind: Calibration = "platt"
) -> Curve:
    """Return what makes probabilities of scores, log odds of shape (cases,), by their outcomes.

    The cases are from so many independent `dialogues`. "platt" gives a logistic curve, which rises
    strictly, so that no two cases change places. Slope and shift are the likeliest when the
    logarithm of the slope and the shift are normal with mean 0 and deviation 1, and a dialogue
    counts as much as one case: with few dialogues scores stay what they are, and never is the log
    loss of `scores` higher than it was. "isotonic" gives the rising steps with the least Brier
    score. Raises `DependencyError` without scikit-learn for "isotonic".
    """
    if kind == "isotonic":
        model = required("sklearn.isotonic", EXTRA).IsotonicRegression(
            y_min=0.0, y_max=1.0, out_of_bounds="clip"
        )
        model.fit(scores, outcomes)
        return lambda other: np.asarray(model.predict(other))
    return _platt(scores, outcomes, dialogues / len(scores))


def _platt(scores: Numbers, outcomes: Numbers, weight: float) -> Curve:
    from scipy.optimize import minimize
    from scipy.special import expit

    def loss(point: Numbers) -> tuple[float, Numbers]:
        slope, shift = np.exp(point[0]), point[1]
        odds = slope * scores + shift
        off = (expit(odds) - outcomes) * weight
        total = weight * np.sum(np.logaddexp(0.0, odds) - outcomes * odds) + point @ point / 2
        return float(total), np.array([off @ scores * slope, off.sum()]) + point

    log_slope, shift = minimize(loss, np.zeros(2), jac=True).x
    slope = np.exp(log_slope)
    return lambda other: np.asarray(expit(slope * other + shift))


def logit(probabilities: Numbers) -> Numbers:
    """Return the logarithms of odds."""
    held = np.clip(probabilities, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(held / (1 - held)))
