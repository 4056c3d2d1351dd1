"""The common parts of neural policies: networks, recorded dialogues and exploration.

The networks are small and use PyTorch (extra `neural`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import MwzevalError
from mwzeval.libraries import required
from mwzeval.neural import set_weights, weights_of
from mwzeval.pydial.decision_process import Mask
from mwzeval.pydial.policies import Arrays, State, VectorView
from mwzeval.pydial.simulator.rng import Rng

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


class DivergedError(MwzevalError):
    """The error for weights that give no valid action, because scores are infinite or NaN."""

    def __init__(self) -> None:
        super().__init__("the policy's scores of actions are not finite")


class Exchange(NamedTuple):
    """One turn of a dialogue: state, mask, action, and the reward of the turn (see `Learner`)."""

    state: State
    mask: Mask
    action: int
    reward: float


@dataclass(frozen=True, slots=True)
class Exploration:
    """The fraction of random actions, which decreases linearly over training dialogues.

    After every `restart` dialogues, the fraction starts again at its initial value; with None, it
    never restarts. The published program restarted the fraction with every batch of 1,000
    dialogues, because it counted dialogues from 0 in each batch.
    """

    start: float = 0.3
    stop: float = 0.0
    dialogues: int = 4000
    restart: int | None = 1000

    def share(self, dialogue: int) -> float:
        """Return the fraction of random actions in a dialogue; the first `dialogue` is 0."""
        if self.restart is not None:
            dialogue %= self.restart
        done = min(1.0, dialogue / self.dialogues)
        return self.start + done * (self.stop - self.start)


def reaches(lengths: Iterable[int], least: int) -> bool:
    """Return whether the sum of the dialogue lengths is at least `least`."""
    return any(total >= least for total in accumulate(lengths, initial=0))


def best_allowed(values: NDArray[Any], mask: Mask) -> int:
    """Return the allowed action with the highest value (the first of several).

    Raises `DivergedError` if the highest value is not finite.
    """
    best = int(np.where(mask, values, -np.inf).argmax())
    if not math.isfinite(values[best]):
        raise DivergedError
    return best


def _relu(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.maximum(values, 0.0, out=values)


def _relu6(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.minimum(_relu(values), 6.0, out=values)


def _tanh(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.tanh(values, out=values)


IN_NUMPY: Mapping[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "ReLU": _relu,
    "ReLU6": _relu6,
    "Tanh": _tanh,
}
"""Activation functions by the names of PyTorch's modules; each function modifies its argument."""


@cache
def layers_class() -> type[nn.Sequential]:
    """Return the class of the PyTorch layers. Raises `DependencyError` without PyTorch."""
    torch = required("torch")
    base: Any = torch.nn.Sequential

    class Layers(base):  # type: ignore[misc]
        """Layers that accept a tensor or an array (see `layers`)."""

        def __call__(self, values: Any) -> Any:
            if isinstance(values, np.ndarray):
                for step in self._steps():
                    values = step(values)
                return values
            return super().__call__(values)

        def _steps(self) -> list[Callable[[Any], Any]]:
            steps: list[Callable[[Any], Any]] | None = self.__dict__.get("in_numpy")
            if steps is None:
                steps = self.__dict__["in_numpy"] = [_in_numpy(module) for module in self]
            return steps

        def __getstate__(self) -> dict[str, Any]:
            # A copy has separate parameters.
            return {key: value for key, value in self.__dict__.items() if key != "in_numpy"}

    return Layers


def _in_numpy(module: Any) -> Callable[[Any], Any]:
    """Return the function of a layer for arrays; it uses the current weights."""
    name = type(module).__name__
    if name in IN_NUMPY:
        return IN_NUMPY[name]
    weight, bias = (parameter.detach().numpy() for parameter in (module.weight, module.bias))

    def linear(values: NDArray[np.float32]) -> NDArray[np.float32]:
        product: NDArray[np.float32] = weight @ values
        product += bias
        return product

    return linear


