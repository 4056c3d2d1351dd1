"""A2C: advantage actor-critic with a replay memory of whole dialogues.

Source: Casanueva et al. (2017) and its published program. As in the published program, the
off-policy update has no importance weights. With the settings `PAPER`, actions are never sampled
from the policy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.decision_process import Mask
from mwzeval.pydial.policies.neural import (
    PROBABLE_AT_LEAST,
    SMALL,
    Exchange,
    Exploration,
    NeuralPolicy,
    adam,
    best_allowed,
    discounted,
    drawn,
    layers,
    reaches,
    seeded,
    stacked,
)
from mwzeval.pydial.simulator.rng import Rng

Draws = Literal["never", "training", "always"]


@dataclass(frozen=True, slots=True)
class A2CSettings:
    """Hyperparameters; the defaults are those of the published program."""

    shared: int = 200
    """Size of the hidden layer that actor and critic share (Table 5)."""
    own: int = 75
    """Size of the separate hidden layers of actor and critic."""
    deviation: float | None = SMALL
    """Standard deviation of initial weights; None selects He initialization."""
    discount: float = 0.99
    learning_rate: float = 0.001
    replay: int = 1000
    """Maximum number of dialogues in the replay memory; the oldest are removed first."""
    warm_up: int = 192
    """Number of turns before learning begins."""
    batch: int = 64
    """Number of dialogues per update."""
    every: int = 2
    """Number of new dialogues between updates."""
    exploration: Exploration = Exploration(start=0.5)  # noqa: RUF009
    value_weight: float = 0.5
    entropy_weight: float = 0.1
    most_value_loss: float = 2.0
    most_policy_loss: float = 20.0
    most_gradient: float = 3.0
    """Limits for the losses of a turn and for each component of the gradient."""
    drop_last: bool = True
    """If True, the last turn of a dialogue is not used for learning (see `NeuralPolicy`)."""
    draws: Draws = "never"
    """Specifies when actions are sampled from the policy. Otherwise, the most probable action is
    chosen; an unsuccessful action may then be repeated in similar beliefs."""


PAPER = A2CSettings()
MODERN = A2CSettings(draws="always")


class Played(NamedTuple):
    """A recorded dialogue, and learning `targets`, which are arrays of shape (turns,)."""

    exchanges: tuple[Exchange, ...]
    returns: NDArray[np.float64]
    advantages: NDArray[np.float64]


class A2C(NeuralPolicy):
    """The A2C policy."""

    settings: A2CSettings

    def __init__(
        self, size: int, actions: int, *, settings: A2CSettings = PAPER, seed: int = 0
    ) -> None:
        super().__init__(size, actions, settings, seed)
        generator = seeded(seed)
        common: dict[str, Any] = {"activation": "ReLU6", "deviation": settings.deviation}
        widths = (settings.shared, settings.own)
        self.network = self.torch.nn.ModuleDict(
            {
                "shared": layers((size, settings.shared), generator, open_end=False, **common),
                "value": layers((*widths, 1), generator, **common),
                "policy": layers((*widths, actions), generator, **common),
            }
        )
        self.optimizer = adam(self.network.parameters(), settings.learning_rate)
        self.replay: deque[Played] = deque(maxlen=settings.replay)

    def _choice(self, scores: NDArray[np.float32], mask: Mask, rng: Rng, training: bool) -> int:
        draws = self.settings.draws
        if draws == "always" or (draws == "training" and training):
            return drawn(scores, mask, rng)
        return best_allowed(scores, mask)

    def _scores(self, state: Any) -> Any:
        return self.network["policy"](self.network["shared"](state))

    def _learn(self, dialogue: Sequence[Exchange]) -> None:
        settings = self.settings
        if dialogue:
            states = self.torch.from_numpy(np.stack([e.state for e in dialogue]))
            with self.torch.inference_mode():
                values = self.network["value"](self.network["shared"](states))[:, 0].double()
            pair = targets(dialogue, values.numpy(), settings.discount)
            self.replay.append(Played(tuple(dialogue), *pair))
        if (self.dialogues + 1) % settings.every or not reaches(
            (len(played.exchanges) for played in self.replay), settings.warm_up
        ):
            return
        batch = min(settings.batch, len(self.replay))
        drawn = self.generator.choice(len(self.replay), batch, replace=False)
        self._update([self.replay[index] for index in drawn.tolist()])

    def _update(self, batch: Sequence[Played]) -> None:
        settings, torch = self.settings, self.torch
        states, _, actions = stacked([e for played in batch for e in played.exchanges])
        returns, advantages = (
            torch.from_numpy(np.concatenate(arrays).astype(np.float32))
            for arrays in ([p.returns for p in batch], [p.advantages for p in batch])
        )
        hidden = self.network["shared"](states)
        values = self.network["value"](hidden)[:, 0]
        policy = self.network["policy"](hidden).softmax(1) + PROBABLE_AT_LEAST
        logs = policy.log()
        most = settings.most_value_loss
        value_loss = 0.5 * ((returns - values) ** 2).clamp(-most, most).sum()
        gains = logs.gather(1, actions[:, None])[:, 0] * advantages
        policy_loss = -gains.clamp(-settings.most_policy_loss, settings.most_policy_loss).sum()
        entropy = -(policy * logs).sum()
        loss = settings.value_weight * value_loss + policy_loss - settings.entropy_weight * entropy
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(self.network.parameters(), settings.most_gradient)
        self.optimizer.step()
        if self.losses is not None:
            number = len(actions)
            self.losses(
                loss=loss.detach() / number,
                policy_loss=policy_loss.detach() / number,
                value_loss=value_loss.detach() / number,
                entropy=entropy.detach() / number,
            )


def targets(
    dialogue: Sequence[Exchange], values: NDArray[np.float64], discount: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the discounted return and the advantage of each turn, as arrays of shape (turns,).

    The advantage of a turn is the discounted sum of r + γV' - V from this turn on. V is the
    critic's value at the time of the dialogue, and V' is 0 after the last turn.
    """
    rewards = np.array([exchange.reward for exchange in dialogue])
    following = np.append(values[1:], 0.0)
    return (
        discounted(rewards, discount),
        discounted(rewards + discount * following - values, discount),
    )
