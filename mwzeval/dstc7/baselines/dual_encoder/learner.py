"""Parameters, their optimizers and the dice of dropout: everything that a step changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.dual_encoder.arrays import WORD_VECTORS, Weights
from mwzeval.dstc7.baselines.dual_encoder.bags import Bags
from mwzeval.dstc7.baselines.dual_encoder.scoring import batch_scores
from mwzeval.dstc7.baselines.dual_encoder.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

DROPOUT = "dropout"
WEIGHT = "weight"


class Learner:
    """A dual encoder in training.

    Word vectors have an optimizer of their own, which touches only the words of the batch.
    """

    def __init__(self, weights: Weights, settings: Settings) -> None:
        import torch

        self.settings = settings
        self.parameters: dict[str, Tensor] = {
            name: torch.from_numpy(array.copy()).requires_grad_()
            for name, array in sorted(weights.items())
        }
        vectors = [name for name in self.parameters if name.endswith(WORD_VECTORS)]
        others = [name for name in self.parameters if name not in vectors]
        self._optimized = (vectors, others)
        self._optimizers = (
            torch.optim.SparseAdam(self._all(vectors), lr=settings.learning_rate),
            torch.optim.Adam(
                self._all(others), lr=settings.learning_rate, foreach=False, fused=False
            ),
        )
        self._dropping = torch.Generator().manual_seed(settings.seed)

    def _all(self, names: list[str]) -> list[Tensor]:
        return [self.parameters[name] for name in names]

    def step(self, contexts: Bags, answers: Bags, twins: NDArray[np.bool_]) -> float:
        """Learn from a batch and return its loss: the mean negative log probability, in nats.

        Each context is to choose its own answer among all of the batch but its `twins` (contexts ×
        answers), which are right as well.
        """
        import torch

        scores = batch_scores(self.parameters, contexts, answers, self.settings, self._dropping)
        scores = scores.masked_fill(torch.from_numpy(twins), float("-inf"))
        loss = torch.nn.functional.cross_entropy(scores, torch.arange(len(contexts)))
        for optimizer in self._optimizers:
            optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for optimizer in self._optimizers:
            optimizer.step()  # type: ignore[no-untyped-call]
        return float(loss.item())

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """Return the weights as they are now, not copied."""
        return {name: tensor.detach().numpy() for name, tensor in self.parameters.items()}

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that the next step depends on, as arrays."""
        arrays: dict[str, NDArray[Any]] = {
            f"{WEIGHT}:{name}": array for name, array in self.weights().items()
        }
        for names, optimizer in zip(self._optimized, self._optimizers, strict=True):
            for name in names:
                for key, value in optimizer.state[self.parameters[name]].items():
                    arrays[f"{key}:{name}"] = np.asarray(value)
        arrays[DROPOUT] = self._dropping.get_state().numpy()
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state. Raises `ValueError` when it is not one of such a learner."""
        import torch

        for names, optimizer in zip(self._optimized, self._optimizers, strict=True):
            for name in names:
                parameter = self.parameters[name]
                saved = {key.partition(":")[0]: a for key, a in _about(arrays, name).items()}
                weight = saved.pop(WEIGHT, None)
                if weight is None or weight.shape != tuple(parameter.shape):
                    raise ValueError(f'no weight "{name}" of the right shape')
                with torch.no_grad():
                    parameter.copy_(torch.from_numpy(weight))
                for key, array in saved.items():
                    # SparseAdam counts its steps in an int, Adam in a tensor.
                    is_count = array.dtype == np.int64
                    value = int(array) if is_count else torch.from_numpy(array.copy())
                    optimizer.state[parameter][key] = value
        self._dropping.set_state(torch.from_numpy(arrays[DROPOUT].copy()))


def _about(arrays: Mapping[str, NDArray[Any]], name: str) -> dict[str, NDArray[Any]]:
    return {key: array for key, array in arrays.items() if key.partition(":")[2] == name}
