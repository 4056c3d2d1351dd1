"""Dialogue state tracking as additive rows: joint accuracy and slot precision, recall, F1.

A state is flat here: a mapping of slot (any hashable name) to value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypedDict, TypeVar

Slot = TypeVar("Slot", bound=Hashable)

EPSILON = 1e-10
"""Keeps divisions defined; part of the published definition, so it shows in the last digits."""


class StateTrackingScores(TypedDict):
    """`joint_accuracy` and `slot_f1` in percent, precision and recall between 0 and 1."""

    joint_accuracy: float
    slot_f1: float
    slot_precision: float
    slot_recall: float


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

    def scores(self, sums: Mapping[str, float]) -> StateTrackingScores:
        """Return the four measures of summed counts."""
        turns, joint, tp, fp, fn = (sums[column] for column in self.columns)
        precision = tp / (tp + fp + EPSILON)
        recall = tp / (tp + fn + EPSILON)
        return StateTrackingScores(
            joint_accuracy=100 * joint / (turns + EPSILON),
            slot_f1=100 * 2 * precision * recall / (precision + recall + EPSILON),
            slot_precision=precision,
            slot_recall=recall,
        )
