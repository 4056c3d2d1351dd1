"""Precision, recall and F1 of informed slots, and slots that the system informs although they were
not requested.

The same rules apply to act-level and text-level dialogues. Source: the published evaluator of
ConvLab-2.
"""

from __future__ import annotations

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.metrics.measure import Rate
from mwzeval.multiwoz.schema import ALL_DOMAINS

SLOT_RULES = tuple(table_rows(embedded("live", "convlab_slots.tsv"), 5))
"""Rows of five fields: domain, slot name in acts, slot name in goals, rules under which the slot
counts as superfluous, and value pattern."""


def superfluous_slots(rules: str) -> dict[str, set[str]]:
    """Return, by domain, the slots that are superfluous without a request under a set of rules."""
    slots: dict[str, set[str]] = {domain: set() for domain in ALL_DOMAINS}
    for domain, _, slot, by, _ in SLOT_RULES:
        if by in ("both", rules):
            slots[domain].add(slot)
    return slots


CORRECTED_SUPERFLUOUS = superfluous_slots("corrected")
INFORM_RATES = (
    Rate("inform_precision", "Inform precision", "precision", "dialogues_asking"),
    Rate("inform_recall", "Inform recall", "recall", "dialogues_asking"),
    Rate("inform_f1", "Inform F1", "f1", "dialogues_asking"),
    Rate("inform_micro_precision", "Inform precision (micro)", "found", "told"),
    Rate("inform_micro_recall", "Inform recall (micro)", "found", "asked"),
)
INFORM_COLUMNS = ("found", "told", "asked", "dialogues_asking", "precision", "recall", "f1")


def inform_row(found: int, superfluous: int, missing: int) -> dict[str, float]:
    """Return the values of the columns `INFORM_COLUMNS` for one dialogue."""
    informed, asked = found + superfluous, found + missing
    numbers: dict[str, float] = {"found": found, "told": informed, "asked": asked}
    if not asked:
        return numbers
    recall = found / asked
    precision = found / informed if found else 0.0
    f1 = 2 * precision * recall / (precision + recall) if found else 0.0
    return {**numbers, "precision": precision, "recall": recall, "f1": f1, "dialogues_asking": 1}
