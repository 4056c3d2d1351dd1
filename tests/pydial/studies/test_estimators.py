"""Estimators of success and their calibration: against known probabilities and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mwzeval.pydial.studies.calibration import brier, expected_calibration_error, log_loss
from mwzeval.pydial.studies.estimators import (
    Calibration,
    Kind,
    Numbers,
    calibrator_of,
    estimator_of,
    logit,
)

pytestmark = pytest.mark.integration
pytest.importorskip("sklearn")


def drawn(dialogues: int, seed: int, *, noise: int = 0) -> tuple[Numbers, Numbers, Numbers]:
    """Return features, true probabilities and outcomes of dialogues of four cases each.

    All cases of a dialogue are alike. The first two features count; then come `noise` ones that
    are 1 in one of a hundred dialogues, and otherwise 0.
    """
    rng = np.random.default_rng(seed)
    features = np.hstack([rng.random((dialogues, 2)), rng.random((dialogues, noise)) < 0.01])
    true = 1 / (1 + np.exp(-(features[:, :2] @ [5.0, -4.0] + 1.0)))
    outcomes = (rng.random(dialogues) < true).astype(np.float64)
    return np.repeat(features, 4, axis=0), np.repeat(true, 4), np.repeat(outcomes, 4)


@pytest.mark.parametrize(("kind", "off"), [("logistic", 0.04), ("boosting", 0.06)])
def test_an_estimate_learns_known_probabilities(kind: Kind, off: float) -> None:
    features, _, outcomes = drawn(1000, 0)
    estimate, outside = estimator_of(features, outcomes, [4] * 1000, kind)
    others, true, _ = drawn(500, 1)
    assert np.abs(estimate(others) - true).mean() < off
    assert outside.shape == outcomes.shape
    assert np.abs(outside - estimate(features)).mean() < off


def test_what_seldom_moves_is_not_learned_by_heart() -> None:
    """With more features than failures, an estimate tells no less than the share of successes."""
    features, _, outcomes = drawn(200, 0, noise=200)
    estimate, _ = estimator_of(features, outcomes, [4] * 200)
    others, _, came = drawn(1000, 1, noise=200)
    share = np.full(len(came), outcomes.mean())
    assert log_loss(estimate(others), came) < log_loss(share, came)
    assert expected_calibration_error(estimate(others), came) < 0.1


def test_a_dialogue_is_never_in_its_own_fold() -> None:
    """Each dialogue has a feature of its own, that tells all cases but one what came."""
    outcomes = np.repeat(np.arange(60) % 2, 5).astype(np.float64)
    features = np.repeat(np.eye(60), 5, axis=0)
    _, outside = estimator_of(features, outcomes, [5] * 60)
    assert np.ptp(outside) < 0.1
    assert log_loss(outside, outcomes) > 0.69


@pytest.mark.parametrize("dialogues", [1, 2])
def test_outcomes_that_are_all_alike_are_estimated(dialogues: int) -> None:
    estimate, outside = estimator_of(np.zeros((8, 2)), np.ones(8), [8 // dialogues] * dialogues)
    assert estimate(np.zeros((3, 2))).tolist() == [0.9, 0.9, 0.9]
    assert outside.shape == (8,)


CASES = st.lists(st.tuples(st.floats(-8, 8), st.booleans()), min_size=2, max_size=30)


@given(cases=CASES, dialogues=st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_calibration_makes_nothing_worse_of_what_it_learns_from(
    cases: list[tuple[float, bool]], dialogues: int
) -> None:
    scores = np.array([score for score, _ in cases])
    outcomes = np.array([float(outcome) for _, outcome in cases])
    plain = 1 / (1 + np.exp(-scores))
    curve = calibrator_of(scores, outcomes, min(dialogues, len(cases)))
    assert log_loss(curve(scores), outcomes) <= log_loss(plain, outcomes) + 1e-9
    order = np.linspace(-8, 8, 50)
    assert (np.diff(curve(order)) > 0).all()
    steps = calibrator_of(scores, outcomes, len(cases), "isotonic")
    assert brier(steps(scores), outcomes) <= brier(plain, outcomes) + 1e-9
    assert (np.diff(steps(order)) >= 0).all()


def test_what_is_too_sure_of_itself_is_mended_as_by_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    _, true, outcomes = drawn(4000, 2)
    _, others, came = drawn(4000, 3)
    scores, tested = 3 * logit(true) + 1, 3 * logit(others) + 1
    assert expected_calibration_error(1 / (1 + np.exp(-tested)), came) > 0.1
    kinds: tuple[Calibration, ...] = ("platt", "isotonic")
    for kind in kinds:
        mended = calibrator_of(scores, outcomes, 4000, kind)(tested)
        assert np.abs(mended - others).mean() < 0.03
    free = LogisticRegression(C=np.inf).fit(scores[:, None], outcomes)
    curve = calibrator_of(scores, outcomes, 4000)(tested)
    assert curve == pytest.approx(free.predict_proba(tested[:, None])[:, 1], abs=0.01)


def test_scores_stay_what_they_are_where_nothing_speaks_against_them() -> None:
    """Of two dialogues a curve that is free would be a step; and those of others stay apart."""
    scores, outcomes = np.array([-1.0, 1.0]), np.array([0.0, 1.0])
    curve = calibrator_of(scores, outcomes, 2)
    assert 0.1 < curve(scores)[0] < 0.27
    against = calibrator_of(scores, outcomes[::-1], 2)
    assert against(scores)[0] < against(scores)[1]
