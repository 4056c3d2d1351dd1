"""ACER: an actor-critic that learns from kept dialogues, and corrects for who played them.

Sources: Wang et al., "Sample efficient actor-critic with experience replay", ICLR 2017, here [W];
Weisz, Budzianowski, Su and Gašić, "Sample efficient deep reinforcement learning for dialogue
systems with large action spaces", 2018, and its published program, here [D]. Actions are drawn from
the policy as in [W], in tests too; the program of [D] takes the likeliest, or sometimes any. The
trust region is that of [W], of the probabilities in each exchange; that of [D] is of the weights.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.actions import Mask
from mwzeval.pydial.policies.kept import dialogue_layouts, packed_replay, unpacked_replay
from mwzeval.pydial.policies.learner import (
    Arrays,
    Exchange,
    Exploration,
    Layout,
    best_allowed,
    layouts_of,
    reaches,
)
from mwzeval.pydial.policies.neural import (
    PROBABLE_AT_LEAST,
    NeuralPolicy,
    adam,
    allowed_logits,
    drawn,
    layers,
    optimizer_layouts,
    packed,
    packed_optimizer,
    seeded,
    stacked,
    unpack,
    unpack_optimizer,
)

if TYPE_CHECKING:
    from torch import Tensor, nn

Kept = tuple[tuple[Exchange, ...], NDArray[np.float64]]
"""A dialogue, and how probable each action was when it was played, shape (exchanges, actions)."""


@dataclass(frozen=True, slots=True)
class ACERSettings:
    """Hyperparameters; [W] and [D] tell which of the sources has the number."""

    hidden: tuple[int, ...] = (130, 50)
    """Sizes of the hidden layers, which the policy and Q share [D]."""
    deviation: float | None = None
    """Standard deviation of initial weights ([D]: 0.01); None: that of He et al."""
    discount: float = 0.99
    """γ [W, D]."""
    trace: float = 1.0
    """λ of Retrace [W, D]."""
    learning_rate: float = 0.001
    """Of Adam [D]."""
    replay: int = 1000
    """Dialogues kept, the oldest are forgotten first [D]."""
    warm_up: int = 96
    """Exchanges before learning begins [D]."""
    every: int = 2
    """After so many new dialogues [D] is learned from these, then…"""
    replays: float = 4.0
    """… so many times on average (Poisson) [W]…"""
    batch: int = 32
    """… from so many of those kept [D]."""
    truncation: float = 10.0
    """c: where the importance of an action is cut off; the rest is corrected for [W, D]."""
    trust: float = 1.0
    """δ: how fast an update may leave the average policy [W, D]."""
    average: float = 0.99
    """α: how much of the average policy remains with every update [W, D]."""
    value_weight: float = 0.5
    """Of the squared error of Q [D]."""
    entropy_weight: float = 0.01
    """[D]; [W]: 0.001."""
    most_gradient: float = 10.0
    """Where the norm of the gradient is cut off."""
    greedy: bool = False
    """In tests the likeliest action is taken, as in [D]."""


MODERN = ACERSettings()


class ACER(NeuralPolicy):
    """The policy, from which actions are drawn."""

    def __init__(
        self, size: int, actions: int, *, settings: ACERSettings = MODERN, seed: int = 0
    ) -> None:
        never = Exploration(0.0, 0.0, 1, None)
        super().__init__(size, actions, exploration=never, drop_last=False, seed=seed)
        self.settings = settings
        generator = seeded(seed)
        self.network = self._new_network(generator)
        self.average, self.playing = (self._new_network(generator) for _ in range(2))
        self.optimizer = adam(self.network.parameters(), settings.learning_rate)
        self.replay: deque[Kept] = deque(maxlen=settings.replay)
        self.average.load_state_dict(self.network.state_dict())
        self._has_moved = True

    def _new_network(self, generator: Any) -> nn.ModuleDict:
        sizes, deviation = (self.size, *self.settings.hidden), self.settings.deviation
        ends = (sizes[-1], self.actions)
        network: nn.ModuleDict = self.torch.nn.ModuleDict(
            {
                "shared": layers(sizes, generator, deviation=deviation, open_end=False),
                "policy": layers(ends, generator, deviation=deviation),
                "quality": layers(ends, generator, deviation=deviation),
            }
        )
        return network

    def _choice(self, scores: NDArray[np.float32], mask: Mask, rng: Rng, training: bool) -> int:
        if training and self._has_moved:  # what plays a round of dialogues is what began it
            self.playing.load_state_dict(self.network.state_dict())
            self._has_moved = False
        if self.settings.greedy and not training:
            return best_allowed(scores, mask)
        return drawn(scores, mask, rng)

    def _scores(self, state: Any) -> Any:
        return self.network["policy"](self.network["shared"](state))

    def _learn(self, dialogue: Sequence[Exchange]) -> None:
        settings = self.settings
        self.replay.append((tuple(dialogue), self._chances(dialogue)))
        if (self.dialogues + 1) % settings.every or not reaches(
            (len(dialogue) for dialogue, _ in self.replay), settings.warm_up
        ):
            return
        newest = range(max(0, len(self.replay) - settings.every), len(self.replay))
        self._update([self.replay[index] for index in newest])
        batch = min(settings.batch, len(self.replay))
        for _ in range(self.generator.poisson(settings.replays)):
            chosen = self.generator.choice(len(self.replay), batch, replace=False)
            self._update([self.replay[index] for index in chosen.tolist()])

    def _chances(self, dialogue: Sequence[Exchange]) -> NDArray[np.float64]:
        """Return how probable actions were when it was played, shape (exchanges, actions)."""
        states, masks, _ = stacked(dialogue)
        with self.torch.inference_mode():
            logits = self.playing["policy"](self.playing["shared"](states))
            chances = allowed_logits(logits, masks).double().softmax(1)
        return np.asarray(chances.numpy())

    def _update(self, batch: Sequence[Kept]) -> None:
        settings, torch = self.settings, self.torch
        states, masks, actions = stacked([e for dialogue, _ in batch for e in dialogue])
        behaviour = torch.from_numpy(np.concatenate([c for _, c in batch]).astype(np.float32))
        hidden = self.network["shared"](states)
        logs = allowed_logits(self.network["policy"](hidden), masks).log_softmax(1)
        policy, qualities = logs.exp(), self.network["quality"](hidden)
        taken = qualities.gather(1, actions[:, None])[:, 0]
        with torch.no_grad():
            logits = self.average["policy"](self.average["shared"](states))
            average = allowed_logits(logits, masks).softmax(1)
            targets = self._targets(batch, policy, behaviour, qualities, actions)
            gain = policy_gradient(
                policy, behaviour, qualities, targets, actions, settings.truncation
            )
            gain = kept_near(gain, policy, average, settings.trust)
        policy_loss = -(gain * policy).sum(1)
        entropy = -(policy * logs).sum(1)
        value_loss = (targets - taken) ** 2
        loss = (
            policy_loss + settings.value_weight * value_loss - settings.entropy_weight * entropy
        ).mean()
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), settings.most_gradient)
        self.optimizer.step()
        with torch.no_grad():
            for mine, online in zip(
                self.average.parameters(), self.network.parameters(), strict=True
            ):
                mine.lerp_(online, 1.0 - settings.average)
        self._has_moved = True

    def _targets(
        self,
        batch: Sequence[Kept],
        policy: Tensor,
        behaviour: Tensor,
        qualities: Tensor,
        actions: Tensor,
    ) -> Tensor:
        """Return what Q of each exchange should be, shape (exchanges,)."""
        of_taken = actions[:, None]
        ratios = policy.gather(1, of_taken) / behaviour.gather(1, of_taken)
        each = ratios[:, 0], qualities.gather(1, of_taken)[:, 0], (policy * qualities).sum(1)
        ends = np.cumsum([len(dialogue) for dialogue, _ in batch])[:-1]
        parts = (np.split(numbers.double().numpy(), ends) for numbers in each)
        targets = [
            retrace(dialogue, r, q, v, self.settings.discount, self.settings.trace)
            for (dialogue, _), r, q, v in zip(batch, *parts, strict=True)
        ]
        tensor: Tensor = self.torch.from_numpy(np.concatenate(targets).astype(np.float32))
        return tensor

    def _networks(self) -> Arrays:
        return packed("network", self.network)

    def _restore_networks(self, arrays: Arrays) -> None:
        unpack("network", self.network, arrays)
        self._has_moved = True

    def _pack(self) -> Arrays:
        replay = packed_replay("chances", self.replay, self.size)
        return {**packed("average", self.average), **packed_optimizer(self.optimizer), **replay}

    def _layouts(self, arrays: Arrays) -> dict[str, Layout]:
        return {
            **layouts_of(packed("average", self.average)),
            **optimizer_layouts(self.optimizer, arrays),
            **dialogue_layouts(self.size, self.actions),
            "chances": Layout(np.float64, ("exchanges", self.actions)),
        }

    def _unpack(self, arrays: Arrays) -> None:
        unpack("average", self.average, arrays)
        unpack_optimizer(self.optimizer, arrays)
        self.replay.clear()
        self.replay.extend(unpacked_replay("chances", arrays))


def retrace(
    dialogue: Sequence[Exchange],
    ratios: NDArray[np.float64],
    taken: NDArray[np.float64],
    values: NDArray[np.float64],
    discount: float,
    trace: float,
) -> NDArray[np.float64]:
    """Return what Q of each action taken should be, by Retrace(λ), shape (exchanges,).

    Given are, for each exchange, how much likelier its action is now than when it was played, Q of
    this action, and the value of the state under the policy of now, each of shape (exchanges,);
    `discount` is γ, `trace` λ.
    """
    targets = np.zeros(len(dialogue))
    following = 0.0
    for at in range(len(dialogue) - 1, -1, -1):
        targets[at] = dialogue[at].reward + discount * following
        kept = trace * min(1.0, ratios[at])
        following = kept * (targets[at] - taken[at]) + values[at]
    return targets


def policy_gradient(
    policy: Tensor,
    behaviour: Tensor,
    qualities: Tensor,
    targets: Tensor,
    actions: Tensor,
    truncation: float,
) -> Tensor:
    """Return how the gain grows with the probability of each action, shape (n, actions).

    The importance of the action taken is cut off at `truncation`, and what its expectation lacks is
    added from Q. `policy`, `behaviour` (the probabilities of then) and `qualities` (Q) have shape
    (n, actions); `targets` and `actions`, what was taken, have shape (n,).
    """
    certain = policy.clamp(min=PROBABLE_AT_LEAST)
    values = (policy * qualities).sum(1, keepdim=True)
    lacking = (1.0 - truncation * behaviour / certain).clamp(min=0.0)
    gradient = lacking * (qualities - values)
    of_taken = actions[:, None]
    # The ratio of the probabilities, cut off, through the derivative of the logarithm.
    chance = (policy / behaviour).gather(1, of_taken).clamp(max=truncation)
    gains = chance / certain.gather(1, of_taken) * (targets[:, None] - values)
    gradient.scatter_add_(1, of_taken, gains)
    return gradient.masked_fill_(policy == 0.0, 0.0)


def kept_near(gradient: Tensor, policy: Tensor, average: Tensor, trust: float) -> Tensor:
    """Return the vectors z nearest to gradients with kᵀz ≤ `trust`, shape (n, actions).

    k is the gradient of the divergence KL(average ‖ policy) by the probabilities of the policy. All
    have shape (n, actions).
    """
    away = -average / policy.clamp(min=PROBABLE_AT_LEAST)
    beyond = (away * gradient).sum(1, keepdim=True) - trust
    return gradient - beyond.clamp(min=0.0) / (away**2).sum(1, keepdim=True) * away
