"""Training of the SL policy.

Source: Zhu et al., TACL 2020, section 4.3: two layers of 100, mean sigmoid cross-entropy, Adam.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.systems.policy_vector import Vector, Vocabulary, multi_hot
from mwzeval.crosswoz.systems.sl_policy import MODEL_FILE, SlPolicy, all_turns, no_turns, shapes
from mwzeval.libraries import required
from mwzeval.neural.state import Arrays, weights_of
from mwzeval.neural.training import Learner, Point, TrainingSettings, Watch, train

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Settings(TrainingSettings):
    """Choices of a training run, those of the paper by default. Raises `UsageError`.

    Of all epochs the one of the lowest validation loss is kept.
    """

    hidden: int = 100
    """Width of the two hidden layers."""
    seed: int = 2019
    """Of the first weights and of the order of the turns."""


@dataclass(frozen=True, slots=True, eq=False)
class _Turns:
    """Situations and what is right in them, as zeros and ones."""

    situations: Vector
    actions: Vector

    @classmethod
    def of(
        cls, dialogues: Iterable[Dialogue], database: Database, vocabulary: Vocabulary, what: str
    ) -> _Turns:
        turns = all_turns(dialogues, database, vocabulary)
        if not turns:
            raise no_turns(what)
        return cls(
            vocabulary.vectors([turn.situation for turn in turns]),
            multi_hot(
                [vocabulary.actions(turn.gold_acts) for turn in turns], len(vocabulary.system)
            ),
        )

    def fingerprint(self) -> str:
        digest = blake2b(digest_size=16)
        for array in (self.situations, self.actions):
            digest.update(np.packbits(array > 0).tobytes())
        return digest.hexdigest()


def train_policy(
    training: Iterable[Dialogue],
    validation: Iterable[Dialogue],
    database: Database,
    vocabulary: Vocabulary,
    folder: str | Path,
    settings: Settings | None = None,
    watch: Watch | None = None,
) -> tuple[SlPolicy, Sequence[Point]]:
    """Train a policy and return the best one and its learning curve, one point an epoch.

    `folder` gets the policy (`policy.safetensors`) and a checkpoint, from which the same call goes
    on if it was interrupted, to the same bytes. The losses of the curve are mean cross-entropies
    per act, in nats; that on `validation` is the score `validation_loss`. `watch` is told of each
    point.

    Raises `InputError` for dialogues without turns and for a damaged checkpoint, `UsageError` when
    the folder holds something else, `DependencyError` without PyTorch.
    """
    required("torch")
    learner = _PolicyLearner(
        _Turns.of(training, database, vocabulary, "training"),
        _Turns.of(validation, database, vocabulary, "validation"),
        vocabulary,
        settings or Settings(),
    )
    curve = train(learner, Path(folder), watch)
    return SlPolicy.load(folder), curve


class _PolicyLearner(Learner):
    model_file = MODEL_FILE

    def __init__(
        self, learns: _Turns, checks: _Turns, vocabulary: Vocabulary, settings: Settings
    ) -> None:
        import torch

        self.settings: Settings = settings
        self.examples = len(learns.situations)
        self.weights: dict[str, Tensor] = {
            name: torch.from_numpy(array).requires_grad_()
            for name, array in _first_weights(vocabulary, settings).items()
        }
        self.optimizers = (
            torch.optim.Adam(
                self.weights.values(), lr=settings.learning_rate, foreach=False, fused=False
            ),
        )
        words = blake2b(digest_size=16)
        for side in (vocabulary.user, vocabulary.system):
            words.update("\n".join([*side, ""]).encode())
        self.data = (learns.fingerprint(), checks.fingerprint(), words.hexdigest())
        self._vocabulary = vocabulary
        self._learns = learns
        self._checks = checks

    def loss(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the mean cross-entropy per act, in nats."""
        return self._cross_entropy(self._learns.situations[chosen], self._learns.actions[chosen])

    def evaluate(self) -> tuple[Mapping[str, float], float]:
        """Return the loss on the validation dialogues."""
        import torch

        with torch.no_grad():
            loss = self._cross_entropy(self._checks.situations, self._checks.actions).item()
        return {"validation_loss": loss}, -loss

    def save(self, folder: Path, point: Point) -> None:
        """Write the policy; its file counts epochs from 0."""
        policy = SlPolicy(self._vocabulary, weights_of(self.weights))
        about = {"settings": asdict(self.settings), "best_epoch": point.epoch - 1}
        policy.save(folder / self.model_file, about)

    def _cross_entropy(self, situations: Vector, actions: Vector) -> Tensor:
        import torch
        from torch.nn import functional

        of = self.weights
        values = torch.from_numpy(situations)
        values = functional.relu(functional.linear(values, of["first.weight"], of["first.bias"]))
        values = functional.relu(functional.linear(values, of["second.weight"], of["second.bias"]))
        logits = functional.linear(values, of["output.weight"], of["output.bias"])
        return functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(actions))


def _first_weights(vocabulary: Vocabulary, settings: Settings) -> Arrays:
    """Return the weights before training, as He et al. (2015) draw them for rectifiers; no biases.

    From PyTorch's own first weights, which the paper took, 450 dialogues teach about half a point
    of F1 less.
    """
    generator = np.random.Generator(np.random.PCG64(settings.seed))
    weights: Arrays = {}
    for name, shape in shapes(vocabulary, settings.hidden).items():
        is_bias = len(shape) == 1
        drawn = np.zeros(shape) if is_bias else generator.standard_normal(shape)
        weights[name] = (drawn * (2 / shape[-1]) ** 0.5).astype(np.float32)
    return weights
