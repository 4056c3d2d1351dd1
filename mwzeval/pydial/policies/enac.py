"""eNAC: episodic natural actor-critic.

Source: Casanueva et al. (2017) and its published program; Peters and Schaal, "Natural
Actor-Critic", 2008.

The natural gradient needs the pseudo-inverse of a matrix G with a row for each dialogue and a
column for each weight. The pseudo-inverse is computed from the 64 × 64 matrix GGᵀ: pinv(G) = Gᵀ
pinv(GGᵀ). For each layer, the row of a dialogue is a sum over turns of the outer products of the
layer's input and the gradient at its output. Therefore, all rows result from one forward and one
backward pass.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.policies.neural import (
    PROBABLE_AT_LEAST,
    SMALL,
    Exchange,
    Exploration,
    NeuralPolicy,
    adam,
    best_allowed,
    layers,
    reaches,
    seeded,
    stacked,
)


@dataclass(frozen=True, slots=True)
class ENACSettings:
    """Hyperparameters; the defaults are those of the published program."""

    hidden: tuple[int, ...] = (130, 50)
    """Sizes of the hidden layers (Table 5)."""
    deviation: float | None = SMALL
    """Standard deviation of initial weights; None selects He initialization."""
    learning_rate: float = 0.001
    replay: int = 1000
    """Maximum number of dialogues in the replay memory; the oldest are removed first."""
    warm_up: int = 64
    """Number of turns before learning begins."""
    batch: int = 64
    """Number of dialogues per update."""
    every: int = 2
    """Number of new dialogues between updates."""
    exploration: Exploration = Exploration()  # noqa: RUF009
    importance: tuple[float, float] = (0.5, 1.0)
    """Limits of the importance weight of a reward. The weight is the present probability of the
    actions divided by their probability when they were chosen."""
    cutoff: float = 1e-10
    """Eigenvalues of GGᵀ below this fraction of the largest eigenvalue count as 0."""
    drop_last: bool = True
    """If True, the last turn of a dialogue is not used for learning (see `NeuralPolicy`)."""


PAPER = ENACSettings()


@dataclass(frozen=True, slots=True)
class Played:
    """A dialogue in the replay memory, with the probability of each action when it was chosen."""

    exchanges: tuple[Exchange, ...]
    probabilities: NDArray[np.float64]


class ENAC(NeuralPolicy):
    """The eNAC policy."""

    settings: ENACSettings

    def __init__(
        self, size: int, actions: int, *, settings: ENACSettings = PAPER, seed: int = 0
    ) -> None:
        super().__init__(size, actions, settings, seed)
        self.network = layers(
            (size, *settings.hidden, actions),
            seeded(seed),
            activation="ReLU6",
            deviation=settings.deviation,
        )
        self.optimizer = adam(self.network.parameters(), settings.learning_rate)
        self.replay: deque[Played] = deque(maxlen=settings.replay)

    def _scores(self, state: Any) -> Any:
        return self.network(state)

    def _learn(self, dialogue: Sequence[Exchange]) -> None:
        settings = self.settings
        if dialogue:
            self.replay.append(Played(tuple(dialogue), self._probabilities(dialogue)))
        if (self.dialogues + 1) % settings.every or not reaches(
            (len(played.exchanges) for played in self.replay), settings.warm_up
        ):
            return
        batch = min(settings.batch, len(self.replay))
        drawn = self.generator.choice(len(self.replay), batch, replace=False)
        self._update([self.replay[index] for index in drawn.tolist()])

    def _probabilities(self, dialogue: Sequence[Exchange]) -> NDArray[np.float64]:
        """Return the probabilities of the actions; exploration includes masked actions."""
        share = self.exploring
        scores = self.scores(np.stack([exchange.state for exchange in dialogue]))
        probabilities = np.full(len(dialogue), share / self.actions)
        for index, exchange in enumerate(dialogue):
            if best_allowed(scores[index], exchange.mask) == exchange.action:
                probabilities[index] += 1.0 - share
        return probabilities

    def _update(self, batch: Sequence[Played]) -> None:
        torch = self.torch
        states, _, actions = stacked([e for played in batch for e in played.exchanges])
        lengths = [len(played.exchanges) for played in batch]
        inputs, outputs, losses, logs = self._forward(states, actions)
        chosen = logs.detach().double().exp().numpy()
        values = self._dialogue_values(batch, np.split(chosen, np.cumsum(lengths)[:-1]))
        returned = torch.autograd.grad(losses.sum(), outputs)
        try:
            gradient = natural_gradient(
                [layer.detach().double().numpy() for layer in inputs],
                [layer.double().numpy() for layer in returned],
                lengths,
                values,
                self.settings.cutoff,
            )
        except np.linalg.LinAlgError:
            return
        for parameter, part in zip(self.network.parameters(), gradient, strict=True):
            parameter.grad = torch.from_numpy(part.astype(np.float32))
        self.optimizer.step()
        if self.losses is not None:
            self.losses(loss=losses.detach().mean())

    def _forward(self, states: Any, actions: Any) -> tuple[list[Any], list[Any], Any, Any]:
        """Return inputs and outputs of each layer, losses and log-probabilities of actions."""
        inputs, outputs = [], []
        value = states
        for module in self.network:
            if isinstance(module, self.torch.nn.Linear):
                inputs.append(value)
                value = module(value)
                outputs.append(value)
            else:
                value = module(value)
        policy = value.softmax(1) + PROBABLE_AT_LEAST
        logs = policy.log()
        done = logs.gather(1, actions[:, None])[:, 0]
        entropy = -(policy * logs).sum(1)
        return inputs, outputs, -done - entropy, done

    def _dialogue_values(
        self, batch: Sequence[Played], chosen: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return the value of each dialogue, between -1 and 1, shape (dialogues,).

        As in the published program, the value is the last reward instead of the return.
        """
        low, high = self.settings.importance
        values = np.zeros(len(batch))
        for index, (played, now) in enumerate(zip(batch, chosen, strict=True)):
            importance = np.clip(np.cumprod(now / played.probabilities), low, high)
            values[index] = importance[-1] * played.exchanges[-1].reward
        return values.clip(-1.0, 1.0)


