"""Dialogue state tracking as additive rows: joint accuracy and slot precision, recall, F1.

A state is flat here: a mapping of slot (any hashable name) to value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import Signature
from mwzeval.statistics import Sums

Slot = TypeVar("Slot", bound=Hashable)

EPSILON = 1e-10
"""Keeps divisions defined; part of the published definition, so it shows in the last digits."""


class StateTracking:
    """Scores predicted against gold states, with `agree` deciding whether two values are one."""

    columns = ("dst.turns", "dst.joint", "dst.tp", "dst.fp", "dst.fn")

    def __init__(self, agree: Callable[[str, str], bool]) -> None:
        self._agree = agree

    def row(
        self, turns: Iterable[tuple[Mapping[Slot, str], Mapping[Slot, str]]]
    ) -> dict[str, float]:
        """Return counts over (predicted, gold) states, one pair a turn."""
        counted = joint = true_positive = false_positive = false_negative = 0
        for predicted, gold in turns:
            agreeing = sum(
                slot in gold and self._agree(value, gold[slot]) for slot, value in predicted.items()
            )
            counted += 1
            joint += len(predicted) == len(gold) == agreeing
            true_positive += agreeing
            false_positive += len(predicted) - agreeing
            false_negative += len(gold) - agreeing
        numbers = (counted, joint, true_positive, false_positive, false_negative)
        return dict(zip(self.columns, numbers, strict=True))

    def measures(self, signature: Signature) -> Iterator[Measure]:
        """Yield joint accuracy, and F1, precision and recall of slots, all in percent."""
        for name, label, of in (
            ("joint_accuracy", "Joint accuracy", joint_accuracy),
            ("slot_f1", "Slot F1", slot_f1),
            ("slot_precision", "Slot precision", slot_precision),
            ("slot_recall", "Slot recall", slot_recall),
        ):
            yield Measure(f"dst.{name}", label, signature, of, places=1)


def joint_accuracy(sums: Sums) -> NDArray[np.float64]:
    """Return the percentage of turns with all slots right."""
    return 100 * sums["dst.joint"] / (sums["dst.turns"] + EPSILON)


def slot_precision(sums: Sums) -> NDArray[np.float64]:
    """Return the percentage of the predicted slots that are right."""
    return 100 * sums["dst.tp"] / (sums["dst.tp"] + sums["dst.fp"] + EPSILON)


def slot_recall(sums: Sums) -> NDArray[np.float64]:
    """Return the percentage of the gold slots that were predicted."""
    return 100 * sums["dst.tp"] / (sums["dst.tp"] + sums["dst.fn"] + EPSILON)


def slot_f1(sums: Sums) -> NDArray[np.float64]:
    """Return the harmonic mean of both, in percent."""
    precision, recall = slot_precision(sums) / 100, slot_recall(sums) / 100
    return 100 * 2 * precision * recall / (precision + recall + EPSILON)
