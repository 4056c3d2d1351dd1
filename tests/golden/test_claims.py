"""Recognition of claims: at least as many are found and rightly judged as recorded."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.claims import CORPUS, Reading, read_held_out, read_log
from mwzeval import Evaluator
from mwzeval.multiwoz.choices import LEXICALIZED
from tests.places import shared

pytestmark = pytest.mark.integration


@cache
def evaluator() -> Evaluator:
    return Evaluator(
        grounded=True, corpus=CORPUS, responses=LEXICALIZED, data=shared("data", "multiwoz")
    )


@pytest.mark.parametrize(
    ("log", "flagged", "names", "inform", "success"),
    [("agent_logs_21", 193, 49, 98.67, 90.0), ("agent_logs_31", 197, 55, 96.0, 87.33)],
)
def test_claims_in_logs(log: str, flagged: int, names: int, inform: float, success: float) -> None:
    reading = Reading()
    scores = read_log(shared("golden", "claims", f"{log}.jsonl"), evaluator(), reading)
    true, false = reading.total(True), reading.total(False)
    assert true["claims"] > 5000
    assert true["found"] >= true["claims"] - 4
    assert true["flagged"] <= 1
    assert false["claims"] == 200
    assert false["flagged"] >= flagged
    assert reading.flags["false claim"] >= reading.flags.total() - 1
    assert reading.kinds["invented", "name"]["flagged"] >= names
    assert reading.kinds["invented", "name"]["credited"] == 0
    assert scores == {
        "Grounded Inform": inform,
        "Grounded Success": success,
        "Hallucination": 0.0,
        "Consistency": 100.0,
    }


def test_claims_in_held_out_sentences() -> None:
    reading = read_held_out(evaluator())
    true, false = reading.total(True), reading.total(False)
    assert (true["claims"], false["claims"]) == (9867, 3264)
    assert false["flagged"] >= 2989
    assert reading.flags["false claim"] / reading.flags.total() >= 3004 / 3105
    assert true["found"] >= 9709
    assert true["flagged"] <= 26
    assert reading.kinds["invented", "name"]["credited"] <= 4
