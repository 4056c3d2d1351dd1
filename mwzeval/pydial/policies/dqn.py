"""DQN: a network that estimates Q, with a replay memory of transitions.

Source: Casanueva et al. (2017) and its published program; Mnih et al., Nature 2015; `modern` adds
double Q-learning (van Hasselt et al., AAAI 2016) and multi-step returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mwzeval.pydial.policies import Arrays
from mwzeval.pydial.policies.neural import (
    SMALL,
    Exchange,
    Exploration,
    NeuralPolicy,
    adam,
    allowed_logits,
    layers,
    seeded,
)


@dataclass(frozen=True, slots=True)
class DQNSettings:
    """Hyperparameters; the defaults are those of the published program."""

    hidden: tuple[int, ...] = (300, 100)
    """Sizes of the hidden layers (Table 5)."""
    deviation: float | None = SMALL
    """Standard deviation of initial weights; None selects He initialization."""
    discount: float = 0.99
    learning_rate: float = 0.001
    replay: int = 6000
    """Maximum number of transitions in the replay memory; the oldest are removed first."""
    warm_up: int = 640
    """Number of transitions before learning begins."""
    batch: int = 64
    every: int = 2
    """Number of dialogues between updates."""
    updates: int = 1
    """Number of batches per update."""
    target_rate: float = 0.02
    """τ: the step of the target network toward the online network after every batch."""
    exploration: Exploration = Exploration()  # noqa: RUF009
    double: bool = False
    """If True, the online network chooses the next action, and the target network evaluates it."""
    steps: int = 1
    """Number of turns after which the value of the next state replaces the rest of the return."""
    drop_last: bool = True
    """If True, the last turn of a dialogue is not used for learning (see `NeuralPolicy`)."""
    next_mask: Literal["next", "final"] = "next"
    """Whether the next state has its own mask or the mask at the end of the dialogue. The program
    of 2018 used the mask at the end, because all transitions of a dialogue shared one belief."""


PAPER = DQNSettings()
LEGACY = DQNSettings(next_mask="final")
MODERN = DQNSettings(
    deviation=None,
    replay=20_000,
    updates=2,
    exploration=Exploration(0.3, 0.02, 1000, None),
    double=True,
)


class Transitions:
    """A ring buffer of transitions: the `columns` have equal length, and `number` rows are used."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.added = 0
        self.columns: Arrays = {}

    @property
    def number(self) -> int:
        """The number of stored transitions."""
        return min(self.added, self.capacity)

    def add(self, **values: Any) -> None:
        """Add a transition; a full buffer overwrites the oldest transition."""
        if not self.columns:
            # The system allocates memory pages only when they are written to.
            self.columns = {
                name: np.zeros((self.capacity, *np.shape(value)), np.asarray(value).dtype)
                for name, value in values.items()
            }
        for name, value in values.items():
            self.columns[name][self.added % self.capacity] = value
        self.added += 1

    def draw(self, generator: np.random.Generator, batch: int) -> Arrays:
        """Return `batch` transitions, sampled with replacement; columns have shape (batch, …)."""
        places = generator.integers(0, self.number, batch)
        return {name: column[places] for name, column in self.columns.items()}


class DQN(NeuralPolicy):
    """The DQN policy."""

    settings: DQNSettings

    def __init__(
        self, size: int, actions: int, *, settings: DQNSettings = PAPER, seed: int = 0
    ) -> None:
        super().__init__(size, actions, settings, seed)
        generator = seeded(seed)
        sizes = (size, *settings.hidden, actions)
        # The target network has separate initial weights, as in the published program.
        self.network = layers(sizes, generator, deviation=settings.deviation)
        self.target = layers(sizes, generator, deviation=settings.deviation)
        self.optimizer = adam(self.network.parameters(), settings.learning_rate)
        self.transitions = Transitions(settings.replay)

    def _scores(self, state: Any) -> Any:
        return self.network(state)

    def _learn(self, dialogue: Sequence[Exchange]) -> None:
        self._keep(dialogue)
        settings = self.settings
        if (self.dialogues + 1) % settings.every or self.transitions.added < settings.warm_up:
            return
        for _ in range(settings.updates):
            self._update(self.transitions.draw(self.generator, settings.batch))

    def _keep(self, dialogue: Sequence[Exchange]) -> None:
        settings = self.settings
        shares = settings.discount ** np.arange(settings.steps)
        for index, exchange in enumerate(dialogue):
            window = dialogue[index : index + settings.steps]
            following = index + settings.steps
            ended = following >= len(dialogue)
            then = exchange if ended else dialogue[following]
            mask = self._exchanges[-1].mask if settings.next_mask == "final" else then.mask
            self.transitions.add(
                state=exchange.state,
                action=np.int64(exchange.action),
                reward=np.float32(sum(s * e.reward for s, e in zip(shares, window, strict=False))),
                next_state=np.zeros_like(then.state) if ended else then.state,
                next_mask=mask,
                # Weight of the next state's value, which is 0 after the last turn.
                left=np.float32(0.0 if ended else settings.discount**settings.steps),
            )

    def _update(self, drawn: Arrays) -> None:
        torch = self.torch
        batch = {name: torch.from_numpy(column) for name, column in drawn.items()}
        with torch.no_grad():
            values = allowed_logits(self.target(batch["next_state"]), batch["next_mask"])
            if self.settings.double:
                chosen = allowed_logits(self.network(batch["next_state"]), batch["next_mask"])
                best = values.gather(1, chosen.argmax(1, keepdim=True))[:, 0]
            else:
                best = values.max(1).values
            goal = batch["reward"] + batch["left"] * best
        values = self.network(batch["state"]).gather(1, batch["action"][:, None])[:, 0]
        loss = torch.nn.functional.huber_loss(values, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if self.losses is not None:
            self.losses(loss=loss.detach())
        with torch.no_grad():
            for mine, online in zip(
                self.target.parameters(), self.network.parameters(), strict=True
            ):
                mine.lerp_(online, self.settings.target_rate)
