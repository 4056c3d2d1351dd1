"""Training of the generator: one model a side.

Loss: cross-entropy of the tokens, and the two costs of the acts vector (Wen et al., EMNLP 2015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.dialogues import Dialogue, check_characters
from mwzeval.crosswoz.sclstm.generator import (
    MODEL_FILE,
    Sclstm,
    SclstmNlg,
    load_sclstm,
    multi_hot,
    save_sclstm,
)
from mwzeval.crosswoz.sclstm.network import Losses, first_weights, losses
from mwzeval.crosswoz.sclstm.sentences import Example, Vocabulary, examples_of
from mwzeval.crosswoz.simulation.protocols import Side
from mwzeval.crosswoz.systems.templates import SIDES
from mwzeval.errors import InputError, Problem
from mwzeval.libraries import required
from mwzeval.neural.training import Learner, Point, TrainingSettings, train

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class SclstmSettings(TrainingSettings):
    """Choices of a training run, those of the public code by default. Raises `UsageError`."""

    hidden: int = 100
    """Width of the recurrent layer, and of the embeddings."""
    dropout: float = 0.25
    """Share of embeddings and hidden units that are left out at random."""
    learning_rate: float = 0.005
    """Of Adam."""
    batch_size: int = 32
    """Sentences of a step."""
    epochs: int = 30
    """The most passes over the training dialogues: five without a better one are the last ones."""
    seed: int = 2019
    """Of first weights, order and dropout."""
    rarest: int = 2
    """Words that come less often in training are unknown, and never said."""


WatchSide = Callable[[Side, Point], None]
"""Is told of each point of the curve of a side as it comes."""


def train_sclstm(
    training: Sequence[Dialogue],
    validation: Sequence[Dialogue],
    folder: str | Path,
    settings: SclstmSettings | None = None,
    watch: WatchSide | None = None,
) -> SclstmNlg:
    """Train the generators of both sides and return the best ones on `validation`.

    `folder` gets a folder for each side, with its model and a checkpoint after each epoch. Called
    again after it was interrupted, it goes on and ends with the same bytes. The losses that `watch`
    is told are in nats a token: on training sentences with, on validation sentences without dropout
    and the costs of the acts vector.

    Raises `InputError` for dialogues without sentences, texts that are no Unicode and a damaged
    checkpoint, `UsageError` when the folder holds something else, `DependencyError` without PyTorch
    or jieba.
    """
    required("torch")
    check_characters([*training, *validation])
    for side in SIDES:
        learns = _examples(training, side, "training")
        checks = _examples(validation, side, "validation")
        learner = SclstmLearner(learns, checks, settings or SclstmSettings())
        told = None if watch is None else _telling(watch, side)
        train(learner, Path(folder, side), told)
    return load_sclstm(folder)


def _telling(watch: WatchSide, side: Side) -> Callable[[Point], None]:
    return lambda point: watch(side, point)


def _examples(dialogues: Sequence[Dialogue], side: Side, what: str) -> list[Example]:
    examples = examples_of(dialogues, side)
    if not examples:
        what = f"the {what} dialogues have no sentence of the {side} that says all its values"
        raise InputError([Problem("no-training-data", what)])
    return examples


class SclstmLearner(Learner):
    """The generator of one side, in training."""

    model_file = MODEL_FILE
    longest_gradient = 5.0
    patience = 5

    def __init__(
        self, learns: Sequence[Example], checks: Sequence[Example], settings: SclstmSettings
    ) -> None:
        import torch

        self.settings: SclstmSettings = settings
        self.examples = len(learns)
        self._vocabulary = Vocabulary.of(learns, settings.rarest)
        sizes = len(self._vocabulary.tokens), len(self._vocabulary.features)
        first = first_weights(*sizes, settings.hidden, settings.seed)
        self.weights: dict[str, Tensor] = {
            name: torch.from_numpy(array).requires_grad_() for name, array in first.items()
        }
        self.optimizers = (
            torch.optim.Adam(
                self.weights.values(), lr=settings.learning_rate, foreach=False, fused=False
            ),
        )
        self.data = tuple(map(_fingerprint, (learns, checks)))
        self._learns = _Sentences.of(learns, self._vocabulary)
        self._checks = _Sentences.of(checks, self._vocabulary)

    def loss(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the loss a token: cross-entropy, and the costs of the acts vector."""
        found = self._learns.losses(self.weights, chosen, self.settings.dropout)
        return (found.words + found.acts) / self._learns.tokens(chosen)

    def evaluate(self) -> tuple[Mapping[str, float], float]:
        """Return the cross-entropy of validation sentences, in nats a token."""
        import torch

        everything = np.arange(len(self._checks.lengths))
        with torch.no_grad():
            parts = [everything[start : start + 256] for start in range(0, len(everything), 256)]
            total = sum(self._checks.losses(self.weights, part, 0.0).words.item() for part in parts)
        loss = total / self._checks.tokens(everything)
        return {"validation_loss": loss}, -loss

    def save(self, folder: Path, point: Point) -> None:
        """Write the model."""
        about = {"settings": asdict(self.settings), "epoch": point.epoch}
        model = Sclstm(self.weights, self._vocabulary, self.settings.seed)
        save_sclstm(folder / self.model_file, model, about)


@dataclass(frozen=True, slots=True, eq=False)
class _Sentences:
    """Examples as numbers; `tokens` unknown to the vocabulary are left out of them."""

    acts: Tensor
    numbers: Tensor
    lengths: NDArray[np.int64]
    """With start and end."""

    @classmethod
    def of(cls, examples: Sequence[Example], vocabulary: Vocabulary) -> _Sentences:
        import torch

        known = {token: number for number, token in enumerate(vocabulary.tokens)}
        rows = [
            [0, *(known[token] for token in example.tokens if token in known), 1]
            for example in examples
        ]
        lengths = np.array([len(row) for row in rows])
        numbers = np.zeros((len(rows), lengths.max()), dtype=np.int64)
        for filled, row in zip(numbers, rows, strict=True):
            filled[: len(row)] = row
        acts = multi_hot([example.features for example in examples], vocabulary)
        return cls(acts, torch.from_numpy(numbers), lengths)

    def losses(
        self, weights: Mapping[str, Tensor], chosen: NDArray[np.int64], dropout: float
    ) -> Losses:
        import torch

        lengths = self.lengths[chosen]
        at = torch.from_numpy(chosen)
        numbers = self.numbers[at, : lengths.max()]
        return losses(weights, self.acts[at], numbers, torch.from_numpy(lengths), dropout)

    def tokens(self, chosen: NDArray[np.int64]) -> int:
        return int((self.lengths[chosen] - 1).sum())


def _fingerprint(examples: Sequence[Example]) -> str:
    digest = blake2b(digest_size=16)
    for example in examples:
        digest.update(repr(example).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
