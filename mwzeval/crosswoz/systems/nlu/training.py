"""Training of an NLU, with a checkpoint after each epoch, from which it goes on to the same bytes.

Loss: cross-entropy of the tags of characters, and weighted cross-entropy of the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.systems.nlu.examples import (
    Example,
    Labels,
    NluSettings,
    class_weights,
    examples_of,
)
from mwzeval.crosswoz.systems.nlu.model import (
    MODEL_FILE,
    JointNlu,
    character_network,
    known_characters,
    save_tagger,
    set_weights,
    weights_of,
)
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.files.tensor_files import Arrays, read_arrays, refused, write_arrays
from mwzeval.version import required

if TYPE_CHECKING:
    from torch import Tensor

CHECKPOINT_FILE = "checkpoint.safetensors"
KIND = "CrossWOZ NLU in training"
WEIGHT = "weight:"
IGNORED = -100
Watch = Callable[[int, float], None]
"""Is told of an epoch, from 1, and its mean loss."""


def train_tagger(
    dialogues: Sequence[Dialogue],
    folder: str | Path,
    settings: NluSettings | None = None,
    watch: Watch | None = None,
) -> JointNlu:
    """Train a character tagger and return it; `folder` gets it, and a checkpoint after each epoch.

    Called again after it was interrupted, it goes on and ends with the same bytes. Raises
    `InputError` for dialogues without utterances and for a damaged checkpoint, `UsageError` when
    the folder holds something else, `DependencyError` without PyTorch.
    """
    required("torch")
    chosen = settings or NluSettings()
    examples = training_examples(dialogues)
    labels, characters = Labels.of(examples), known_characters(examples)
    with reproducible(chosen.threads, chosen.seed):
        network = character_network(characters, labels, chosen)
        run = NluTraining(network, labels, examples, Path(folder), chosen)
        run.go(watch)
    nlu = JointNlu(network, labels)
    save_tagger(Path(folder, MODEL_FILE), nlu, characters, chosen)
    return nlu


def training_examples(dialogues: Sequence[Dialogue]) -> list[Example]:
    """Return the examples to learn from. Raises `InputError` when there are none."""
    examples = [example for example in examples_of(dialogues) if example.utterance.text]
    if not examples or not any(example.classes for example in examples):
        raise InputError([Problem("no-training-data", "the dialogues have no acts to learn from")])
    return examples


@dataclass(slots=True, eq=False)
class NluTraining:
    """A run of training in a folder; the network may be any that returns tag and class logits."""

    network: Any
    labels: Labels
    examples: Sequence[Example]
    folder: Path
    settings: NluSettings
    losses: list[float] | None = None

    def go(self, watch: Watch | None = None) -> list[float]:
        """Train until the last epoch and return the mean loss of each."""
        import torch

        optimizer = torch.optim.Adam(
            self.network.parameters(), lr=self.settings.learning_rate, foreach=False, fused=False
        )
        losses = self.losses = self._resume(optimizer)
        weights = torch.tensor(class_weights(self.examples, self.labels))
        while len(losses) < self.settings.epochs:
            losses.append(self._epoch(len(losses), optimizer, weights))
            self._write(optimizer, losses)
            if watch is not None:
                watch(len(losses), losses[-1])
        return losses

    def _epoch(self, number: int, optimizer: Any, weights: Tensor) -> float:
        import torch

        seed = [self.settings.seed, number]
        order = np.random.Generator(np.random.PCG64(seed)).permutation(len(self.examples))
        # Dropout depends on the epoch alone, so that a run that goes on draws the same.
        torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        self.network.train()
        size, total = self.settings.batch_size, 0.0
        for start in range(0, len(order), size):
            batch = [self.examples[index] for index in order[start : start + size]]
            loss = self._loss(batch, weights)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
            optimizer.step()
            total += float(loss.item()) * len(batch)
        return total / len(order)

    def _loss(self, batch: Sequence[Example], weights: Tensor) -> Tensor:
        import torch
        from torch.nn import functional

        tags, classes = self.network([example.utterance for example in batch])
        tag_numbers = {tag: number for number, tag in enumerate(self.labels.tags)}
        class_numbers = {name: number for number, name in enumerate(self.labels.classes)}
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
            classes, gold_classes, pos_weight=weights, reduction="sum"
        )
        return (of_tags + of_classes) / len(batch)

    def _identity(self) -> dict[str, Any]:
        digest = blake2b(digest_size=16)
        for example in self.examples:
            digest.update(repr(example).encode("utf-8", "backslashreplace"))
        return {"settings": asdict(self.settings), "data": digest.hexdigest()}

    def _write(self, optimizer: Any, losses: Sequence[float]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        arrays: Arrays = {f"{WEIGHT}{n}": a for n, a in weights_of(self.network).items()}
        for name, parameter in self.network.named_parameters():
            for key, value in optimizer.state[parameter].items():
                arrays[f"{key}:{name}"] = np.asarray(value)
        about = {**self._identity(), "losses": list(losses)}
        write_arrays(self.folder / CHECKPOINT_FILE, KIND, arrays, about)

    def _resume(self, optimizer: Any) -> list[float]:
        import torch

        file = self.folder / CHECKPOINT_FILE
        if not file.exists():
            if (self.folder / MODEL_FILE).exists():
                raise UsageError(f"{self.folder} holds another NLU: choose another folder")
            return []
        arrays, about = read_arrays(file, KIND)
        if not isinstance(about, dict) or not self._identity().items() <= about.items():
            raise UsageError(
                f"{self.folder} holds a training run with other settings or data: choose another "
                "folder, or call it again as it was called"
            )
        try:
            own = {n.removeprefix(WEIGHT): a for n, a in arrays.items() if n.startswith(WEIGHT)}
            set_weights(self.network, own)
            for name, parameter in self.network.named_parameters():
                keys = [
                    key for key in ("step", "exp_avg", "exp_avg_sq") if f"{key}:{name}" in arrays
                ]
                for key in keys:
                    value = torch.from_numpy(arrays[f"{key}:{name}"].copy())
                    optimizer.state[parameter][key] = value
            return [float(loss) for loss in about["losses"]]
        except (ValueError, LookupError, TypeError) as error:
            raise refused(file, f"the state is damaged ({error})") from None


@contextmanager
def reproducible(threads: int, seed: int) -> Iterator[None]:
    """Compute with so many threads, in a fixed order and from a seed, then as before."""
    import torch

    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(True)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            torch.set_num_threads(before[0])
            torch.use_deterministic_algorithms(before[1])
