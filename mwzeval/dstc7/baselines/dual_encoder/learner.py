"""Parameters, their optimizers and the dice of dropout: everything that a step changes.

Scores of all contexts of a batch with all its candidates, with gradients (PyTorch).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.dual_encoder.arrays import (
    LENGTH_OFFSET,
    WORD_VECTORS,
    Bags,
    Settings,
    Weights,
    side_names,
)

if TYPE_CHECKING:
    from torch import Generator, Tensor


def batch_scores(
    parameters: dict[str, Tensor],
    contexts: Bags,
    candidates: Bags,
    settings: Settings,
    dropping: Generator | None = None,
) -> Tensor:
    """Return the scores, contexts × candidates; with `dropping`, words are left out at random.

    The same as the dot products of `encoding`, without dropout to the last bits.
    """
    left, right = side_names(settings)
    dropout = settings.dropout if dropping is not None else 0.0
    dense = _dense(parameters, contexts, left, 0, dropout, dropping) @ (
        _dense(parameters, candidates, right, 1, dropout, dropping).T
    )
    # Only words on both sides add to a product.
    common = np.intersect1d(contexts.words, candidates.words)
    sparse = _sparse(parameters, contexts, left, 0, common) @ (
        _sparse(parameters, candidates, right, 1, common).T
    )
    return parameters["dense_scale"].exp() * dense + parameters["sparse_scale"].exp() * sparse


def _dense(
    parameters: dict[str, Tensor],
    bags: Bags,
    side: str,
    which: int,
    dropout: float,
    dropping: Generator | None,
) -> Tensor:
    import torch

    words = torch.from_numpy(bags.words.astype(np.int64))
    weights = _word_weights(parameters, bags, side, "dense")
    if dropout:
        kept = torch.rand(len(words), generator=dropping) >= dropout
        weights = weights * kept / (1 - dropout)
    summed = torch.nn.functional.embedding_bag(
        words,
        parameters[f"{side}.{WORD_VECTORS}"],
        torch.from_numpy(bags.starts[:-1].copy()),
        mode="sum",
        per_sample_weights=weights,
        sparse=True,
    )
    return summed * _discount(parameters, bags, "dense", which)


def _sparse(
    parameters: dict[str, Tensor], bags: Bags, side: str, which: int, common: np.ndarray
) -> Tensor:
    import torch

    columns = np.searchsorted(common, bags.words)
    columns[columns == len(common)] = 0
    is_common = common[columns] == bags.words if len(common) else np.zeros(len(columns), bool)
    rows = np.repeat(np.arange(len(bags)), bags.sizes)
    places = torch.from_numpy((rows * len(common) + columns)[is_common])
    weights = _word_weights(parameters, bags, side, "sparse")[torch.from_numpy(is_common)]
    summed = torch.zeros(len(bags) * len(common)).index_add(0, places, weights)
    matrix = summed.view(len(bags), len(common)).relu().log1p()
    return matrix * _discount(parameters, bags, "sparse", which)


def _word_weights(parameters: dict[str, Tensor], bags: Bags, side: str, kind: str) -> Tensor:
    import torch

    words = torch.from_numpy(bags.words.astype(np.int64))
    ages = torch.from_numpy(bags.ages.astype(np.int64))
    of_words: Tensor = parameters[f"{side}.{kind}_words"][words]
    return of_words * parameters[f"{side}.{kind}_ages"].exp()[ages]


def _discount(parameters: dict[str, Tensor], bags: Bags, kind: str, which: int) -> Tensor:
    import torch

    sizes = torch.from_numpy(bags.sizes.astype(np.float32))
    power = parameters[f"{kind}_lengths"][which].sigmoid()
    return (sizes + LENGTH_OFFSET).pow(-power)[:, None]


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
