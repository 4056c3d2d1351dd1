"""Neural policies: what they learn, from what, and that NumPy and PyTorch compute the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mwzeval.pydial.policies import a2c, dqn, enac, gp_sarsa, ppo
from mwzeval.pydial.policies.learner import Exchange, Exploration, Learner
from mwzeval.pydial.policies.neural import IN_NUMPY, adam, discounted, layers, seeded
from mwzeval.pydial.simulator.rng import Rng
from tests.pydial.policies.toy_problems import Corridor, mean_return, play

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = pytest.mark.integration
torch = pytest.importorskip("torch")
SIZE, ACTIONS = Corridor.size, Corridor.actions
EXPLORING = Exploration(0.5, 0.05, 200, None)
NEVER = Exploration(0.0, 0.0, 1, None)
KEEPING: dict[str, Any] = {
    "drop_last": False,
    "exploration": EXPLORING,
    "warm_up": 64,
    "deviation": None,
}
MAKERS: dict[str, Callable[[], Learner]] = {
    "dqn": lambda: dqn.DQN(SIZE, ACTIONS, settings=replace(dqn.PAPER, **KEEPING)),
    "dqn-modern": lambda: dqn.DQN(SIZE, ACTIONS, settings=replace(dqn.MODERN, **KEEPING)),
    "a2c": lambda: a2c.A2C(SIZE, ACTIONS, settings=replace(a2c.PAPER, **KEEPING)),
    "a2c-modern": lambda: a2c.A2C(SIZE, ACTIONS, settings=replace(a2c.MODERN, **KEEPING)),
    "enac": lambda: enac.ENAC(SIZE, ACTIONS, settings=replace(enac.PAPER, **KEEPING)),
    "ppo": lambda: ppo.PPO(SIZE, ACTIONS),
    "gp-sarsa": lambda: gp_sarsa.GPSarsa(SIZE, ACTIONS),
}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def train(policy: Learner, episodes: range) -> None:
    for index in episodes:
        play(policy, Rng(10_000 + index), training=True)


@pytest.mark.parametrize("name", MAKERS)
def test_a_policy_learns_what_is_best_in_a_small_problem(name: str) -> None:
    policy = MAKERS[name]()
    train(policy, range(400))
    assert mean_return(policy) >= 16.5


@pytest.mark.parametrize("name", MAKERS)
def test_a_policy_with_the_same_weights_acts_alike(name: str) -> None:
    learned, acting = MAKERS[name](), MAKERS[name]()
    train(learned, range(90))
    acting.load(learned.weights())
    assert mean_return(acting) == mean_return(learned)


@pytest.mark.parametrize(
    ("dialogue", "share"),
    [(0, 0.3), (500, 0.2625), (999, 0.225075), (1000, 0.3), (3500, 0.2625)],
)
def test_published_exploration_starts_again_every_thousand_dialogues(
    dialogue: int, share: float
) -> None:
    assert Exploration().share(dialogue) == pytest.approx(share)


def test_exploration_that_does_not_restart_ends_where_it_should() -> None:
    exploration = Exploration(0.3, 0.05, 4000, None)
    assert [exploration.share(at) for at in (0, 2000, 4000, 9000)] == pytest.approx(
        [0.3, 0.175, 0.05, 0.05]
    )


def test_discounted_sums_are_those_of_the_definition() -> None:
    rewards = np.array([1.0, -2.0, 0.5, 4.0])
    expected = [sum(0.9 ** (j - i) * rewards[j] for j in range(i, 4)) for i in range(4)]
    assert discounted(rewards, 0.9) == pytest.approx(expected)


def exchanges(rewards: list[float], seed: int = 0) -> list[Exchange]:
    rng = np.random.default_rng(seed)
    return [
        Exchange(
            rng.random(SIZE).astype(np.float32),
            np.array([True, True, index % 2 == 0]),
            int(rng.integers(0, 2)),
            reward,
        )
        for index, reward in enumerate(rewards)
    ]


def finished(policy: Learner, dialogue: list[Exchange]) -> None:
    policy.begin()
    for exchange in dialogue:
        policy.record(*exchange)
    policy.end()


def test_published_dqn_forgets_the_last_exchange_and_credits_the_one_before() -> None:
    policy = dqn.DQN(SIZE, ACTIONS)
    dialogue = exchanges([-1.0, -1.0, -1.0, 19.0])
    finished(policy, dialogue)
    kept = policy.transitions.columns
    assert policy.transitions.number == 3
    assert kept["reward"][:3] == pytest.approx([-0.05, -0.05, 0.95])
    assert kept["left"][:3] == pytest.approx([0.99, 0.99, 0.0])
    for index in range(2):
        assert np.array_equal(kept["next_state"][index], dialogue[index + 1].state)
        assert np.array_equal(kept["next_mask"][index], dialogue[index + 1].mask)
    finished(policy, exchanges([19.0]))
    assert policy.transitions.number == 3


def test_legacy_dqn_uses_the_masks_of_the_end_of_the_dialogue() -> None:
    policy = dqn.DQN(SIZE, ACTIONS, settings=dqn.LEGACY)
    dialogue = exchanges([-1.0, -1.0, -1.0, 19.0])
    finished(policy, dialogue)
    masks = policy.transitions.columns["next_mask"][:3]
    assert all(np.array_equal(mask, dialogue[-1].mask) for mask in masks)


def test_returns_over_several_steps_stop_at_the_end() -> None:
    settings = replace(dqn.MODERN, steps=3, discount=0.5, drop_last=False)
    policy = dqn.DQN(SIZE, ACTIONS, settings=settings)
    dialogue = exchanges([-20.0, -20.0, -20.0, 380.0])
    finished(policy, dialogue)
    kept = policy.transitions.columns
    assert kept["reward"][:4] == pytest.approx([-1.75, 3.25, 8.5, 19.0])
    assert kept["left"][:4] == pytest.approx([0.125, 0.0, 0.0, 0.0])
    assert np.array_equal(kept["next_state"][0], dialogue[3].state)


def test_old_transitions_make_room_for_new_ones() -> None:
    kept = dqn.Transitions(3)
    for number in range(5):
        kept.add(value=np.float32(number))
    assert kept.number == 3
    assert sorted(kept.columns["value"].tolist()) == [2.0, 3.0, 4.0]
    assert set(kept.draw(np.random.default_rng(0), 100)["value"].tolist()) == {2.0, 3.0, 4.0}


def test_a2c_advantages_are_discounted_sums_of_temporal_differences() -> None:
    dialogue = exchanges([-0.05, -0.05, 0.95])
    values = np.array([0.2, -0.1, 0.4])
    returns, advantages = a2c.targets(dialogue, values, 0.9)
    deltas = [-0.05 + 0.9 * -0.1 - 0.2, -0.05 + 0.9 * 0.4 + 0.1, 0.95 - 0.4]
    assert returns == pytest.approx([-0.05 + 0.9 * (-0.05 + 0.9 * 0.95), -0.05 + 0.855, 0.95])
    assert advantages == pytest.approx(
        [deltas[0] + 0.9 * deltas[1] + 0.81 * deltas[2], deltas[1] + 0.9 * deltas[2], deltas[2]]
    )


def test_the_natural_gradient_is_that_of_the_pseudo_inverse() -> None:
    settings = replace(enac.PAPER, hidden=(7, 5), deviation=0.3, cutoff=1e-13)
    policy = enac.ENAC(SIZE, ACTIONS, settings=settings)
    batch = [exchanges([-0.05] * length, seed=length) for length in (1, 2, 3, 4, 6)]
    worth = np.array([0.9, -0.2, 0.5, 0.1, -1.0])
    policy.network.double()
    rows = []
    for dialogue in batch:
        losses = policy._forward(*tensors(dialogue))[2]
        gradient = torch.autograd.grad(losses.sum(), list(policy.network.parameters()))
        rows.append(np.append(np.concatenate([part.numpy().ravel() for part in gradient]), 1.0))
    matrix = np.array(rows)
    expected = np.linalg.pinv(matrix) @ worth
    states, actions = tensors([exchange for dialogue in batch for exchange in dialogue])
    inputs, outputs, losses, _ = policy._forward(states, actions)
    returned = torch.autograd.grad(losses.sum(), outputs)
    gradient = enac.natural_gradient(
        [layer.detach().numpy() for layer in inputs],
        [layer.numpy() for layer in returned],
        [len(dialogue) for dialogue in batch],
        worth,
        settings.cutoff,
    )
    found = np.concatenate([part.ravel() for part in gradient])
    assert found == pytest.approx(expected[:-1], rel=1e-6, abs=1e-9)


def tensors(dialogue: list[Exchange]) -> tuple[Tensor, Tensor]:
    states = torch.tensor(np.stack([exchange.state for exchange in dialogue]), dtype=torch.double)
    return states, torch.tensor([exchange.action for exchange in dialogue])


@pytest.mark.parametrize(
    ("credit", "certainly", "doubtfully"), [("last", 0.95, 0.475), ("return", 0.85, 0.425)]
)
def test_enac_credits_a_dialogue_with_its_last_reward_or_its_return(
    credit: str, certainly: float, doubtfully: float
) -> None:
    settings = replace(enac.PAPER, credit=credit, discount=1.0)  # type: ignore[arg-type]
    policy = enac.ENAC(SIZE, ACTIONS, settings=settings)
    dialogue = enac.Played(tuple(exchanges([-0.05, -0.05, 0.95])), np.array([0.5, 0.5, 0.5]))
    certain = np.array([0.5, 0.5, 0.5])
    assert policy._dialogue_values([dialogue], [certain])[0] == pytest.approx(certainly)
    doubtful = np.array([0.05, 0.5, 0.5])
    assert policy._dialogue_values([dialogue], [doubtful])[0] == pytest.approx(doubtfully)


def test_ppo_weighs_temporal_differences_by_discount_and_trace() -> None:
    dialogue = exchanges([-0.05, -0.05, 0.95])
    values = np.array([0.2, -0.1, 0.4])
    deltas = [-0.05 + 0.9 * -0.1 - 0.2, -0.05 + 0.9 * 0.4 + 0.1, 0.95 - 0.4]
    weight = 0.9 * 0.8
    assert ppo.advantages(dialogue, values, 0.9, 0.8) == pytest.approx(
        [deltas[0] + weight * deltas[1] + weight**2 * deltas[2], deltas[1] + weight * deltas[2],
         deltas[2]]
    )  # fmt: skip


@pytest.mark.parametrize("setting", ["discount", "trace"])
def test_ppo_learns_something_else_with_another_discount_or_trace(setting: str) -> None:
    learned = []
    for value in (0.99, 0.95, 0.5):
        policy = ppo.PPO(SIZE, ACTIONS, settings=replace(ppo.MODERN, **{setting: value}))  # type: ignore[arg-type]
        train(policy, range(policy.settings.every))
        learned.append(policy.weights()["policy.0.weight"].copy())
    assert not any(np.array_equal(learned[a], learned[b]) for a, b in ((0, 1), (0, 2), (1, 2)))


def test_ppo_has_the_discount_trace_and_clip_of_its_paper() -> None:
    """Schulman et al. (2017), Table 3."""
    settings = ppo.PPOSettings()
    assert (settings.discount, settings.trace, settings.clip) == (0.99, 0.95, 0.2)


DRAWERS: dict[str, Callable[[], Any]] = {
    "ppo": lambda: ppo.PPO(SIZE, ACTIONS),
    "a2c-modern": lambda: a2c.A2C(
        SIZE, ACTIONS, settings=replace(a2c.MODERN, deviation=None, exploration=NEVER)
    ),
}


@pytest.mark.parametrize("name", DRAWERS)
def test_actions_are_drawn_as_often_as_they_should(name: str) -> None:
    policy = DRAWERS[name]()
    train(policy, range(40))
    state = np.ones(SIZE, dtype=np.float32)
    mask = np.array([True, False, True])
    scores = policy.scores(state)
    chances = np.exp(scores[[0, 2]]) / np.exp(scores[[0, 2]]).sum()
    rng = Rng(5)
    for training in (True, False):
        drawn = np.array([policy.act(state, mask, rng, training) for _ in range(4000)])
        assert set(drawn.tolist()) == {0, 2}
        assert np.mean(drawn == 0) == pytest.approx(chances[0], abs=0.03)


@pytest.mark.parametrize(
    ("policy", "in_training", "in_tests"),
    [
        (ppo.PPO(SIZE, ACTIONS, settings=replace(ppo.MODERN, greedy=True)), True, False),
        (a2c.A2C(SIZE, ACTIONS, settings=replace(a2c.PAPER, exploration=NEVER)), False, False),
        (
            a2c.A2C(
                SIZE, ACTIONS, settings=replace(a2c.PAPER, exploration=NEVER, draws="training")
            ),
            True,
            False,
        ),
        (a2c.A2C(SIZE, ACTIONS, settings=replace(a2c.MODERN, exploration=NEVER)), True, True),
    ],
    ids=["greedy ppo", "a2c", "a2c that draws in training", "a2c-modern"],
)
def test_a_policy_draws_when_it_should(policy: Any, in_training: bool, in_tests: bool) -> None:
    state, mask = np.ones(SIZE, dtype=np.float32), np.array([True, False, True])
    best = int(np.where(mask, policy.scores(state), -np.inf).argmax())
    for training, draws in ((True, in_training), (False, in_tests)):
        taken = {policy.act(state, mask, Rng(n), training) for n in range(30)}
        assert taken == ({0, 2} if draws else {best})


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
