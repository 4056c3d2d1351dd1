"""ACER: targets, corrected importance and trust region against what defines them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.policies import acer
from mwzeval.pydial.policies.learner import Exchange
from tests.pydial.policies.toy_problems import Corridor, play

pytestmark = pytest.mark.integration
torch = pytest.importorskip("torch")
Array = NDArray[np.float64]
SIZE, ACTIONS = 5, 4
MASK = np.array([True, True, False, True])


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def dialogue_of(length: int, seed: int = 0) -> list[Exchange]:
    rng = np.random.default_rng(seed)
    return [
        Exchange(
            rng.standard_normal(SIZE).astype(np.float32),
            MASK,
            int(rng.choice([0, 1, 3])),
            float(rng.normal()),
        )
        for _ in range(length)
    ]


def distributions(rng: np.random.Generator, n: int, open_to: NDArray[np.bool_] = MASK) -> Array:
    """Return n distributions over actions, of which some are masked."""
    shares = np.exp(rng.normal(scale=1.5, size=(n, len(open_to)))) * open_to
    return np.asarray(shares / shares.sum(1, keepdims=True))


@pytest.mark.parametrize(("discount", "trace"), [(0.99, 1.0), (0.9, 0.5), (0.8, 0.0)])
def test_targets_are_sums_of_temporal_differences_with_cut_traces(
    discount: float, trace: float
) -> None:
    """Munos et al. (2016), equation 3, written out."""
    rng = np.random.default_rng(1)
    dialogue = dialogue_of(8, seed=2)
    ratios, taken, values = rng.lognormal(size=8), rng.normal(size=8), rng.normal(size=8)
    expected = []
    for start in range(8):
        total = taken[start]
        for at in range(start, 8):
            weight = discount ** (at - start)
            for between in range(start + 1, at + 1):
                weight *= trace * min(1.0, ratios[between])
            following = discount * values[at + 1] if at < 7 else 0.0
            total += weight * (dialogue[at].reward + following - taken[at])
        expected.append(total)
    found = acer.retrace(dialogue, ratios, taken, values, discount, trace)
    assert found == pytest.approx(expected)


def test_targets_on_policy_are_the_return() -> None:
    dialogue = dialogue_of(6, seed=3)
    rng = np.random.default_rng(4)
    value = rng.normal(size=6)
    found = acer.retrace(dialogue, np.ones(6), value, value, 0.9, 1.0)
    assert found == pytest.approx(
        [sum(0.9 ** (j - i) * dialogue[j].reward for j in range(i, 6)) for i in range(6)]
    )


def tensor(array: Array) -> Any:
    return torch.from_numpy(array)


@pytest.mark.parametrize("truncation", [0.3, 1.0, 2.0, 10.0])
def test_what_is_cut_off_is_made_good_in_expectation(truncation: float) -> None:
    """Wherever importance is cut off, the mean over what was drawn is the gradient of Σ π Q.

    The states are those of a small problem that were visited by another policy; Q is exact.
    """
    rng = np.random.default_rng(5)
    states = 6
    logits = tensor(rng.normal(scale=1.5, size=(states, ACTIONS))).requires_grad_()
    masks = torch.from_numpy(np.tile(MASK, (states, 1)))
    policy = logits.masked_fill(~masks, -1e9).softmax(1)
    qualities = tensor(rng.normal(size=(states, ACTIONS)))
    behaviour = tensor(distributions(rng, states))
    (expected,) = torch.autograd.grad((policy * qualities).sum(), logits, retain_graph=True)
    mean = torch.zeros_like(policy)
    for action in np.flatnonzero(MASK).tolist():
        taken = torch.full((states,), action)
        gradient = acer.policy_gradient(
            policy.detach(), behaviour, qualities, qualities[:, action], taken, truncation
        )
        assert not gradient[:, ~MASK].any()
        mean += behaviour[:, action, None] * gradient
    (found,) = torch.autograd.grad((mean * policy).sum(), logits)
    assert found.numpy() == pytest.approx(expected.numpy(), abs=1e-10)


def test_importance_is_no_larger_than_where_it_is_cut_off() -> None:
    policy, behaviour = tensor(np.array([[0.9, 0.1]])), tensor(np.array([[0.01, 0.99]]))
    qualities, taken = torch.zeros((1, 2), dtype=torch.double), torch.tensor([0])
    target = torch.ones(1, dtype=torch.double)
    for truncation, importance in ((5.0, 5.0), (10.0, 10.0), (100.0, 90.0)):
        gradient = acer.policy_gradient(policy, behaviour, qualities, target, taken, truncation)
        assert gradient.numpy() == pytest.approx(np.array([[importance / 0.9, 0.0]]))


@pytest.mark.parametrize("trust", [-0.5, 0.0, 1.0, 5.0])
def test_the_trust_region_gives_the_nearest_vector_in_it(trust: float) -> None:
    rng = np.random.default_rng(6)
    all_open = np.ones(ACTIONS, dtype=np.bool_)
    policy, average = distributions(rng, 8, all_open), distributions(rng, 8, all_open)
    gradient = rng.normal(scale=3.0, size=(8, ACTIONS))
    found = acer.kept_near(tensor(gradient), tensor(policy), tensor(average), trust).numpy()
    bound = 0
    for g, p, a, z in zip(gradient, policy, average, found, strict=True):

        def divergence(x: Array, a: Array = a) -> float:
            return float((a * np.log(a / x)).sum())

        k = np.array(
            [(divergence(p + h) - divergence(p - h)) / 2e-7 for h in 1e-7 * np.eye(ACTIONS)]
        )
        solved = minimize(
            lambda x, g=g: 0.5 * ((x - g) ** 2).sum(),
            np.zeros(ACTIONS),
            jac=lambda x, g=g: x - g,
            constraints={"type": "ineq", "fun": lambda x, k=k: trust - k @ x},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert z == pytest.approx(solved.x, abs=1e-4)
        assert k @ z <= trust + 1e-4
        bound += not np.allclose(z, g)
    assert bound > 0
    assert trust < 1.0 or bound < 8


def test_an_update_is_a_step_along_the_gradient_that_it_should_follow() -> None:
    """With plain gradient descent instead of Adam, against the sum of the three losses."""
    settings = replace(acer.MODERN, truncation=1.5, trust=0.2, trace=0.7, most_gradient=1e9)
    policy = acer.ACER(SIZE, ACTIONS, settings=settings, seed=2)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for network in (policy.network, policy.average):
            for parameter in network.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    rng = np.random.default_rng(7)
    batch = [(tuple(dialogue_of(n, seed=n)), distributions(rng, n)) for n in (3, 1, 5)]
    exchanges = [e for dialogue, _ in batch for e in dialogue]
    states = torch.from_numpy(np.stack([e.state for e in exchanges]))
    masks = torch.from_numpy(np.tile(MASK, (9, 1)))
    actions = torch.tensor([e.action for e in exchanges])
    behaviour = torch.from_numpy(np.concatenate([chances for _, chances in batch])).float()

    def outputs(network: Any) -> tuple[Any, Any]:
        hidden = network["shared"](states)
        logits = network["policy"](hidden).masked_fill(~masks, -torch.inf)
        return logits.softmax(1), network["quality"](hidden)

    now, qualities = outputs(policy.network)
    average, _ = outputs(policy.average)
    rows = torch.arange(9)
    values = (now * qualities).sum(1).detach()
    ratios = (now / behaviour)[rows, actions].detach()
    taken = qualities[rows, actions]
    parts = (np.split(each.double().numpy(), [3, 4]) for each in (ratios, taken.detach(), values))
    targets = torch.from_numpy(
        np.concatenate(
            [
                acer.retrace(dialogue, r, q, v, settings.discount, 0.7)
                for (dialogue, _), r, q, v in zip(batch, *parts, strict=True)
            ]
        )
    ).float()
    with torch.no_grad():
        gain = acer.policy_gradient(now, behaviour, qualities, targets, actions, 1.5)
        gain = acer.kept_near(gain, now, average, 0.2)
    entropy = -(now * now.clamp(min=1e-30).log()).sum()
    loss = -(gain * now).sum() + 0.5 * (targets - taken).pow(2).sum() - 0.01 * entropy
    parameters = list(policy.network.parameters())
    expected = torch.autograd.grad(loss / 9, parameters)
    before = [parameter.detach().clone() for parameter in parameters]
    policy.optimizer = torch.optim.SGD(parameters, lr=1.0)
    policy._update(batch)
    for old, new, step in zip(before, parameters, expected, strict=True):
        assert (old - new).detach().numpy() == pytest.approx(step.numpy(), abs=2e-5)


def test_the_average_policy_follows_with_every_update() -> None:
    settings = replace(acer.MODERN, every=1, replays=0.0, warm_up=0, average=0.9)
    policy = acer.ACER(Corridor.size, Corridor.actions, settings=settings)
    followed = [parameter.detach().clone() for parameter in policy.network.parameters()]
    for index in range(12):
        play(policy, Rng(index), training=True)
        for mine, now in zip(followed, policy.network.parameters(), strict=True):
            mine.mul_(0.9).add_(now.detach(), alpha=0.1)
    for mine, average in zip(followed, policy.average.parameters(), strict=True):
        assert mine.numpy() == pytest.approx(average.detach().numpy(), abs=1e-6)


def test_chances_are_those_of_the_policy_that_played() -> None:
    """Several dialogues may be played before the first of them is learned from."""
    settings = replace(acer.MODERN, every=1, replays=0.0, warm_up=0, learning_rate=0.1)
    policy = acer.ACER(SIZE, ACTIONS, settings=settings)
    for round_number in range(2):
        round_of = [dialogue_of(4, seed=10 * round_number + n) for n in range(3)]
        expected = []
        for dialogue in round_of:
            for exchange in dialogue:
                policy.act(exchange.state, exchange.mask, Rng(0), training=True)
            scores = policy.scores(np.stack([e.state for e in dialogue])).astype(np.float64)
            shares = np.where(MASK, np.exp(scores - scores.max()), 0.0)
            expected.append(shares / shares.sum(1, keepdims=True))
        for dialogue in round_of:
            policy.begin()
            for exchange in dialogue:
                policy.record(*exchange)
            policy.end()
        kept = [chances for _, chances in policy.replay][-3:]
        for chances, shares in zip(kept, expected, strict=True):
            assert chances == pytest.approx(shares, abs=1e-6)
            assert not chances[:, ~MASK].any()


def test_old_dialogues_make_room_and_are_learned_from_as_often_as_said() -> None:
    settings = replace(acer.MODERN, replay=20, replays=3.0, every=2, warm_up=0)
    policy = acer.ACER(Corridor.size, Corridor.actions, settings=settings)
    for index in range(80):
        play(policy, Rng(index), training=True)
    assert len(policy.replay) == 20
    (steps,) = {int(state["step"]) for state in policy.optimizer.state.values()}
    # 40 times once from what is new, and a Poisson number of mean 3: 4 standard deviations
    assert abs(steps - 160) < 4 * (40 * 3.0) ** 0.5


@pytest.mark.parametrize(
    "other",
    [
        {"discount": 0.9},
        {"trace": 0.5},
        {"truncation": 0.5},
        {"trust": 0.01},
        {"average": 0.5},
        {"value_weight": 1.0},
        {"entropy_weight": 0.1},
        {"most_gradient": 0.01},
        {"replays": 1.0},
    ],
    ids=lambda other: next(iter(other)),
)
def test_each_setting_counts(other: dict[str, Any]) -> None:
    learned = []
    for settings in (acer.MODERN, replace(acer.MODERN, **other)):
        policy = acer.ACER(Corridor.size, Corridor.actions, settings=replace(settings, warm_up=8))
        for index in range(16):
            play(policy, Rng(index), training=True)
        learned.append(policy.memory(whole=False).arrays["network.policy.0.weight"])
    assert not np.array_equal(learned[0], learned[1])


def test_settings_are_those_of_the_sources() -> None:
    settings = acer.MODERN
    assert (settings.discount, settings.truncation, settings.trust) == (0.99, 10.0, 1.0)
    assert (settings.average, settings.replay, settings.hidden) == (0.99, 1000, (130, 50))
