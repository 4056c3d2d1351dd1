"""Neural policies: learning, their inputs, and agreement of NumPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.pydial.policies import Learner, a2c, dqn, enac, gp_sarsa, ppo
from mwzeval.pydial.policies.neural import IN_NUMPY, Exchange, Exploration, adam, layers, seeded
from mwzeval.pydial.simulator.rng import Rng

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = pytest.mark.integration
torch = pytest.importorskip("torch")


class Corridor:
    """Request two slots, then say goodbye: a reward of 20, and -1 for each turn.

    An early goodbye has no reward, and repeated requests are masked. The best return is 17.
    """

    size, actions = 4, 3

    def __init__(self) -> None:
        self.asked = [False, False]

    @property
    def state(self) -> NDArray[np.float32]:
        return np.array([*self.asked, *(not a for a in self.asked)], dtype=np.float32)

    @property
    def mask(self) -> NDArray[np.bool_]:
        return np.array([not self.asked[0], not self.asked[1], True])

    def step(self, action: int) -> tuple[float, bool]:
        if action < 2:
            self.asked[action] = True
            return -1.0, False
        return (19.0 if all(self.asked) else -1.0), True


def play(policy: Learner, rng: Rng, *, training: bool) -> float:
    """Play an episode and return its total reward; masked actions are an error."""
    world, total, ended = Corridor(), 0.0, False
    if training:
        policy.begin()
    while not ended:
        state, mask = world.state, world.mask
        action = policy.act(state, mask, rng, training)
        assert mask[action]
        reward, ended = world.step(action)
        total += reward
        if training:
            policy.record(state, mask, action, reward)
    if training:
        policy.end()
    return total


def train(policy: Learner, episodes: int) -> None:
    for index in range(episodes):
        play(policy, Rng(10_000 + index), training=True)


def mean_return(policy: Learner) -> float:
    return float(np.mean([play(policy, Rng(index), training=False) for index in range(50)]))


SIZE, ACTIONS = Corridor.size, Corridor.actions
EXPLORING = Exploration(0.5, 0.05, 200, None)
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


@pytest.mark.parametrize("name", MAKERS)
def test_policies_learn_a_small_problem(name: str) -> None:
    policy = MAKERS[name]()
    train(policy, 400)
    assert mean_return(policy) >= 16.5


@pytest.mark.parametrize("name", MAKERS)
def test_policies_with_the_same_weights_act_the_same(name: str) -> None:
    learned, acting = MAKERS[name](), MAKERS[name]()
    train(learned, 90)
    acting.load(learned.weights())
    assert mean_return(acting) == mean_return(learned)


@pytest.mark.parametrize(
    ("exploration", "shares"),
    [
        # The schedule of the published program restarts after every thousand dialogues.
        (Exploration(), {0: 0.3, 500: 0.2625, 999: 0.225075, 1000: 0.3, 3500: 0.2625}),
        (Exploration(0.3, 0.05, 4000, None), {0: 0.3, 2000: 0.175, 4000: 0.05, 9000: 0.05}),
    ],
)
def test_exploration_follows_its_schedule(
    exploration: Exploration, shares: dict[int, float]
) -> None:
    assert {dialogue: exploration.share(dialogue) for dialogue in shares} == pytest.approx(shares)


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


def test_published_dqn_moves_the_final_reward_to_the_exchange_before_it() -> None:
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


def test_legacy_dqn_uses_the_last_mask_for_all_transitions() -> None:
    policy = dqn.DQN(SIZE, ACTIONS, settings=dqn.LEGACY)
    dialogue = exchanges([-1.0, -1.0, -1.0, 19.0])
    finished(policy, dialogue)
    masks = policy.transitions.columns["next_mask"][:3]
    assert all(np.array_equal(mask, dialogue[-1].mask) for mask in masks)


def test_multi_step_returns_stop_at_the_end_of_the_dialogue() -> None:
    settings = replace(dqn.MODERN, steps=3, discount=0.5, drop_last=False)
    policy = dqn.DQN(SIZE, ACTIONS, settings=settings)
    dialogue = exchanges([-20.0, -20.0, -20.0, 380.0])
    finished(policy, dialogue)
    kept = policy.transitions.columns
    assert kept["reward"][:4] == pytest.approx([-1.75, 3.25, 8.5, 19.0])
    assert kept["left"][:4] == pytest.approx([0.125, 0.0, 0.0, 0.0])
    assert np.array_equal(kept["next_state"][0], dialogue[3].state)


def test_new_transitions_replace_the_oldest() -> None:
    kept = dqn.Transitions(3)
    for number in range(5):
        kept.add(value=np.float32(number))
    assert kept.number == 3
    assert sorted(kept.columns["value"].tolist()) == [2.0, 3.0, 4.0]
    assert set(kept.draw(np.random.default_rng(0), 100)["value"].tolist()) == {2.0, 3.0, 4.0}


def test_advantages_are_weighted_sums_of_temporal_differences() -> None:
    dialogue, values = exchanges([-0.05, -0.05, 0.95]), np.array([0.2, -0.1, 0.4])
    deltas = [-0.05 + 0.9 * -0.1 - 0.2, -0.05 + 0.9 * 0.4 + 0.1, 0.95 - 0.4]

    def summed(terms: list[float], weight: float) -> Any:
        sums = [sum(weight**j * term for j, term in enumerate(terms[at:])) for at in range(3)]
        return pytest.approx(sums)

    returns, advantages = a2c.targets(dialogue, values, 0.9)
    assert returns == summed([-0.05, -0.05, 0.95], 0.9)
    assert advantages == summed(deltas, 0.9)
    assert ppo.advantages(dialogue, values, 0.9, 0.8) == summed(deltas, 0.9 * 0.8)


def test_natural_gradient_matches_the_pseudo_inverse() -> None:
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


def test_enac_credits_a_dialogue_with_its_last_reward() -> None:
    policy = enac.ENAC(SIZE, ACTIONS)
    dialogue = enac.Played(tuple(exchanges([-0.05, -0.05, 0.95])), np.array([0.5, 0.5, 0.5]))
    certain = np.array([0.5, 0.5, 0.5])
    doubtful = np.array([0.05, 0.5, 0.5])
    values = [policy._dialogue_values([dialogue], [p])[0] for p in (certain, doubtful)]
    assert values == pytest.approx([0.95, 0.475])


@pytest.mark.parametrize("setting", ["discount", "trace"])
def test_ppo_discount_and_trace_change_the_learned_weights(setting: str) -> None:
    learned = []
    for value in (0.99, 0.95, 0.5):
        policy = ppo.PPO(SIZE, ACTIONS, settings=replace(ppo.MODERN, **{setting: value}))  # type: ignore[arg-type]
        train(policy, policy.settings.every)
        learned.append(policy.weights()["policy.0.weight"].copy())
    assert not any(np.array_equal(learned[a], learned[b]) for a, b in ((0, 1), (0, 2), (1, 2)))


def test_ppo_defaults_match_the_discount_trace_and_clip_of_its_paper() -> None:
    """The defaults are those of Schulman et al. (2017), Table 3."""
    settings = ppo.PPOSettings()
    assert (settings.discount, settings.trace, settings.clip) == (0.99, 0.95, 0.2)


STEADY: dict[str, Any] = {"exploration": Exploration(0.0, 0.0, 1, None)}
DRAWERS: dict[str, tuple[Callable[[], Any], bool, bool]] = {
    "ppo": (lambda: ppo.PPO(SIZE, ACTIONS), True, True),
    "a2c": (lambda: a2c.A2C(SIZE, ACTIONS, settings=replace(a2c.PAPER, **STEADY)), False, False),
    "a2c that draws in training": (
        lambda: a2c.A2C(SIZE, ACTIONS, settings=replace(a2c.PAPER, draws="training", **STEADY)),
        *(True, False),
    ),
    "a2c-modern": (
        lambda: a2c.A2C(SIZE, ACTIONS, settings=replace(a2c.MODERN, deviation=None, **STEADY)),
        *(True, True),
    ),
}


@pytest.mark.parametrize("name", DRAWERS)
def test_actions_are_sampled_with_their_probabilities_or_greedily(name: str) -> None:
    make, in_training, in_tests = DRAWERS[name]
    policy = make()
    train(policy, 40)
    state, mask = np.ones(SIZE, dtype=np.float32), np.array([True, False, True])
    weights = np.exp(policy.scores(state)) * mask
    rng = Rng(5)
    for training, draws in ((True, in_training), (False, in_tests)):
        chosen = [policy.act(state, mask, rng, training) for _ in range(4000)]
        shares = np.bincount(chosen, minlength=ACTIONS) / len(chosen)
        best = np.eye(ACTIONS)[weights.argmax()]
        expected = weights / weights.sum() if draws else best
        assert shares == pytest.approx(expected, abs=0.03 * draws)


STATES = np.random.default_rng(0).normal(0, 4, (5, 12)).astype(np.float32)


def assert_same(network: Any) -> None:
    with torch.no_grad():
        expected = network(torch.from_numpy(STATES)).numpy()
    assert np.array([network(state) for state in STATES]) == pytest.approx(
        expected, rel=1e-5, abs=1e-6
    )


@pytest.mark.parametrize("activation", IN_NUMPY)
@pytest.mark.parametrize("open_end", [True, False])
def test_numpy_outputs_match_pytorch(activation: str, open_end: bool) -> None:
    how: dict[str, Any] = {"activation": activation, "deviation": None, "open_end": open_end}
    network = layers((12, 30, 9), seeded(1), **how)
    state = STATES[0].copy()
    assert_same(network)
    assert np.array_equal(STATES[0], state)


def test_numpy_outputs_follow_weight_updates_and_copies_are_independent() -> None:
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


def test_scores_are_bitwise_independent_of_the_batch() -> None:
    policy = dqn.DQN(268, 15, settings=dqn.MODERN)
    states = np.random.default_rng(1).random((7, 268), dtype=np.float32)
    together = policy.scores(states)
    for number, state in enumerate(states):
        assert np.array_equal(policy.scores(state), together[number])
        assert np.array_equal(policy.scores(state.copy()), together[number])
