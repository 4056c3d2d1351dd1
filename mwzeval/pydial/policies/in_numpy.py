"""Layers of PyTorch that compute in NumPy what goes through them alone.

For one vector and small layers PyTorch spends most of its time on preparing for gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.libraries import required

if TYPE_CHECKING:
    from torch import nn


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
"""Activations, by the names of PyTorch's modules; they change what they are given."""


@cache
def layers_class() -> type[nn.Sequential]:
    """Return the class of layers. Raises `DependencyError` without PyTorch."""
    torch = required("torch")
    base: Any = torch.nn.Sequential

    class Layers(base):  # type: ignore[misc]
        """Layers that can be called with a tensor or with an array (see `layers`)."""

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
            # A copy has parameters of its own.
            return {key: value for key, value in self.__dict__.items() if key != "in_numpy"}

    return Layers


def _in_numpy(module: Any) -> Callable[[Any], Any]:
    """Return what a layer does, as a function of an array; it sees all changes of weights."""
    name = type(module).__name__
    if name in IN_NUMPY:
        return IN_NUMPY[name]
    weight, bias = (each.detach().numpy() for each in (module.weight, module.bias))

    def linear(values: NDArray[np.float32]) -> NDArray[np.float32]:
        product: NDArray[np.float32] = weight @ values
        product += bias
        return product

    return linear