def natural_gradient(
    inputs: Sequence[NDArray[np.float64]],
    returned: Sequence[NDArray[np.float64]],
    lengths: Sequence[int],
    values: NDArray[np.float64],
    cutoff: float,
) -> list[NDArray[np.float64]]:
    """Return pinv(G) R as a list of arrays, which have the shapes of the layers' weights and
    biases.

    Each row of G is the gradient of one dialogue, followed by a 1 for the baseline. The gradient of
    the baseline is not returned. For each linear layer, `inputs` has the inputs, shape (turns, in),
    and `returned` has the gradients at the outputs, shape (turns, out). `lengths` has the number of
    turns in each dialogue. `values` is the vector R, shape (dialogues,). Eigenvalues of GGᵀ below
    the fraction `cutoff` of the largest count as 0. Raises `LinAlgError` if the eigenvalues cannot
    be computed.
    """
    number = len(lengths)
    starts = np.cumsum([0, *lengths[:-1]])
    dialogues = [
        slice(start, start + length) for start, length in zip(starts, lengths, strict=True)
    ]
    rows: list[NDArray[np.float64]] = []
    shapes: list[tuple[Any, tuple[int, int]]] = []
    for before, back in zip(inputs, returned, strict=True):
        used = before.any(0)  # inputs that are always zero are skipped
        active = before[:, used]
        weights = np.empty((number, back.shape[1], active.shape[1]))
        for row, dialogue in zip(weights, dialogues, strict=True):
            np.matmul(back[dialogue].T, active[dialogue], out=row)
        shapes.append((used, (back.shape[1], before.shape[1])))
        rows += [weights.reshape(number, -1), np.add.reduceat(back, starts)]
    gram = sum((row @ row.T for row in rows), start=np.ones((number, number)))
    shares = np.linalg.pinv(gram, rcond=cutoff, hermitian=True) @ values
    found = [shares @ row for row in rows]
    for index, (used, layer) in enumerate(shapes):
        whole = np.zeros(layer)
        whole[:, used] = found[2 * index].reshape(layer[0], -1)
        found[2 * index] = whole
    return found
