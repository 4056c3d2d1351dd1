"""What a training run can be told, all of it kept in the model file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from mwzeval.errors import UsageError


@dataclass(frozen=True, slots=True)
class Settings:
    """Choices of model and training. Raises `UsageError` for values that make no sense."""

    shared: bool = True
    """One encoder for contexts and candidates, or two that begin alike."""
    dimensions: int = 64
    """Length of the word vectors."""
    minimum_count: int = 2
    """Words seen less often in the training file have no entry of their own."""
    largest_vocabulary: int = 100_000
    """The most frequent words only."""
    buckets: int = 16_384
    """Entries that all other words share, chosen by a hash of the word."""
    context_words: int = 160
    """The most recent words of a context; earlier ones are cut off."""
    candidate_words: int = 80
    """The first words of a candidate."""
    ages: int = 8
    """Weights for words of the last message, the one before, …, and all earlier ones."""
    batch_size: int = 256
    """Examples of a step; each has the answers of the others as wrong candidates."""
    learning_rate: float = 0.003
    """Of Adam, for all parameters."""
    dropout: float = 0.3
    """Share of the words left out of the dense sums, drawn anew for each batch."""
    epochs: int = 20
    """The most passes over the training examples."""
    evaluate_every: int = 100
    """Steps between two evaluations on dev, each followed by a checkpoint."""
    patience: int = 6
    """Evaluations without a better final score on dev, after which training stops."""
    dev_examples: int = 1_000
    """Examples of the dev file that are scored, from its beginning."""
    seed: int = 0
    """Of the initial weights, the order of the examples and the dropout."""
    threads: int = 1
    """CPU threads: another number may change the last bits of the result."""

    def __post_init__(self) -> None:
        allowed = {"seed": 0, "dropout": 0, "dimensions": 1, "batch_size": 2}
        for field in fields(self):
            value = getattr(self, field.name)
            least = allowed.get(field.name, 1)
            fits = isinstance(value, bool) if field.name == "shared" else _number(value)
            if field.name in ("learning_rate", "dropout"):
                most = 1.0
                fits = fits and (0 <= value < most) and (field.name == "dropout" or value > 0)
            elif field.name != "shared":
                fits = fits and isinstance(value, int) and value >= least
            if not fits:
                raise UsageError(f"{field.name} cannot be {value!r}")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Any) -> Settings:
        """Return settings from plain values. Raises `UsageError` for unknown names or values."""
        known = {field.name for field in fields(cls)}
        if not isinstance(plain, dict) or set(plain) != known:
            raise UsageError("not the settings of a dual encoder of this version")
        return cls(**plain)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
