"""The settings and training dialogues of models.

The default settings are those of the papers' code. This module does not import PyTorch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.crosswoz import LEARNED_FROM
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.file_shapes import is_texts
from mwzeval.crosswoz.corpus.folds import Fold, load_fold
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.files.downloads import DataRoot
from mwzeval.files.reading import read_json
from mwzeval.files.writing import write_atomically
from mwzeval.neural import TrainingSettings

VALIDATION = "val"
NOTE_FILE = "learned_from.json"
"""The file, next to a model, that names the folds on which the model was trained. Predictions
repeat these names, so that a warning is printed if training dialogues are scored."""


@dataclass(frozen=True, slots=True)
class NluSettings(TrainingSettings):
    """Settings of an NLU. Raises `UsageError` for invalid values."""

    embedding: int = 64
    """Size of character embeddings (character tagger only)."""
    hidden: int = 96
    """Width of each direction of the recurrent layer (character tagger only)."""
    dropout: float = 0.2
    learning_rate: float = 0.004
    epochs: int = 8
    seed: int = 2019
    longest: int = 160
    """The maximum number of characters that the model reads of an utterance, and of its context."""
    context: bool = True
    """Whether the model also reads previous utterances."""
    varied: float = 0.5
    """The share of values that are replaced by other values of the same slot in each epoch."""


BERT_SETTINGS = NluSettings(learning_rate=3e-5, dropout=0.1, batch_size=20, epochs=5)


@dataclass(frozen=True, slots=True)
class TradeSettings(TrainingSettings):
    """Settings of TRADE. Raises `UsageError` for invalid values."""

    hidden: int = 100
    """Width of embeddings and recurrent layers: 400 in Wu et al., 100 in the public code."""
    dropout: float = 0.2
    """The dropout rate, which is also the share of words that training replaces by the unknown
    word."""
    characters: bool = False
    """Whether words are single characters instead of jieba's words."""
    longest_history: int = 1000
    """The maximum number of words of a history; the last words are read."""
    longest_value: int = 40
    """The maximum number of words of a value."""
    learning_rate: float = 0.002
    epochs: int = 15
    seed: int = 2019


@dataclass(frozen=True, slots=True)
class SclstmSettings(TrainingSettings):
    """Settings of SC-LSTM. Raises `UsageError` for invalid values."""

    hidden: int = 100
    """Width of the recurrent layer and of the embeddings."""
    dropout: float = 0.25
    learning_rate: float = 0.005
    epochs: int = 30
    """The maximum number of epochs; training stops after five epochs without improvement."""
    seed: int = 2019
    rarest: int = 2
    """Words that occur less often in training are unknown and never generated."""


@dataclass(frozen=True, slots=True)
class PolicySettings(TrainingSettings):
    """Settings of the SL policy. Raises `UsageError` for invalid values."""

    hidden: int = 100
    """Width of the two hidden layers."""
    seed: int = 2019


def training_and_validation(
    fold: Fold, held_out: int | None, root: DataRoot
) -> tuple[list[Dialogue], list[Dialogue]]:
    """Return the training dialogues of a fold, and the dialogues on which the epoch is selected.

    The epoch is selected on the last `held_out` dialogues of the fold, or on the validation fold in
    `root`. Raises `UsageError` if the training and validation dialogues are the same, or if either
    set is empty.
    """
    training = list(fold.dialogues.values())
    if held_out is not None:
        if not 0 < held_out < len(training):
            raise UsageError(f"--hold-out must be between 1 and {len(training) - 1} here")
        return training[:-held_out], training[-held_out:]
    if fold.name == VALIDATION:
        raise UsageError("training on val needs --hold-out")
    return training, list(load_fold(root, VALIDATION, fold.revision).dialogues.values())


def write_note(folder: str, revision: str, seen: Sequence[str]) -> None:
    """Write the folds on which the model in a folder was trained."""
    note = {"revision": revision, LEARNED_FROM: seen}
    write_atomically(Path(folder, NOTE_FILE), json.dumps(note) + "\n")


def read_note(model: str | Path) -> dict[str, Any]:
    """Return the note about a model's training folds for `_meta`; {} if there is no note.

    Raises `InputError` if the note about the training folds is invalid.
    """
    folder = Path(model)
    note = (folder if folder.is_dir() else folder.parent) / NOTE_FILE
    if not note.is_file():
        return {}
    plain = read_json(note)
    seen = plain.get(LEARNED_FROM) if isinstance(plain, dict) else None
    if not isinstance(seen, list) or not is_texts(seen):
        raise InputError(
            [Problem("bad-model", f"the model has no list {LEARNED_FROM}", file=str(note))]
        )
    return {LEARNED_FROM: seen}
