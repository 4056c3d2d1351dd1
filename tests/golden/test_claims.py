"""Logs as language models with tools write them: which claims are found, and which are flagged."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.claims import CORPUS, Counts, Reading, read
from mwzeval import Evaluator
from mwzeval.multiwoz.choices import LEXICALIZED
from tests.places import shared

pytestmark = pytest.mark.integration

RIGHT = "right"
INVENTED_NAME = "invented: name"


@cache
def evaluator() -> Evaluator:
    return Evaluator(
        grounded=True, corpus=CORPUS, responses=LEXICALIZED, data=shared("data", "multiwoz")
    )


@pytest.mark.parametrize("log", ["agent_logs_21", "agent_logs_31"])
def test_claims_are_read_and_judged_rightly(log: str) -> None:
    reading = Reading()
    read(reading, shared("golden", "claims", f"{log}.jsonl"), evaluator())
    kinds = {key: counts for (_, group, key), counts in reading.groups.items() if group == "kind"}
    true = kinds.pop(RIGHT)
    assert true.claims > 5000
    assert true.found >= 0.98 * true.claims
    assert true.flagged <= 0.0015 * true.claims

    false = Counts()
    for counts in kinds.values():
        false.claims += counts.claims
        false.flagged += counts.flagged
    assert false.claims == 200
    assert false.flagged >= 0.95 * false.claims
    assert reading.flags["right"] >= 0.97 * reading.flags.total()

    swapped = [counts for kind, counts in kinds.items() if kind.startswith("swap: ")]
    assert sum(c.flagged for c in swapped) >= 0.95 * sum(c.claims for c in swapped)
    names = kinds[INVENTED_NAME]
    assert names.flagged >= 0.9 * names.claims
    assert names.credited <= 0.005 * names.claims
    for kind, counts in kinds.items():
        if kind.startswith("invented: ") and kind != INVENTED_NAME:
            assert counts.flagged >= 0.97 * counts.claims
        if kind.startswith("house number"):
            assert counts.flagged == counts.claims

    clean = reading.clean[log]
    assert clean["Hallucination"] <= 0.1
    assert clean["Consistency"] >= 99.8
    # What is lost on them is lost by the dialogues: a reader without mistakes loses it, too.
    _, _, same = reading.kept[log]
    assert same >= 149
