"""GP-SARSA equals a dense batch solution of Engel's model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.pydial.policies.gp_sarsa import GPSarsa, GPSarsaSettings, SparseTemporalDifference
from mwzeval.pydial.simulator.rng import Rng

Vector = NDArray[np.float64]
Dialogue = tuple[list[Vector], list[int], list[float]]
SIZE, ACTIONS = 6, 3


def dialogues(number: int, seed: int, longest: int = 5) -> list[Dialogue]:
    rng = np.random.default_rng(seed)
    played = []
    for _ in range(number):
        length = int(rng.integers(1, longest + 1))
        beliefs = list(rng.random((length, SIZE)))
        rewards = rng.normal(size=length) * 10
        played.append((beliefs, rng.integers(0, ACTIONS, length).tolist(), rewards.tolist()))
    return played


def dense_posterior(
    played: list[Dialogue], belief: Vector, action: int, discount: float, noise: float
) -> tuple[float, float]:
    """Return mean and variance of Q, solving R = H Q + H N (N is white noise) densely."""
    beliefs = np.concatenate([beliefs for beliefs, *_ in played])
    actions, rewards = (np.concatenate([d[column] for d in played]) for column in (1, 2))
    ends = np.cumsum([len(beliefs) for beliefs, *_ in played])
    steps = np.eye(len(beliefs)) - discount * np.eye(len(beliefs), k=1)
    steps[ends[:-1] - 1, ends[:-1]] = 0.0
    gram = (beliefs @ beliefs.T) * (actions[:, None] == actions)
    new = (beliefs @ belief) * (actions == action)
    inner = steps @ gram @ steps.T + noise**2 * steps @ steps.T
    gain = new @ steps.T @ np.linalg.inv(inner)
    return float(gain @ rewards), float(belief @ belief - gain @ steps @ new)


@pytest.mark.parametrize("discount", [1.0, 0.9])
@pytest.mark.parametrize("longest", [1, 2, 5])
def test_recursive_updates_match_the_dense_posterior(discount: float, longest: int) -> None:
    played = dialogues(12, seed=longest, longest=longest)
    process = SparseTemporalDifference(SIZE, ACTIONS, discount=discount, noise=2.0, threshold=1e-9)
    for dialogue in played:
        process.learn(*dialogue)
    assert process.number <= SIZE * ACTIONS
    rng = np.random.default_rng(99)
    for _ in range(5):
        belief = rng.random(SIZE)
        for action in range(ACTIONS):
            expected = dense_posterior(played, belief, action, discount, 2.0)
            assert process.predict(belief, action) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_points_near_the_span_of_others_are_not_added_to_the_dictionary() -> None:
    process = SparseTemporalDifference(SIZE, ACTIONS, threshold=0.5)
    played = dialogues(40, seed=3)
    for dialogue in played:
        process.learn(*dialogue)
    points, owners = process.points
    for action in range(ACTIONS):
        of_action = points[owners == action]
        gram = of_action @ of_action.T
        assert np.allclose(gram @ process.blocks[action].inverse, np.eye(len(gram)), atol=1e-8)
        for beliefs, actions, _ in played:
            for belief, owner in zip(beliefs, actions, strict=True):
                if owner == action:
                    weights = np.linalg.lstsq(of_action.T, belief, rcond=None)[0]
                    assert np.sum((belief - of_action.T @ weights) ** 2) <= 0.5 + 1e-9


def test_untried_actions_have_the_prior() -> None:
    process = SparseTemporalDifference(2, 2)
    process.learn([np.array([1.0, 0.0])], [0], [5.0])
    assert process.predict(np.array([3.0, 4.0]), 1) == (0.0, 25.0)


def test_loaded_weights_give_the_same_predictions() -> None:
    learned, acting = GPSarsa(SIZE, ACTIONS), GPSarsa(SIZE, ACTIONS)
    mask = np.ones(ACTIONS, dtype=np.bool_)
    for beliefs, actions, rewards in dialogues(10, seed=4):
        learned.begin()
        for belief, action, reward in zip(beliefs, actions, rewards, strict=True):
            learned.record(belief, mask, action, reward)
        learned.end()
    acting.load(learned.weights())
    belief = np.ones(SIZE)
    for action in range(ACTIONS):
        assert acting.process.predict(belief, action) == learned.process.predict(belief, action)


def test_gp_sarsa_credits_the_return_at_the_end() -> None:
    mask = np.ones(ACTIONS, dtype=np.bool_)
    policy = GPSarsa(SIZE, ACTIONS, settings=GPSarsaSettings(test_scale=0.0))
    belief = np.ones(SIZE)
    policy.begin()
    for reward in (-1.0, -1.0, 19.0):
        policy.record(belief, mask, 2, reward)
    policy.end()
    expected = SparseTemporalDifference(SIZE, ACTIONS)
    expected.learn([belief] * 3, [2] * 3, [0.0, 0.0, 17.0])
    assert policy.process.predict(belief, 2) == expected.predict(belief, 2)
    assert policy.act(belief, mask, Rng(1)) == 2
    assert policy.act(belief, np.array([True, True, False]), Rng(1)) == 0
