"""Networks that slots share: what they know of a domain is its slots, in any order and number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.slot_features import OF_DIALOGUE, OF_SLOT
from mwzeval.pydial.policies.learner import Exchange
from mwzeval.pydial.policies.ppo_shared import MODERN, SharedPPO
from mwzeval.pydial.runs.episodes import TaskRunner
from mwzeval.pydial.runs.job import Job, runner_of

pytestmark = pytest.mark.integration
torch = pytest.importorskip("torch")
DOMAINS = ("Demo-CR", "Demo-SFR", "Demo-LAP")
States = NDArray[np.float32]


def runner(domain: str) -> TaskRunner:
    return runner_of(Job(f"{domain}-3", "ppo-shared", 0, (1,)))


def policy_of(slots: int, seed: int = 1, every: int = MODERN.every) -> SharedPPO:
    torch.set_num_threads(1)
    settings = replace(MODERN, every=every)
    size = len(OF_DIALOGUE) + slots * len(OF_SLOT)
    return SharedPPO(size, 3 * slots + 7, settings=settings, seed=seed)


def states_of(slots: int, number: int = 20) -> States:
    """Return vectors of probabilities of which all slots are there."""
    size = len(OF_DIALOGUE) + slots * len(OF_SLOT)
    states = np.random.default_rng(slots).random((number, size), dtype=np.float32)
    states[:, len(OF_DIALOGUE) :: len(OF_SLOT)] = 1.0
    return states


def values(policy: SharedPPO, states: States) -> States:
    with torch.no_grad():
        found: States = policy._values(torch.from_numpy(states)).numpy()
    return found


def learned(slots: int) -> SharedPPO:
    """Return a policy that is not what it was in the beginning."""
    policy = policy_of(slots, every=2)
    rng = Rng(1)
    mask = np.ones(policy.actions, dtype=np.bool_)
    for _ in range(4):
        policy.begin()
        for number, state in enumerate(states_of(slots, 5)):
            policy.record(state, mask, policy.act(state, mask, rng, True), float(number))
        policy.end()
    return policy


def test_other_orders_of_slots_are_other_orders_of_actions() -> None:
    policy, states = learned(6), states_of(6)
    order = np.random.default_rng(0).permutation(6)
    slots = states[:, len(OF_DIALOGUE) :].reshape(len(states), 6, -1)[:, order]
    moved = np.hstack([states[:, : len(OF_DIALOGUE)], slots.reshape(len(states), -1)])
    scores, of_moved = policy.scores(states), policy.scores(moved)
    about = scores[:, :18].reshape(-1, 6, 3)[:, order].reshape(-1, 18)
    np.testing.assert_allclose(of_moved[:, :18], about, atol=2e-6)
    np.testing.assert_allclose(of_moved[:, 18:], scores[:, 18:], atol=2e-6)
    np.testing.assert_allclose(values(policy, moved), values(policy, states), atol=2e-6)
    assert np.ptp(scores[:, :18:3], axis=1).min() > 1e-4, "slots that differ score differently"


def test_slots_know_of_each_other() -> None:
    policy, states = learned(3), states_of(3)
    changed = states.copy()
    changed[:, -1] += 1.0  # of the last slot
    first = policy.scores(states)[:, :3] - policy.scores(changed)[:, :3]
    assert np.abs(first).max() > 1e-4


def test_scores_of_one_state_are_those_of_many() -> None:
    policy, states = learned(3), states_of(3)
    alone = np.stack([policy.scores(state) for state in states])
    np.testing.assert_allclose(alone, policy.scores(states), atol=2e-6)


def test_slots_that_are_not_there_change_nothing() -> None:
    narrow, wide = learned(3), policy_of(5)
    wide.remember(narrow.memory(whole=False), whole=False)
    states = states_of(3)
    padded = np.pad(states, ((0, 0), (0, 2 * len(OF_SLOT))))
    scores, of_padded = narrow.scores(states), wide.scores(padded)
    np.testing.assert_allclose(of_padded[:, :9], scores[:, :9], atol=2e-6)
    np.testing.assert_allclose(of_padded[:, 15:], scores[:, 9:], atol=2e-6)
    np.testing.assert_allclose(values(wide, padded), values(narrow, states), atol=2e-6)


@pytest.mark.parametrize("slots", [3, 5])
def test_exchanges_of_few_slots_are_kept_with_room_for_more(slots: int) -> None:
    policy, state = policy_of(5), states_of(slots)[0]
    actions = 3 * slots + 7
    mask = np.arange(actions) % 2 == 0
    policy.begin()
    for action in range(actions):
        policy.record(state, mask, action, -1.0)
    for action, kept in enumerate(policy._kept()):
        behind = action >= 3 * slots
        assert kept.action == action + behind * 3 * (5 - slots)
        assert kept.mask[kept.action] == mask[action]
        assert kept.mask.sum() == mask.sum()
        assert kept.state.shape == (policy.size,)
        assert np.array_equal(kept.state[: len(state)], state)
        assert not kept.state[len(state) :].any()
    assert isinstance(kept, Exchange)


def test_a_policy_learns_from_few_slots_in_room_for_more_what_it_learns_without() -> None:
    without, with_room = policy_of(3, every=2), policy_of(5, every=2)
    mask = np.ones(16, dtype=np.bool_)
    for _ in range(2):
        for policy in (without, with_room):
            policy.begin()
            for number, state in enumerate(states_of(3)):
                policy.record(state, mask, number % 16, float(number))
            policy.end()
    mine, theirs = (policy.memory(whole=False).arrays for policy in (without, with_room))
    for name, array in mine.items():
        np.testing.assert_allclose(array, theirs[name], atol=1e-5)


def test_the_same_parameters_act_in_every_domain() -> None:
    runners = [runner(domain) for domain in DOMAINS]
    assert [of.actions for of in runners] == [16, 25, 40]
    policies = [policy_of((of.actions - 7) // 3) for of in runners]
    shapes = [
        {name: array.shape for name, array in policy.memory(whole=False).arrays.items()}
        for policy in policies
    ]
    assert shapes[0] == shapes[1] == shapes[2]
    first, *others = policies
    for policy, of in zip(others, runners[1:], strict=True):
        policy.remember(first.memory(whole=False), whole=False)
        # What was made for a domain of few slots need not be made for another to act there.
        assert of.test(first, 1, 0) == of.test(policy, 1, 0)


def test_sizes_and_actions_of_no_domain_are_refused() -> None:
    with pytest.raises(ValueError, match="17 actions are not those of 3 slots"):
        SharedPPO(len(OF_DIALOGUE) + 3 * len(OF_SLOT), 17)
