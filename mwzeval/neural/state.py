"""The state of a model in training as arrays: weights, moments of optimisers, random generator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.files.tensor_files import Arrays

if TYPE_CHECKING:
    from torch import Generator, Tensor
    from torch.optim import Optimizer

WEIGHT, GENERATOR = "weight", "generator"
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What Adam keeps of a weight: all of it or, before the weight's first gradient, nothing."""


def weights_of(weights: Mapping[str, Tensor]) -> Arrays:
    """Return weights as arrays, not copied."""
    return {name: weight.detach().numpy() for name, weight in weights.items()}


def set_weights(weights: Mapping[str, Tensor], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Put arrays into weights. Raises `ValueError` unless they are finite and just those."""
    import torch

    expected = {name: tuple(weight.shape) for name, weight in weights.items()}
    if {name: array.shape for name, array in arrays.items()} != expected:
        raise ValueError("weights are missing, unknown or of another shape")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("weights that are not finite")
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(torch.from_numpy(arrays[name].copy()))


def trained_by(optimizer: Optimizer) -> Iterator[Tensor]:
    """Return the weights that an optimiser changes."""
    return (weight for group in optimizer.param_groups for weight in group["params"])


def state_of(
    weights: Mapping[str, Tensor], optimizers: Sequence[Optimizer], generator: Generator
) -> Arrays:
    """Return everything that the next step depends on, not copied.

    The optimisers are Adam or SparseAdam; arrays are called `weight:NAME`, `exp_avg:NAME` and so
    on.
    """
    arrays: Arrays = {GENERATOR: generator.get_state().numpy()}
    for name, weight in weights.items():
        arrays[f"{WEIGHT}:{name}"] = weight.detach().numpy()
        for optimizer in optimizers:
            for key, value in optimizer.state.get(weight, {}).items():
                arrays[f"{key}:{name}"] = np.asarray(value)
    return arrays


def restore(
    weights: Mapping[str, Tensor],
    optimizers: Sequence[Optimizer],
    generator: Generator,
    arrays: Arrays,
) -> None:
    """Put back what `state_of` returned. Raises `ValueError` or `KeyError` for anything else."""
    import torch

    set_weights(weights, {name: arrays[f"{WEIGHT}:{name}"] for name in weights})
    names = {id(weight): name for name, weight in weights.items()}
    for optimizer in optimizers:
        for weight in trained_by(optimizer):
            name = names[id(weight)]
            if not any(f"{key}:{name}" in arrays for key in MOMENTS):
                continue
            for key in MOMENTS:
                array = arrays[f"{key}:{name}"]
                if array.shape != (() if key == "step" else tuple(weight.shape)):
                    raise ValueError(f'{key} of "{name}" has another shape')
                # SparseAdam counts its steps in an int, Adam in a tensor.
                is_count = array.dtype == np.int64
                value = int(array) if is_count else torch.from_numpy(array.copy())
                optimizer.state[weight][key] = value
    generator.set_state(torch.from_numpy(arrays[GENERATOR].copy()))
