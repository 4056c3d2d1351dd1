"""What models are trained with: their settings, and the dialogues of a fold.

Settings are those of the papers' code by default. All this is apart from the models, which import
PyTorch.
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
from mwzeval.neural.training import TrainingSettings

VALIDATION = "val"
NOTE_FILE = "learned_from.json"
"""Training writes it next to a model, with the folds that the model has seen. Predictions have the
same, so that a model that is scored on dialogues from which it learned causes a warning."""


@dataclass(frozen=True, slots=True)
class NluSettings(TrainingSettings):
    """Settings of an NLU. Raises `UsageError` for values that make no sense."""

    embedding: int = 64
    """Size of the vector of a character (character tagger only)."""
    hidden: int = 96
    """Width of a direction of the recurrent layer (character tagger only)."""
    dropout: float = 0.2
    learning_rate: float = 0.004
    epochs: int = 8
    seed: int = 2019
    longest: int = 160
    """Characters of an utterance, and of its context, that are read."""
    context: bool = True
    """Read the utterances before one, too."""
    varied: float = 0.5
    """Share of values that are replaced by others of their slot, anew in each epoch."""


BERT_SETTINGS = NluSettings(learning_rate=3e-5, dropout=0.1, batch_size=20, epochs=5)


@dataclass(frozen=True, slots=True)
class TradeSettings(TrainingSettings):
    """Settings of TRADE. Raises `UsageError` for values that make no sense."""

    hidden: int = 100
    """Width of embeddings and recurrent layers; 400 in Wu et al., 100 in the public code."""
    dropout: float = 0.2
    """Also the share of words that are read as unknown in training."""
    characters: bool = False
    """Whether words are single characters instead of those of jieba."""
    longest_history: int = 1000
    """Words of a history that are read: the last ones."""
    longest_value: int = 40
    """Words of a value that are learned or written."""
    learning_rate: float = 0.002
    epochs: int = 15
    seed: int = 2019


@dataclass(frozen=True, slots=True)
class SclstmSettings(TrainingSettings):
    """Settings of SC-LSTM. Raises `UsageError` for values that make no sense."""

    hidden: int = 100
    """Width of the recurrent layer and of the embeddings."""
    dropout: float = 0.25
    learning_rate: float = 0.005
    epochs: int = 30
    """At most: five without a better one end the training."""
    seed: int = 2019
    rarest: int = 2
    """Words that occur less often in training are unknown, and never generated."""


@dataclass(frozen=True, slots=True)
class PolicySettings(TrainingSettings):
    """Settings of the SL policy. Raises `UsageError` for values that make no sense."""

    hidden: int = 100
    """Width of the two hidden layers."""
    seed: int = 2019


def training_and_validation(
    fold: Fold, held_out: int | None, root: DataRoot
) -> tuple[list[Dialogue], list[Dialogue]]:
    """Return the dialogues of a fold to train on, and those on which the epoch is chosen.

    The latter are the last `held_out` ones of the fold, or the validation fold in `root`. Raises
    `UsageError` when they would be the same or there would be none.
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
    """Write which folds the model in a folder has seen."""
    note = {"revision": revision, LEARNED_FROM: seen}
    write_atomically(Path(folder, NOTE_FILE), json.dumps(note) + "\n")


def read_note(model: str | Path) -> dict[str, Any]:
    """Return what `_meta` says of the folds that a model has seen; nothing where no note is.

    Raises `InputError` for a note that is none.
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