SMALL = 0.01
PROBABLE_AT_LEAST = 1e-5


def layers(
    sizes: Sequence[int],
    generator: torch.Generator,
    *,
    activation: str = "ReLU",
    deviation: float | None = SMALL,
    open_end: bool = True,
) -> nn.Sequential:
    """Return linear layers, with activations between them and, unless `open_end`, after the last.

    `sizes` are the sizes of the input, the hidden layers and the output; `activation` is the name
    of a PyTorch module. Raises `DependencyError` without PyTorch.

    `generator` draws the weights from a normal distribution that is truncated at two standard
    deviations; all biases are 0. If `deviation` is None, weights are drawn by He initialization (He
    et al., 2015), except that the last layer with `open_end` has the deviation SMALL.

    If the input is a tensor, the layers are PyTorch modules. If the input is one vector as an
    array, shape (size,), the layers compute with NumPy, which has less overhead.
    """
    torch = required("torch")
    modules: list[Any] = []
    last = len(sizes) - 2
    for index, (incoming, outgoing) in enumerate(pairwise(sizes)):
        layer = torch.nn.Linear(incoming, outgoing)
        is_end = open_end and index == last
        spread = deviation or (SMALL if is_end else (2 / incoming) ** 0.5)
        torch.nn.init.trunc_normal_(
            layer.weight, std=spread, a=-2 * spread, b=2 * spread, generator=generator
        )
        torch.nn.init.zeros_(layer.bias)
        modules.append(layer)
        if not is_end:
            modules.append(getattr(torch.nn, activation)())
    network: nn.Sequential = layers_class()(*modules)
    return network


def adam(parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.Adam:
    """Return the optimizer of all neural policies. Raises `DependencyError` without PyTorch."""
    optimizer: torch.optim.Adam = required("torch").optim.Adam(
        parameters, lr=learning_rate, fused=True
    )
    return optimizer


def seeded(seed: int) -> torch.Generator:
    """Return a seeded PyTorch generator. Raises `DependencyError` without PyTorch."""
    generator: torch.Generator = required("torch").Generator().manual_seed(seed)
    return generator


def allowed_logits(logits: Tensor, masks: Tensor) -> Tensor:
    """Return logits that give masked actions a probability of 0."""
    return logits.masked_fill(~masks, -1e9)


def stacked(exchanges: Sequence[Exchange]) -> tuple[Any, Any, Any]:
    """Return states, masks and actions of n turns as tensors.

    The shapes of states, masks and actions are (n, size), (n, actions) and (n,). Raises
    `DependencyError` without PyTorch.
    """
    torch = required("torch")
    number = len(exchanges)
    states = np.concatenate([e.state for e in exchanges]).reshape(number, -1)
    masks = np.concatenate([e.mask for e in exchanges]).reshape(number, -1)
    actions = np.array([e.action for e in exchanges], dtype=np.int64)
    return torch.from_numpy(states), torch.from_numpy(masks), torch.from_numpy(actions)


def discounted(rewards: NDArray[np.float64], discount: float) -> NDArray[np.float64]:
    """Return the discounted sum of rewards from each turn to the end, shape (n,)."""
    sums = np.zeros(len(rewards))
    total = 0.0
    for index in range(len(rewards) - 1, -1, -1):
        total = rewards[index] + discount * total
        sums[index] = total
    return sums


def drawn(logits: NDArray[np.float32], mask: Mask, rng: Rng) -> int:
    """Return an allowed action, sampled with the probabilities from logits, shape (actions,).

    The probability of masked actions is distributed among the other actions. Raises
    `DivergedError` if logits of allowed actions are not finite.
    """
    allowed = np.where(mask, logits.astype(np.float64), -np.inf)
    most = allowed.max()
    if not math.isfinite(most):
        raise DivergedError
    shares = np.cumsum(np.exp(allowed - most))
    return int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))


