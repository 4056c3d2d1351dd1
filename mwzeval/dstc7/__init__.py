"""DSTC7 track 1, sentence selection: which of many utterances comes next in a dialogue.

Below this folder nothing knows DSTC7. Source: the track's task description (IBM/dstc7-noesis);
Gunasekara et al., "DSTC7 Task 1: Noetic End-to-End Response Selection", NLP4ConvAI 2019.
"""

from typing import Any

NAME = "dstc7"
TITLE = "DSTC7"

SCORING_REVISION = 2
"""Raised whenever the same input gets another number; part of every signature of the benchmark."""

VERBS = {
    "dstc7": (
        "baselines, synthetic data and conversions for DSTC7 sentence selection",
        "mwzeval.dstc7.command",
        "benchmarks",
    ),
}
"""Verbs that only this benchmark has: what each is for, its module, and its group."""

_FIELDS = frozenset({"example-id", "candidate-ranking"})


def recognises(raw: Any) -> bool:
    """Tell whether a JSON value is a submission, by its first example."""
    first = raw[0] if isinstance(raw, list) and raw else None
    return isinstance(first, dict) and not _FIELDS.isdisjoint(first)
