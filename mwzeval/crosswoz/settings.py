"""Settings of the models that are trained, those of the papers' code by default.

They are apart from the models, which import PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass

from mwzeval.neural.training import TrainingSettings


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
