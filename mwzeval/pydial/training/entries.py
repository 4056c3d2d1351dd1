"""What is told of training: means of its dialogues and losses, and of the dialogues of tests.

The number of training dialogues is the step. Names are `train/success`, `train/reward`,
`train/exchanges`, `train/LOSS`, and `test/…`; success is in percent, as in tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from mwzeval.errors import UsageError

Phase = Literal["train", "test"]
TRAIN: Phase = "train"
TEST: Phase = "test"
EVERY = 100
"""Training dialogues of which the means are told together."""
Outcome = tuple[bool, int, float]
"""Of a dialogue: success, exchanges, reward."""


class Entry(NamedTuple):
    """Numbers by name, after `step` training dialogues."""

    phase: Phase
    step: int
    numbers: dict[str, float]


OnEntry = Callable[[Entry], None]


def entry_of(
    phase: Phase, step: int, outcomes: Sequence[Outcome], losses: dict[str, float] | None = None
) -> Entry:
    """Return the means of some dialogues."""
    number = len(outcomes)
    sums = [float(sum(column)) for column in zip(*outcomes, strict=True)]
    success, exchanges, reward = (total / number for total in sums)
    numbers = {"success": 100 * success, "reward": reward, "exchanges": exchanges, **(losses or {})}
    return Entry(phase, step, {f"{phase}/{name}": number for name, number in numbers.items()})


class Means:
    """Numbers by name, of which the means are taken from time to time."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, **numbers: Any) -> None:
        """Add numbers: floats, or tensors of one number."""
        for name, number in numbers.items():
            total, count = self._sums.get(name, (0.0, 0))
            value = number.item() if hasattr(number, "item") else number
            self._sums[name] = total + float(value), count + 1

    def take(self) -> dict[str, float]:
        """Return the means of what was added since the last call."""
        means = {name: total / count for name, (total, count) in self._sums.items()}
        self._sums = {}
        return means


class Watch:
    """Tells of training: the means of each `every` dialogues, with the losses, and of each test.

    `dialogues` are those of training until now. Raises `UsageError` for senseless numbers.
    """

    def __init__(self, on_entry: OnEntry, every: int = EVERY, dialogues: int = 0) -> None:
        if every < 1:
            raise UsageError(f"training is told of every 1 or more dialogues, not {every}")
        if dialogues < 0:
            raise UsageError(f"the number of dialogues is 0 or more, not {dialogues}")
        self.losses = Means()
        self.dialogues = dialogues
        self._on_entry, self._every = on_entry, every
        self._waiting: list[Outcome] = []

    def trained(self, outcomes: Iterable[Outcome]) -> None:
        """Count further training dialogues, and tell of them where it is time."""
        for outcome in outcomes:
            self._waiting.append(outcome)
            self.dialogues += 1
            if self.dialogues % self._every == 0:
                losses = self.losses.take()
                self._on_entry(entry_of(TRAIN, self.dialogues, self._waiting, losses))
                self._waiting = []

    def tested(self, outcomes: Sequence[Outcome]) -> None:
        """Tell of a test after the training dialogues until now."""
        self._on_entry(entry_of(TEST, self.dialogues, outcomes))
