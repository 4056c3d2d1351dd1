"""Training of an NLU: a network that returns logits of tags and classes.

Loss: cross-entropy of the tags of characters, and weighted cross-entropy of the classes. There are
no validation data: the last weights are the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue, check_characters
from mwzeval.crosswoz.nlu.examples import (
    Example,
    Labels,
    NluSettings,
    class_weights,
    examples_of,
)
from mwzeval.crosswoz.nlu.model import (
    MODEL_FILE,
    JointNlu,
    character_network,
    known_characters,
    save_tagger,
)
from mwzeval.crosswoz.nlu.variation import Values, checksum, values_of, varied
from mwzeval.errors import InputError, Problem
from mwzeval.libraries import required
from mwzeval.neural.training import Learner, Point, Watch, reproducible, train

if TYPE_CHECKING:
    from torch import Tensor

IGNORED = -100


def train_tagger(
    dialogues: Sequence[Dialogue],
    folder: str | Path,
    settings: NluSettings | None = None,
    watch: Watch | None = None,
    database: Database | None = None,
) -> JointNlu:
    """Train a character tagger and return it; `folder` gets it, and a checkpoint after each epoch.

    Called again after it was interrupted, it goes on and ends with the same bytes. `watch` is told
    of each epoch's mean loss.

    Raises `InputError` for dialogues without utterances, texts that are no Unicode and a damaged
    checkpoint, `UsageError` when the folder holds something else, `DependencyError` without
    PyTorch.
    """
    required("torch")
    chosen = settings or NluSettings()
    examples = training_examples(dialogues)
    labels, values = Labels.of(examples), values_of(examples, database)
    texts = (example.utterance.text for example in examples)
    characters = known_characters(chain(texts, *values.values()))
    with reproducible(chosen):
        network = character_network(characters, labels, chosen)
    nlu = JointNlu(network, labels)

    def save(folder: Path) -> None:
        save_tagger(folder / MODEL_FILE, nlu, characters, chosen)

    train(NluLearner(network, labels, examples, values, chosen, save), Path(folder), watch)
    return nlu


def training_examples(dialogues: Sequence[Dialogue]) -> list[Example]:
    """Return the examples to learn from.

    Raises `InputError` when there are none, and for texts that are no Unicode.
    """
    check_characters(dialogues)
    examples = [example for example in examples_of(dialogues) if example.utterance.text]
    if not examples or not any(example.classes for example in examples):
        raise InputError([Problem("no-training-data", "the dialogues have no acts to learn from")])
    return examples


class NluLearner(Learner):
    """Any network that returns logits of tags and classes for utterances; `save` writes it.

    `also` are checksums of whatever else decides the result.
    """

    model_file = MODEL_FILE
    longest_gradient = 5.0

    def __init__(
        self,
        network: Any,
        labels: Labels,
        examples: Sequence[Example],
        values: Values,
        settings: NluSettings,
        save: Callable[[Path], None],
        also: Sequence[str] = (),
    ) -> None:
        import torch

        self.settings = settings
        self.examples = len(examples)
        self.weights: dict[str, Tensor] = network.state_dict(keep_vars=True)
        self.optimizers = (
            torch.optim.Adam(
                network.parameters(), lr=settings.learning_rate, foreach=False, fused=False
            ),
        )
        digest = blake2b(digest_size=16)
        for example in examples:
            digest.update(repr(example).encode("utf-8", "backslashreplace"))
        self.data = (digest.hexdigest(), checksum(values), *also)
        self.lengths = np.array([len(example.utterance.text) for example in examples])
        self._network = network
        self._labels = labels
        self._examples = examples
        self._values = values
        self._share = settings.varied
        self._class_weights = torch.tensor(class_weights(examples, labels))
        self._save = save

    def loss(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the loss an utterance: cross-entropies of its tags and of its classes, summed."""
        import torch
        from torch.nn import functional

        draw = _draw()
        batch = [varied(self._examples[i], self._values, self._share, draw) for i in chosen]
        self._network.train()
        tags, classes = self._network([example.utterance for example in batch])
        tag_numbers = {tag: number for number, tag in enumerate(self._labels.tags)}
        class_numbers = {name: number for number, name in enumerate(self._labels.classes)}
        gold_tags = torch.full(tags.shape[:2], IGNORED)
        gold_classes = torch.zeros(classes.shape)
        for row, example in enumerate(batch):
            numbers = [tag_numbers[tag] for tag in example.tags[: tags.shape[1]]]
            gold_tags[row, : len(numbers)] = torch.tensor(numbers)
            for name in example.classes:
                gold_classes[row, class_numbers[name]] = 1.0
        of_tags = functional.cross_entropy(
            tags.transpose(1, 2), gold_tags, ignore_index=IGNORED, reduction="sum"
        )
        of_classes = functional.binary_cross_entropy_with_logits(
            classes, gold_classes, pos_weight=self._class_weights, reduction="sum"
        )
        return (of_tags + of_classes) / len(batch)

    def save(self, folder: Path, point: Point) -> None:
        """Write the model."""
        self._save(folder)


def _draw() -> Iterator[float]:
    """Yield random numbers of PyTorch's own generator, whose state is kept with the training."""
    import torch

    while True:
        yield float(torch.rand(()))
