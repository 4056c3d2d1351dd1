"""Layers of PyTorch that compute in NumPy what goes through them alone."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from mwzeval.pydial.policies import dqn
from mwzeval.pydial.policies.in_numpy import IN_NUMPY
from mwzeval.pydial.policies.neural import adam, layers, seeded

pytestmark = pytest.mark.integration
torch = pytest.importorskip("torch")
STATES = np.random.default_rng(0).normal(0, 4, (5, 12)).astype(np.float32)


def assert_same(network: Any) -> None:
    with torch.no_grad():
        expected = network(torch.from_numpy(STATES)).numpy()
    assert np.array([network(state) for state in STATES]) == pytest.approx(
        expected, rel=1e-5, abs=1e-6
    )


@pytest.mark.parametrize("activation", IN_NUMPY)
@pytest.mark.parametrize("open_end", [True, False])
def test_numpy_gives_what_pytorch_gives(activation: str, open_end: bool) -> None:
    how: dict[str, Any] = {"activation": activation, "deviation": None, "open_end": open_end}
    network = layers((12, 30, 9), seeded(1), **how)
    state = STATES[0].copy()
    assert_same(network)
    assert np.array_equal(STATES[0], state)


def test_numpy_sees_all_changes_of_weights_and_copies_have_their_own() -> None:
    network = layers((12, 30, 9), seeded(1), deviation=None)
    assert_same(network)
    copy = deepcopy(network)
    before = network(STATES[0])
    network(torch.from_numpy(STATES)).sum().backward()
    adam(network.parameters(), 0.1).step()
    assert not np.allclose(network(STATES[0]), before)
    assert_same(network)
    assert np.array_equal(copy(STATES[0]), before)
    copy.load_state_dict(network.state_dict())
    assert np.array_equal(copy(STATES[0]), network(STATES[0]))


def test_scores_are_the_same_bits_in_any_company() -> None:
    policy = dqn.DQN(268, 15, settings=dqn.MODERN)
    states = np.random.default_rng(1).random((7, 268), dtype=np.float32)
    together = policy.scores(states)
    for number, state in enumerate(states):
        assert np.array_equal(policy.scores(state), together[number])
        assert np.array_equal(policy.scores(state.copy()), together[number])
