"""DQN: a network that estimates Q, learned from transitions that were kept.

Source: Casanueva et al. (2017) and its published program; Mnih et al., Nature 2015; `modern` adds
double Q-learning (van Hasselt et al., AAAI 2016) and returns over several steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mwzeval.pydial.policies.learner import (
    Arrays,
    Exchange,
    Exploration,
)
from mwzeval.pydial.policies.neural import (
    SMALL,
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
    """Standard deviation of initial weights; None: that of He et al."""
    discount: float = 0.99
    learning_rate: float = 0.001
    replay: int = 6000
    """Transitions kept, the oldest are forgotten first."""
    warm_up: int = 640
    """Transitions before learning begins…"""
    batch: int = 64
    every: int = 2
    """… then after so many dialogues each time…"""
    updates: int = 1
    """… so many batches."""
    target_rate: float = 0.02
    """τ: how far the target network follows with every batch."""
    exploration: Exploration = Exploration()  # noqa: RUF009
    double: bool = False
    """The online network chooses the next action, the target network only tells its value."""
    steps: int = 1
    """After so many exchanges the value of the next state stands for the rest of the return."""
    drop_last: bool = True
    """The last exchange of a dialogue is not learned from (see `NeuralPolicy`)."""
    next_mask: Literal["next", "final"] = "next"
    """Which actions are open in the next state: its own, or those open when the dialogue ended, as
    in the program of 2018, where all transitions of a dialogue shared one belief."""


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
    """A ring of transitions: `columns` of equal length, of which `number` places are filled."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.added = 0
        self.columns: Arrays = {}

    @property
    def number(self) -> int:
        """How many there are."""
        return min(self.added, self.capacity)

    def add(self, **values: Any) -> None:
        """Add a transition, in the place of the oldest where there is no room."""
        if not self.columns:
            # Pages are only taken from the system when they are written to.
            self.columns = {
                name: np.zeros((self.capacity, *np.shape(value)), np.asarray(value).dtype)
                for name, value in values.items()
            }
        for name, value in values.items():
            self.columns[name][self.added % self.capacity] = value
        self.added += 1

    def draw(self, generator: np.random.Generator, batch: int) -> Arrays:
        """Return `batch` transitions drawn with replacement, each column of shape (batch, …)."""
        places = generator.integers(0, self.number, batch)
        return {name: column[places] for name, column in self.columns.items()}


class DQN(NeuralPolicy):
    """The policy."""

    def __init__(
        self, size: int, actions: int, *, settings: DQNSettings = PAPER, seed: int = 0
    ) -> None:
        super().__init__(
            size,
            actions,
            exploration=settings.exploration,
            drop_last=settings.drop_last,
            seed=seed,
        )
        self.settings = settings
        generator = seeded(seed)
        sizes = (size, *settings.hidden, actions)
        # The target network starts from weights of its own, as the published one does.
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
                # What is left of the value of the next state: nothing, if there is none.
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
