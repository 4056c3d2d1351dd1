"""The errors of state tracking, slot by slot, as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mwzeval.report.sheet import Document, Sheet, sheet
from mwzeval.scores.score import Report

KINDS = ("correct", "missing", "spurious", "wrong")
NOTE = (
    "turns in which a slot was correct, missing (only annotated), spurious (only predicted), wrong "
    "(another value); gold → predicted are its most frequent wrong values"
)
SHOWN = 2
"""How many confusions a row of a table has room for; records and JSON have more."""


def state_errors(report: Report) -> Document:
    """Return a table for each rule of state tracking, and a record for each slot.

    It has no tables when no turn was scored for lack of predicted states.
    """
    rules: Mapping[str, Any] = report.metrics.get("dst_rules") or {}
    records = tuple(_records(rules))
    return Document(
        heading=(f"{report.meta['corpus']}, {report.meta['fold']} fold",),
        sheets=tuple(_sheet(rule, of_rule["errors"]) for rule, of_rule in rules.items()),
        notes=(NOTE,),
        records=records,
        plain={"dst_errors": {rule: of_rule["errors"] for rule, of_rule in rules.items()}},
    )


def _sheet(rule: str, errors: Mapping[str, Any]) -> Sheet:
    rows = [
        [slot, *(str(of_slot[kind]) for kind in KINDS), "; ".join(_confusions(of_slot)[:SHOWN])]
        for slot, of_slot in errors.items()
    ]
    return sheet(rule, ["slot", *KINDS, "gold → predicted"], rows)


def _records(rules: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for rule, of_rule in rules.items():
        for slot, of_slot in of_rule["errors"].items():
            counts = {kind: of_slot[kind] for kind in KINDS}
            confusions = "; ".join(_confusions(of_slot))
            yield {"rule": rule, "slot": slot, **counts, "confusions": confusions}


def _confusions(of_slot: Mapping[str, Any]) -> list[str]:
    return [f"{c['gold']} → {c['predicted']} ({c['turns']})" for c in of_slot["confusions"]]
