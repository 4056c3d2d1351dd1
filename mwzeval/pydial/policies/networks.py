"""Small networks in PyTorch (extra `neural`), as arrays and back; kept dialogues to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.policies.layouts import Layout
from mwzeval.pydial.policies.learner import Arrays, Exchange
from mwzeval.version import required

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

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
    """Return linear layers with activations between them (and behind, unless `open_end`).

    Weights are drawn from a normal distribution cut off at two standard deviations, biases are 0;
    `deviation` None takes that of He et al. (2015), except for the last open layer: SMALL.
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
    network: nn.Sequential = torch.nn.Sequential(*modules)
    return network


def seeded(seed: int) -> torch.Generator:
    """Return a generator of PyTorch."""
    generator: torch.Generator = required("torch").Generator().manual_seed(seed)
    return generator


def allowed_logits(logits: Tensor, masks: Tensor) -> Tensor:
    """Return logits that make actions impossible that are not allowed."""
    return logits.masked_fill(~masks, -1e9)


def stacked(exchanges: Sequence[Exchange]) -> tuple[Any, Any, Any]:
    """Return states, masks and actions of exchanges as tensors."""
    torch = required("torch")
    states = torch.from_numpy(np.stack([e.state for e in exchanges]))
    masks = torch.from_numpy(np.stack([e.mask for e in exchanges]))
    return states, masks, torch.tensor([e.action for e in exchanges])


def packed(name: str, module: nn.Module) -> Arrays:
    """Return the parameters of a network, by names that begin with `name`."""
    return {f"{name}.{k}": v.detach().numpy().copy() for k, v in module.state_dict().items()}


def unpack(name: str, module: nn.Module, arrays: Arrays) -> None:
    """Put packed parameters into a network of the same shape."""
    torch = required("torch")
    prefix = f"{name}."
    module.load_state_dict(
        {
            key.removeprefix(prefix): torch.from_numpy(array.copy())
            for key, array in arrays.items()
            if key.startswith(prefix)
        }
    )


def packed_optimizer(optimizer: torch.optim.Optimizer) -> Arrays:
    """Return what an optimiser remembers of each parameter."""
    return {
        f"optimizer.{index}.{name}": np.asarray(value.detach().numpy()).copy()
        for index, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
    }


def unpack_optimizer(optimizer: torch.optim.Optimizer, arrays: Arrays) -> None:
    """Put back what `packed_optimizer` returned."""
    torch = required("torch")
    states: dict[int, dict[str, Any]] = {}
    for key, array in arrays.items():
        if key.startswith("optimizer."):
            _, index, name = key.split(".")
            states.setdefault(int(index), {})[name] = torch.from_numpy(array.copy())
    state = optimizer.state_dict()
    optimizer.load_state_dict({**state, "state": states})


def optimizer_layouts(optimizer: torch.optim.Optimizer, arrays: Arrays) -> dict[str, Layout]:
    """Return what `packed_optimizer` returns: nothing before the first step, and after it this."""
    if not any(name.startswith("optimizer.") for name in arrays):
        return {}
    layouts = {}
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    for index, parameter in enumerate(parameters):
        layouts[f"optimizer.{index}.step"] = Layout(np.float32, ())
        for name in ("exp_avg", "exp_avg_sq"):
            layouts[f"optimizer.{index}.{name}"] = Layout(np.float32, tuple(parameter.shape))
    return layouts


def packed_dialogues(dialogues: Sequence[Sequence[Exchange]], like: int) -> Arrays:
    """Return kept dialogues as arrays; `like` is the size of a state."""
    exchanges = [exchange for dialogue in dialogues for exchange in dialogue]
    states = [e.state for e in exchanges]
    return {
        "kept.lengths": np.array([len(dialogue) for dialogue in dialogues], dtype=np.int64),
        "kept.states": np.array(states, dtype=np.float32).reshape(len(states), like),
        "kept.masks": np.array([e.mask for e in exchanges], dtype=np.bool_),
        "kept.actions": np.array([e.action for e in exchanges], dtype=np.int64),
        "kept.rewards": np.array([e.reward for e in exchanges], dtype=np.float64),
    }


def dialogue_layouts(size: int, actions: int) -> dict[str, Layout]:
    """Return what `packed_dialogues` returns, given the sizes of a state and of a mask."""
    return {
        "kept.lengths": Layout(np.int64, ("dialogues",)),
        "kept.states": Layout(np.float32, ("exchanges", size)),
        "kept.masks": Layout(np.bool_, ("exchanges", actions)),
        "kept.actions": Layout(np.int64, ("exchanges",), below=actions),
        "kept.rewards": Layout(np.float64, ("exchanges",)),
    }


def unpacked_dialogues(arrays: Arrays) -> list[tuple[Exchange, ...]]:
    """Return the dialogues that `packed_dialogues` made arrays of. Raises `ValueError`."""
    lengths = arrays["kept.lengths"].tolist()
    if min(lengths, default=1) < 0 or sum(lengths) != len(arrays["kept.states"]):
        raise ValueError("the lengths of kept dialogues are not those of their exchanges")
    exchanges = [
        Exchange(state, mask, action, reward)
        for state, mask, action, reward in zip(
            arrays["kept.states"],
            arrays["kept.masks"],
            arrays["kept.actions"].tolist(),
            arrays["kept.rewards"].tolist(),
            strict=True,
        )
    ]
    dialogues, at = [], 0
    for length in lengths:
        dialogues.append(tuple(exchanges[at : at + length]))
        at += length
    return dialogues


def discounted(rewards: NDArray[np.float64], discount: float) -> NDArray[np.float64]:
    """Return from each place on the discounted sum of what follows, shape (n,)."""
    sums = np.zeros(len(rewards))
    total = 0.0
    for index in range(len(rewards) - 1, -1, -1):
        total = rewards[index] + discount * total
        sums[index] = total
    return sums
