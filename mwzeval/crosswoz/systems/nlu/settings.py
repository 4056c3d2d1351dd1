"""The choices of an NLU's training."""

from __future__ import annotations

from dataclasses import dataclass, fields

from mwzeval.errors import UsageError


@dataclass(frozen=True, slots=True)
class NluSettings:
    """Choices of a training run. Raises `UsageError` for what cannot be."""

    embedding: int = 64
    """Numbers that a character is turned into (character tagger only)."""
    hidden: int = 96
    """Width of a direction of the recurrent layer (character tagger only)."""
    dropout: float = 0.2
    """Share of inputs that are left out at random."""
    learning_rate: float = 0.002
    """Of Adam; for BERT 3e-5 is usual."""
    batch_size: int = 32
    """Utterances of a step."""
    epochs: int = 8
    """Passes over the training dialogues."""
    seed: int = 2019
    """Of first weights, order and dropout."""
    threads: int = 1
    """CPU threads: another number may change the last bits of the result."""
    longest: int = 160
    """Characters of an utterance, and of its context, that are read."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("learning_rate", "dropout"):
                fits = isinstance(value, float) and 0 <= value < 1
            else:
                least = 0 if field.name == "seed" else 1
                fits = isinstance(value, int) and not isinstance(value, bool) and value >= least
            if not fits:
                raise UsageError(f"{field.name} cannot be {value!r}")
