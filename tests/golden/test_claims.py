"""Recall and precision of claim recognition on texts with known claims.

The texts are logs of language models with tools, and held-out sentences that were not used to tune
rules. Each text lists its claims by turn, start, end, domain, slot and kind. A claim of the kind
`right` is true of its venue, `unclear` claims are not counted, and all others are false. The
figures may only improve.
"""

from __future__ import annotations

import json
import lzma
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mwzeval import Evaluator
from mwzeval.multiwoz import LEXICALIZED
from mwzeval.multiwoz.grounding.claims import CheckedMention
from mwzeval.multiwoz.predictions import Turn
from mwzeval.multiwoz.scoring.scorer import Sources
from tests.places import shared

pytestmark = pytest.mark.integration

HELD_OUT = Path(__file__).parent / "claims" / "heldout.jsonl.xz"
RIGHT, UNCLEAR, NAME = "right", "unclear", "name"
UNNAMED = ("count", "single", "double", "family")
"""Slots of claims without a corresponding mention slot; any mention at the position counts."""


class Reading:
    """Counts of recognized claims by kind and slot, and counts of flags."""

    def __init__(self) -> None:
        self.claims: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.flags: Counter[str] = Counter()

    def total(self, true: bool) -> Counter[str]:
        chosen = (c for (kind, _), c in self.claims.items() if (kind == RIGHT) is true)
        return sum(chosen, Counter[str]())

    def add(self, facts: Sequence[Mapping[str, Any]], checked: Sequence[CheckedMention]) -> None:
        """Compare the claims of a text with the recognized mentions."""
        kinds: dict[CheckedMention, set[str]] = defaultdict(set)
        for fact in facts:
            kind, slot = fact["kind"], fact["slot"]
            over = [
                j
                for j in checked
                if j.turn == fact["turn"]
                and j.mention.start < fact["end"]
                and fact["start"] < j.mention.end
            ]
            for j in over:
                kinds[j].add(kind)
            if kind != UNCLEAR:
                self.claims[kind, slot] += Counter(
                    claims=1,
                    found=any(j.mention.slot == slot or slot in UNNAMED for j in over),
                    flagged=any(map(is_flag, over)),
                    credited=any(slot == NAME == j.mention.slot and j.mention.value for j in over),
                )
        for j in filter(is_flag, checked):
            if kinds[j] - {RIGHT, UNCLEAR}:
                self.flags["false claim"] += 1
            elif UNCLEAR not in kinds[j]:
                self.flags["true claim" if kinds[j] else "no claim"] += 1


def is_flag(checked: CheckedMention) -> bool:
    return not checked.known or checked.agrees is False


@cache
def evaluator() -> Evaluator:
    data = shared("data", "multiwoz")
    return Evaluator(grounded=True, corpus="multiwoz-2.2", responses=LEXICALIZED, data=data)


@pytest.mark.parametrize(
    ("log", "flagged", "names", "inform", "success"),
    [("agent_logs_21", 193, 49, 98.67, 90.0), ("agent_logs_31", 197, 55, 96.0, 87.33)],
)
def test_claims_in_logs_are_detected(
    log: str, flagged: int, names: int, inform: float, success: float
) -> None:
    reading, reports = Reading(), {}
    text = shared("golden", "claims", f"{log}.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    for which in ("clean", "corrupted"):
        chosen = {row["dialogue"]: row for row in rows if row["set"] == which}
        messages = {name: {"messages": row["messages"]} for name, row in chosen.items()}
        scored = evaluator().score(messages)
        reports[which] = scored.report()
        scorer = scored.scorer
        for name, turns in scored.dialogues.items():
            dialogue = scorer.normalize(name, turns, scored.rows.sources)
            reading.add(chosen[name]["facts"], scorer.grounded(dialogue).checked)
    true, false, invented = (
        reading.total(True),
        reading.total(False),
        reading.claims["invented", NAME],
    )
    assert true["claims"] > 5000
    assert true["found"] >= true["claims"] - 4
    assert true["flagged"] <= 1
    assert false["claims"] == 200
    assert false["flagged"] >= flagged
    assert reading.flags["false claim"] >= reading.flags.total() - 1
    assert invented["flagged"] >= names
    assert not invented["credited"]
    totals = {s.label: s.value for s in reports["clean"].scores if s.scope == "total"}
    assert (totals["Hallucination"], totals["Consistency"]) == (0, 100)
    assert totals["Grounded Inform"] == pytest.approx(inform, abs=0.01)
    assert totals["Grounded Success"] == pytest.approx(success, abs=0.01)


def test_claims_in_held_out_sentences_are_detected() -> None:
    reading, scorer = Reading(), evaluator().scorer("multiwoz-2.2")
    sources = Sources(predicted_states=True, predicted_domains=True, lexicalized=True)
    goals = {name: set(dialogue.goal) for name, dialogue in sorted(scorer.gold.dialogues.items())}
    for line in lzma.decompress(HELD_OUT.read_bytes()).splitlines():
        row = json.loads(line)
        columns = ("turn", "start", "end", "domain", "slot", "kind")
        facts = [dict(zip(columns, fact, strict=True)) for fact in row["facts"]]
        turns = []
        for number, response in enumerate(row["turns"]):
            active = {fact["domain"] for fact in facts if fact["turn"] == number}
            turns.append(Turn(response, row["state"], tuple(sorted(active or row["domains"]))))
        # The row is scored as the gold dialogue whose goal shares the most domains.
        name = max(goals, key=lambda name: len(goals[name].intersection(row["domains"])))
        dialogue = scorer.normalize(name, turns, sources)
        reading.add(facts, scorer.grounded(dialogue).checked)
    true, false = reading.total(True), reading.total(False)
    assert (true["claims"], false["claims"]) == (9867, 3264)
    assert false["flagged"] >= 2989
    assert reading.flags["false claim"] / reading.flags.total() >= 3004 / 3105
    assert true["found"] >= 9709
    assert true["flagged"] <= 26
    assert reading.claims["invented", NAME]["credited"] <= 4
