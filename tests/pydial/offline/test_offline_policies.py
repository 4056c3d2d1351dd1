"""Behaviour cloning and CQL: against NumPy, dynamic programming, and what was cloned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.pydial.offline.bc import BC, BCSettings
from mwzeval.pydial.offline.cql import CQL, CQLSettings
from mwzeval.pydial.offline.offline_learning import (
    OfflinePolicy,
    drawn_from,
    transitions_of,
)
from mwzeval.pydial.policies.neural import REWARD_SCALE

pytestmark = pytest.mark.integration
torch = pytest.importorskip("torch")
SIZE, ACTIONS = 6, 4


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def watched(policy: OfflinePolicy, number: int, seed: int = 0) -> None:
    """Show a policy dialogues of noise in which what is done is allowed."""
    generator = np.random.default_rng(seed)
    for _ in range(number):
        policy.begin()
        for _ in range(int(generator.integers(1, 6))):
            mask = generator.random(ACTIONS) < 0.6
            action = int(generator.integers(ACTIONS))
            mask[action] = True
            state = generator.random(SIZE).astype(np.float32)
            policy.record(state, mask, action, float(generator.normal()))
        policy.end()


def through(arrays: dict[str, NDArray[Any]], name: str, state: NDArray[Any]) -> NDArray[Any]:
    """Return what a network of two hidden layers says, computed in float64."""
    values = state.astype(np.float64)
    for layer in (0, 2, 4):
        values = arrays[f"{name}.{layer}.weight"] @ values + arrays[f"{name}.{layer}.bias"]
        if layer < 4:
            values = np.maximum(values, 0)
    return values


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_the_loss_of_cql_is_that_of_the_paper_exchange_by_exchange(alpha: float) -> None:
    settings = CQLSettings(
        hidden=(9, 5), alpha=alpha, updates=7, discount=0.9, target_rate=0.3, dropout=0.0
    )
    policy = CQL(SIZE, ACTIONS, settings=settings, seed=1)
    watched(policy, 20)
    policy.fit()  # now target and online networks differ
    arrays = policy.memory().arrays
    losses = []
    for dialogue in policy.watched:
        for at, exchange in enumerate(dialogue):
            goal = exchange.reward
            if at + 1 < len(dialogue):
                then = dialogue[at + 1]
                online = through(arrays, "network", then.state)
                allowed = [action for action in range(ACTIONS) if then.mask[action]]
                best = max(allowed, key=lambda action: online[action])
                goal += 0.9 * through(arrays, "target", then.state)[best]
            values = through(arrays, "network", exchange.state)
            done = values[exchange.action]
            total = sum(np.exp(values[action]) for action in np.flatnonzero(exchange.mask))
            losses.append(alpha * (np.log(total) - done) + 0.5 * (done - goal) ** 2)
    columns = {k: torch.from_numpy(v) for k, v in transitions_of(policy.watched).items()}
    everything = drawn_from(columns, torch.arange(len(losses)))
    assert policy.loss(everything).item() == pytest.approx(np.mean(losses), rel=1e-4)


def test_behaviour_cloning_maximises_what_was_done_among_what_was_allowed() -> None:
    policy = BC(SIZE, ACTIONS, settings=BCSettings(hidden=(9, 5), updates=3), seed=1)
    watched(policy, 20)
    policy.fit()
    arrays = policy.memory().arrays
    losses = []
    for exchange in (each for dialogue in policy.watched for each in dialogue):
        values = through(arrays, "network", exchange.state)
        shares = np.exp(values) * exchange.mask
        losses.append(-np.log(shares[exchange.action] / shares.sum()))
    columns = {k: torch.from_numpy(v) for k, v in transitions_of(policy.watched).items()}
    everything = drawn_from(columns, torch.arange(len(losses)))
    assert policy.loss(everything).item() == pytest.approx(np.mean(losses), rel=1e-4)


STATES, DISCOUNT = 4, 0.9
NEXT = np.array([[1, 2], [3, 0], [3, 3], [-1, 0]])
"""Where an action leads; -1: to the end."""
REWARDS = np.array([[-1.0, -1.0], [-1.0, -4.0], [-8.0, -1.0], [20.0, -2.0]])
MASKS = np.array([[True, True], [True, True], [True, False], [True, True]])


def optimal_values() -> NDArray[np.float64]:
    """Return Q of the best policy by dynamic programming, in units of `REWARD_SCALE`."""
    values = np.zeros((STATES, 2))
    for _ in range(300):
        best = np.where(MASKS, values, -np.inf).max(axis=1)
        values = REWARDS / REWARD_SCALE + DISCOUNT * np.where(NEXT >= 0, best[NEXT], 0.0)
    return values


def explored(policy: OfflinePolicy, *, without: tuple[int, int] | None = None) -> None:
    """Show a policy every allowed action of every state, but for one."""
    generator = np.random.default_rng(5)
    one_of = np.eye(STATES, dtype=np.float32)
    for _ in range(150):
        at = int(generator.integers(STATES))
        policy.begin()
        while at >= 0:
            open_ = [a for a in (0, 1) if MASKS[at, a] and (at, a) != without]
            action = int(generator.choice(open_))
            policy.record(one_of[at], MASKS[at], action, float(REWARDS[at, action]))
            at = int(NEXT[at, action])
        policy.end()


def fitted(alpha: float, without: tuple[int, int] | None = None) -> NDArray[np.float32]:
    settings = CQLSettings(hidden=(32,), alpha=alpha, updates=1500, discount=DISCOUNT, dropout=0.0)
    policy = CQL(STATES, 2, settings=settings, seed=2)
    explored(policy, without=without)
    policy.fit()
    return policy.scores(np.eye(STATES, dtype=np.float32))


def test_without_conservatism_it_reaches_the_values_of_dynamic_programming() -> None:
    found, best = fitted(0.0), optimal_values()
    assert np.abs(found - best)[MASKS].max() < 0.03
    assert (np.where(MASKS, found, -9).argmax(1) == np.where(MASKS, best, -9).argmax(1)).all()


def test_what_was_never_done_is_valued_lower_the_more_conservative_it_is() -> None:
    unseen = (1, 1)
    values = [fitted(alpha, without=unseen)[1] for alpha in (0.0, 0.1, 1.0)]
    gaps = [float(seen - not_done) for seen, not_done in values]
    assert gaps[0] < gaps[1] < gaps[2]
    assert values[2][1] < values[0][1]


def test_cql_is_better_than_what_was_done_where_a_clone_cannot_be() -> None:
    """In each state of a row most dialogues end; who goes on to the last reaches the goal."""
    length, end, on = 3, 0, 1
    goes_on, ends = -1.0, -1.0
    values = np.zeros((length + 1, 2))
    values[length] = 20.0 / REWARD_SCALE
    for _ in range(length):  # value iteration, from the end
        for at in range(length):
            values[at] = ends / REWARD_SCALE, goes_on / REWARD_SCALE + 0.99 * values[at + 1].max()
    assert (values[:length].argmax(1) == on).all()
    policies = (
        BC(length, 2, settings=BCSettings(hidden=(32,), updates=600), seed=0),
        CQL(length, 2, settings=CQLSettings(hidden=(32,), updates=600), seed=0),
    )
    one_of = np.eye(length, dtype=np.float32)
    for policy in policies:
        generator = np.random.default_rng(7)
        for _ in range(400):
            policy.begin()
            for at in range(length):
                action = on if generator.random() < 0.35 else end
                reward = ends if action == end else goes_on + 20.0 * 0.99 * (at == length - 1)
                policy.record(one_of[at], np.ones(2, dtype=np.bool_), action, reward)
                if action == end:
                    break
            policy.end()
        policy.fit()
    clone, conservative = (policy.scores(one_of) for policy in policies)
    assert (clone.argmax(1) == end).all()
    assert (conservative.argmax(1) == on).all()
    assert (conservative[:, on] < values[:length, on] + 0.05).all()


def test_units_are_left_out_where_it_learns_alone_and_as_the_seed_says() -> None:
    state = torch.from_numpy(np.random.default_rng(0).random((1, SIZE)).astype(np.float32))
    states = state.repeat(4000, 1)
    one, other = (
        CQL(SIZE, ACTIONS, settings=CQLSettings(hidden=(64,), dropout=0.5), seed=3)
        for _ in range(2)
    )
    with torch.no_grad():
        thinned = one._with_dropout(states)
        assert torch.equal(thinned, other._with_dropout(states))
        assert thinned.std(0).min() > 0
        plain = one.network(states)
        assert plain.std(0).max() < 1e-6
        assert (thinned.mean(0) - plain[0]).abs().max() < 5 * (thinned.std(0) / 4000**0.5).max()


def test_a_deterministic_policy_is_cloned() -> None:
    policy = BC(SIZE, ACTIONS, settings=BCSettings(hidden=(64,), updates=1500), seed=0)
    generator = np.random.default_rng(2)
    weights = generator.normal(size=(ACTIONS, SIZE))

    def taken(state: NDArray[Any], mask: NDArray[np.bool_]) -> int:
        return int(np.where(mask, weights @ state, -np.inf).argmax())

    def drawn() -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        mask = generator.random(ACTIONS) < 0.6
        mask[int(generator.integers(ACTIONS))] = True
        return generator.normal(size=SIZE).astype(np.float32), mask

    for _ in range(400):
        policy.begin()
        for _ in range(5):
            state, mask = drawn()
            policy.record(state, mask, taken(state, mask), -1.0)
        policy.end()
    policy.fit()
    new = [drawn() for _ in range(300)]
    same = [policy.act(state, mask, None) == taken(state, mask) for state, mask in new]  # type: ignore[arg-type]
    assert np.mean(same) > 0.95


@pytest.mark.parametrize("kind", [BC, CQL])
def test_the_same_dialogues_and_seed_give_the_same_policy(kind: Any) -> None:
    settings = {BC: BCSettings(updates=20), CQL: CQLSettings(updates=20)}[kind]
    one, other = (kind(SIZE, ACTIONS, settings=settings, seed=4) for _ in range(2))
    for policy in (one, other):
        watched(policy, 10)
        policy.fit()
    mine, theirs = one.memory(), other.memory()
    assert all(np.array_equal(array, theirs.arrays[key]) for key, array in mine.arrays.items())
    again = kind(SIZE, ACTIONS, settings=settings, seed=9)
    again.remember(mine)
    state = np.full(SIZE, 0.5, dtype=np.float32)
    assert np.array_equal(again.scores(state), one.scores(state))