Losses = Callable[..., object]
"""A function that receives the losses of an update by name, as tensors with one element."""

NO_EXPLORATION = Exploration(0.0, 0.0, 1, None)
REWARD_SCALE = 20.0
"""Neural policies learn from rewards divided by this number."""


class NeuralPolicy(ABC):
    """A policy that chooses the allowed action with the highest score, or explores at random.

    Subclasses define `_scores` (the score of each action), `_choice` (if actions are sampled),
    `_learn` (called after each dialogue) and `network` (the module that chooses actions).
    """

    view: ClassVar[VectorView] = "neural"
    network: Any
    """The module that chooses actions."""

    def __init__(self, size: int, actions: int, settings: Any, seed: int) -> None:
        """Prepare a policy. The settings `exploration` and `drop_last` are optional."""
        self.size, self.actions = size, actions
        self.settings = settings
        self.exploration: Exploration = getattr(settings, "exploration", NO_EXPLORATION)
        self.drop_last: bool = getattr(settings, "drop_last", False)
        self.dialogues = 0
        self.generator = np.random.default_rng(seed)
        self.torch: Any = required("torch")
        self.losses: Losses | None = None
        """If this function is set, it receives the losses of each update."""
        self.begin()

    def begin(self) -> None:
        """Play a training dialogue with a policy that learns."""
        self._exchanges: list[Exchange] = []

    @property
    def exploring(self) -> float:
        """The fraction of random actions in the current training dialogue."""
        return self.exploration.share(self.dialogues)

    def act(self, state: State, mask: Mask, rng: Rng, training: bool = False) -> int:
        """Return the best allowed action or a sampled one; if `training` is true, explore at
        random.

        `state` has shape (size,), and `mask` has shape (actions,).
        """
        if training and self.exploring and rng.random() < self.exploring:
            return int(rng.choose(np.flatnonzero(mask).tolist()))
        return self._choice(self.scores(state), mask, rng, training)

    def _choice(self, scores: NDArray[np.float32], mask: Mask, rng: Rng, training: bool) -> int:
        """Return the action to take without exploration; scores have shape (actions,)."""
        return best_allowed(scores, mask)

    def scores(self, state: State) -> NDArray[np.float32]:
        """Return a score for each action, shape (actions,) or (states, actions).

        The scores of a state do not depend on the other states, and are bitwise identical.
        """
        if state.ndim == 2:
            return np.stack([self._scores(row) for row in state])
        scores: NDArray[np.float32] = self._scores(state)
        return scores

    def record(self, state: State, mask: Mask, action: int, reward: float) -> None:
        """Store a turn with its reward divided by `REWARD_SCALE`."""
        self._exchanges.append(Exchange(state, mask, action, reward / REWARD_SCALE))

    def end(self) -> None:
        """Learn from the finished dialogue and from stored dialogues."""
        self._learn(self._kept())
        self.dialogues += 1
        self.begin()

    def _kept(self) -> tuple[Exchange, ...]:
        """Return the turns for learning.

        With `drop_last`, as in the published program, the last turn is omitted. Its reward minus
        the reward of the first turn is added to the reward of the preceding turn.
        """
        exchanges = self._exchanges
        if not self.drop_last:
            return tuple(exchanges)
        if len(exchanges) < 2:
            return ()
        *kept, before, last = exchanges
        final = last.reward - exchanges[0].reward
        return (*kept, before._replace(reward=before.reward + final))

    def weights(self) -> Arrays:
        """Return the weights of the neural network."""
        return weights_of(self.network.state_dict())

    def load(self, arrays: Arrays) -> None:
        """Replace the network weights.

        Raises `ValueError` for other names, shapes or infinite values.
        """
        set_weights(self.network.state_dict(), arrays)

    @abstractmethod
    def _scores(self, state: Any) -> Any: ...

    @abstractmethod
    def _learn(self, dialogue: Sequence[Exchange]) -> None: ...
