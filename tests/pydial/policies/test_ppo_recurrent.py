"""PPO that remembers: padding, resets between dialogues, and what only a memory can learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.policies import ppo, ppo_recurrent
from mwzeval.pydial.policies.learner import Exchange, Learner

pytestmark = pytest.mark.integration
torch = pytest.importorskip("torch")
SIZE, ACTIONS = 5, 4
Array = NDArray[np.float64]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def dialogues(lengths: list[int], seed: int = 0) -> list[list[Exchange]]:
    rng = np.random.default_rng(seed)
    return [
        [
            Exchange(
                rng.standard_normal(SIZE).astype(np.float32),
                np.array([True, True, False, True]),
                int(rng.choice([0, 1, 3])),
                float(rng.normal()),
            )
            for _ in range(length)
        ]
        for length in lengths
    ]


def states_of(dialogue: list[Exchange]) -> NDArray[np.float32]:
    return np.stack([exchange.state for exchange in dialogue])


def policy_that_heeds_all() -> ppo_recurrent.RecurrentPPO:
    """Return a policy of which no part is too small to be seen."""
    policy = ppo_recurrent.RecurrentPPO(SIZE, ACTIONS, seed=3)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in policy.network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
    return policy


def twin(policy: ppo_recurrent.RecurrentPPO, states: NDArray[np.float32]) -> tuple[Array, Array]:
    """Return logits and values of a dialogue, computed number by number after Cho et al. (2014)."""
    part = {k: v.double().numpy() for k, v in policy.network.state_dict().items()}

    def sigmoid(x: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-x)))

    size = policy.settings.remembered
    hidden, logits, values = np.zeros(size), [], []
    for state in states.astype(np.float64):
        encoded = np.tanh(part["encoder.0.weight"] @ state + part["encoder.0.bias"])
        new = part["memory.weight_ih_l0"] @ encoded + part["memory.bias_ih_l0"]
        old = part["memory.weight_hh_l0"] @ hidden + part["memory.bias_hh_l0"]
        reset = sigmoid(new[:size] + old[:size])
        kept = sigmoid(new[size : 2 * size] + old[size : 2 * size])
        candidate = np.tanh(new[2 * size :] + reset * old[2 * size :])
        hidden = (1 - kept) * candidate + kept * hidden
        seen = np.concatenate([encoded, hidden])
        logits.append(part["policy.0.weight"] @ seen + part["policy.0.bias"])
        values.append((part["value.0.weight"] @ seen + part["value.0.bias"])[0])
    return np.array(logits), np.array(values)


def test_what_is_learned_from_is_a_gated_unit_over_each_dialogue() -> None:
    policy = policy_that_heeds_all()
    played = dialogues([3, 1, 7])
    states = torch.from_numpy(np.concatenate([states_of(d) for d in played]))
    logits, values = policy._outputs(states, [3, 1, 7])
    expected = [twin(policy, states_of(dialogue)) for dialogue in played]
    assert logits.detach().numpy() == pytest.approx(
        np.concatenate([e[0] for e in expected]), abs=1e-4
    )
    assert values.detach().numpy() == pytest.approx(
        np.concatenate([e[1] for e in expected]), abs=1e-4
    )


def test_acting_remembers_each_of_several_dialogues_at_once() -> None:
    policy = policy_that_heeds_all()
    played = dialogues([4, 2, 3], seed=1)
    rngs = [Rng(n) for n in range(3)]
    scores: list[list[NDArray[np.float32]]] = [[], [], []]
    for at in range(4):
        now = [number for number in range(3) if at < len(played[number])]
        rows = policy._remembering(
            np.stack([played[number][at].state for number in now]), [rngs[n] for n in now]
        )
        for number, row in zip(now, rows, strict=True):
            scores[number].append(row)
    for dialogue, seen in zip(played, scores, strict=True):
        assert np.array(seen) == pytest.approx(twin(policy, states_of(dialogue))[0], abs=1e-4)


def test_a_dialogue_does_not_remember_those_before() -> None:
    policy = policy_that_heeds_all()
    (dialogue,) = dialogues([6], seed=2)

    def acted(seed: int) -> list[int]:
        rng = Rng(seed)
        return [policy.act(e.state, e.mask, rng) for e in dialogue]

    first = [acted(seed) for seed in range(20)]
    assert [acted(seed) for seed in range(20)] == first
    assert {action for actions in first for action in actions} == {0, 1, 3}
    assert len(policy._hidden) == 0  # what is over is forgotten


def gradient(policy: ppo_recurrent.RecurrentPPO, together: list[list[Exchange]]) -> Array:
    """Return that of a sum over the exchanges of dialogues which share a batch."""
    states = torch.from_numpy(np.concatenate([states_of(d) for d in together])).double()
    logits, values = policy._outputs(states, [len(d) for d in together])
    total = (logits**2).sum() + logits[:, 1].sum() + (values - 1).pow(2).sum()
    parts = torch.autograd.grad(total, list(policy.network.parameters()))
    return np.concatenate([part.numpy().ravel() for part in parts])


def test_gradients_do_not_depend_on_what_pads_a_dialogue() -> None:
    policy = policy_that_heeds_all()
    policy.network.double()
    played = dialogues([2, 25, 1, 6], seed=4)
    alone = sum(gradient(policy, [dialogue]) for dialogue in played)
    assert gradient(policy, played) == pytest.approx(alone, rel=1e-9, abs=1e-9)


def test_batches_are_whole_dialogues_each_of_them_once() -> None:
    settings = replace(ppo_recurrent.MODERN, batch=2)
    policy = ppo_recurrent.RecurrentPPO(SIZE, ACTIONS, settings=settings)
    lengths = [3, 1, 4, 2, 5]
    whole = {tuple(range(end - n, end)) for n, end in zip(lengths, np.cumsum(lengths), strict=True)}
    drawn = []
    for numbers, together in policy._batches(lengths):
        assert len(together) <= 2
        drawn += [tuple(p.tolist()) for p in np.split(numbers, np.cumsum(together)[:-1])]
    assert set(drawn) == whole
    assert len(drawn) == len(whole)


@pytest.mark.parametrize(("discount", "trace"), [(0.99, 0.95), (0.9, 0.0), (0.8, 1.0), (1.0, 0.5)])
def test_advantages_are_means_of_those_over_different_numbers_of_steps(
    discount: float, trace: float
) -> None:
    """Schulman et al. (2016), equation 16; behind the end all of them are the same."""
    (dialogue,) = dialogues([9], seed=6)
    values = np.random.default_rng(7).normal(size=9)
    expected = []
    for start in range(9):
        estimates = []
        for end in range(start + 1, 10):
            ahead = sum(discount ** (at - start) * dialogue[at].reward for at in range(start, end))
            following = discount ** (end - start) * values[end] if end < 9 else 0.0
            estimates.append(ahead + following - values[start])
        shares = [(1 - trace) * trace**n for n in range(len(estimates) - 1)]
        shares.append(trace ** (len(estimates) - 1))
        expected.append(sum(s * e for s, e in zip(shares, estimates, strict=True)))
    assert ppo.advantages(dialogue, values, discount, trace) == pytest.approx(expected)


def recalled(policy: Learner, rng: Rng, *, training: bool) -> float:
    """Play an episode in which the first exchange tells what to do in the third; return 20 or -20.

    The second and third look alike, whatever was told.
    """
    told, last = int(rng.random() < 0.5), 0
    mask = np.array([True, True, False])
    if training:
        policy.begin()
    for exchange in range(3):
        state = np.zeros(4, dtype=np.float32)
        state[told if exchange == 0 else 1 + exchange] = 1.0
        last = policy.act(state, mask, rng, training)
        assert mask[last]
        reward = 0.0 if exchange < 2 else 20.0 if last == told else -20.0
        if training:
            policy.record(state, mask, last, reward)
    if training:
        policy.end()
    return 20.0 if last == told else -20.0


def test_a_memory_tells_alike_beliefs_apart() -> None:
    remembering = ppo_recurrent.RecurrentPPO(4, 3)
    forgetting = ppo.PPO(4, 3)
    for policy in (remembering, forgetting):
        for index in range(240):
            recalled(policy, Rng(1000 + index), training=True)
    means = [
        np.mean([recalled(policy, Rng(index), training=False) for index in range(200)])
        for policy in (remembering, forgetting)
    ]
    assert means[0] > 18.0
    assert means[1] < 5.0
