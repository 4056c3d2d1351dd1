"""Training of TRADE: the likelihood of states, the best epoch by joint accuracy.

Source: Wu et al., ACL 2019; the decoder reads the gold words of a value before each (teacher
forcing). Values are learned for slots that have one: the gate keeps the others empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.dialogues import Dialogue, check_characters
from mwzeval.crosswoz.scoring.baselines import sparse
from mwzeval.crosswoz.trade.examples import TradeSettings, Vocabulary
from mwzeval.crosswoz.trade.model import MODEL_FILE, TradeTracker
from mwzeval.crosswoz.trade.network import trade_network
from mwzeval.errors import InputError, Problem
from mwzeval.libraries import required
from mwzeval.neural.training import Learner, Point, Watch, reproducible, train

if TYPE_CHECKING:
    from torch import Tensor


def train_trade(
    training: Sequence[Dialogue],
    validation: Sequence[Dialogue],
    folder: str | Path,
    settings: TradeSettings | None = None,
    watch: Watch | None = None,
) -> tuple[TradeTracker, Sequence[Point]]:
    """Train a tracker and return the best one and its learning curve, one point an epoch.

    `folder` gets the tracker (`trade.safetensors`) and a checkpoint, from which the same call goes
    on if it was interrupted, to the same bytes. Losses are mean negative log-likelihoods of a
    state, in nats. The best epoch has the highest joint accuracy on `validation`, the score
    `joint`. `watch` is told of each point.

    Raises `InputError` for dialogues without states, texts that are no Unicode and a damaged
    checkpoint, `UsageError` when the folder holds something else, `DependencyError` without
    PyTorch.
    """
    required("torch")
    learner = TradeLearner(training, validation, settings or TradeSettings())
    curve = train(learner, Path(folder), watch)
    return TradeTracker.load(folder), curve


class TradeLearner(Learner):
    """A TRADE in training."""

    model_file = MODEL_FILE
    longest_gradient = 10.0

    def __init__(
        self,
        training: Sequence[Dialogue],
        validation: Sequence[Dialogue],
        settings: TradeSettings,
    ) -> None:
        import torch

        check_characters([*training, *validation])
        self.settings: TradeSettings = settings
        vocabulary = Vocabulary.of(training, settings)
        self._learns = list(vocabulary.examples(training, settings.longest_value))
        if not any(example.values for example in self._learns):
            reason = "the dialogues have no states to learn from"
            raise InputError([Problem("no-training-data", reason)])
        self.examples = len(self._learns)
        self.lengths = np.array([len(example.words) for example in self._learns])
        self.data = (_checksum(training), _checksum(validation))
        with reproducible(settings):
            network = trade_network(vocabulary.size, settings)
        self.weights: dict[str, Tensor] = network.state_dict(keep_vars=True)
        self.optimizers = (
            torch.optim.Adam(
                network.parameters(), lr=settings.learning_rate, foreach=False, fused=False
            ),
        )
        self._tracker = TradeTracker(network, vocabulary, settings)
        self._checks = list(vocabulary.examples(validation, settings.longest_value))
        self._gold = [
            sparse(exchange.system.first_query)
            for dialogue in validation
            for exchange in dialogue.exchanges
        ]

    def loss(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the mean negative log-likelihood of a state, in nats."""
        network = self._tracker.network.train()
        loss: Tensor = network.loss([self._learns[number] for number in chosen])
        return loss

    def evaluate(self) -> tuple[Mapping[str, float], float]:
        """Return the joint accuracy on the validation dialogues, in percent."""
        found = self._tracker.states(self._checks)
        right = sum(mine == gold for mine, gold in zip(found, self._gold, strict=True))
        joint = 100 * right / max(1, len(self._gold))
        return {"joint": joint}, joint

    def save(self, folder: Path, point: Point) -> None:
        """Write the tracker."""
        self._tracker.save(folder / self.model_file)


def _checksum(dialogues: Sequence[Dialogue]) -> str:
    digest = blake2b(digest_size=16)
    for dialogue in dialogues:
        for exchange in dialogue.exchanges:
            said = exchange.user.utterance, exchange.system.utterance, exchange.system.first_query
            digest.update(repr(said).encode())
    return digest.hexdigest()
