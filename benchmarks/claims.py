"""Recall and precision of the recognition of claims, on texts with known claims.

`python -m benchmarks.claims` prints the tables of `claims.md`: for logs of language models with
tools, and for held-out sentences by which no rule was tuned. Each text lists its claims by turn,
start, end, domain, slot and kind. A claim of the kind `right` is true of the venue in question, one
of the kind `unclear` is not counted, and any other is false.
"""

from __future__ import annotations

import json
import lzma
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mwzeval import Evaluator
from mwzeval.multiwoz.choices import LEXICALIZED
from mwzeval.multiwoz.grounding.responses import Judged
from mwzeval.multiwoz.predictions.reading import Turn
from mwzeval.multiwoz.scoring.scorer import Sources

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
LOGS = [SHARED / "golden" / "claims" / f"agent_logs_{number}.jsonl" for number in (21, 31)]
HELD_OUT = ROOT / "tests" / "golden" / "claims" / "heldout.jsonl.xz"
CORPUS = "multiwoz-2.2"
RIGHT, UNCLEAR, NAME = "right", "unclear", "name"
UNNAMED = ("count", "single", "double", "family")
"""Slots of claims that no mention has as its slot: any mention there counts."""
SCORES = ("Hallucination", "Consistency", "Grounded Inform", "Grounded Success")


@dataclass
class Reading:
    """Claims by kind and slot, and by domain, slot and truth, with their results; and flags."""

    kinds: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    slots: dict[tuple[str, str, bool], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    flags: Counter[str] = field(default_factory=Counter)

    def total(self, true: bool) -> Counter[str]:
        """Return the results of all claims that are true or false."""
        return sum((c for key, c in self.slots.items() if key[2] is true), Counter[str]())

    def add(self, facts: Sequence[Mapping[str, Any]], judged: Sequence[Judged]) -> None:
        """Compare the claims of a text with its recognized mentions."""
        found: dict[Judged, set[str]] = defaultdict(set)
        for fact in facts:
            kind, slot, turn, start, end = (
                fact[key] for key in ("kind", "slot", "turn", "start", "end")
            )
            over = [
                j for j in judged
                if j.turn == turn and j.mention.start < end and start < j.mention.end
            ]  # fmt: skip
            for j in over:
                found[j].add(kind)
            if kind == UNCLEAR:
                continue
            mentioned = {j.mention.slot for j in over}
            results = Counter(
                claims=1,
                found=slot in mentioned or bool(over and slot in UNNAMED),
                flagged=any(map(is_flag, over)),
                credited=any(slot == NAME == j.mention.slot and j.mention.value for j in over),
            )
            self.kinds[kind, slot].update(results)
            self.slots[fact["domain"], slot, kind == RIGHT].update(results)
        for j in filter(is_flag, judged):
            if found[j] - {RIGHT, UNCLEAR}:
                self.flags["false claim"] += 1
            elif UNCLEAR not in found[j]:
                self.flags["true claim" if found[j] else "no claim"] += 1


def is_flag(judged: Judged) -> bool:
    """Return whether a mention is reported as wrong."""
    return not judged.known or judged.agrees is False


def read_log(log: Path, evaluator: Evaluator, reading: Reading) -> dict[str, float]:
    """Add the claims of a log; return the scores of its dialogues without false claims."""
    scores: dict[str, float] = {}
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for which in ("clean", "corrupted"):
        chosen = {row["dialogue"]: row for row in rows if row["set"] == which}
        scored = evaluator.score({n: {"messages": row["messages"]} for n, row in chosen.items()})
        scorer = scored.checked.scorer
        for name, turns in scored.checked.dialogues.items():
            dialogue = scorer.normalize(name, turns, scored.dialogues.sources)
            reading.add(chosen[name]["facts"], scorer.grounded(dialogue).judged)
        scores = scores or {
            score.label: round(score.value, 2)
            for score in scored.report().scores
            if score.scope == "total" and score.label in SCORES
        }
    return scores


def read_held_out(evaluator: Evaluator) -> Reading:
    """Return the results on the held-out sentences."""
    reading, scorer = Reading(), evaluator.scorer(evaluator.corpus)
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
        # The gold dialogue whose goal has most of the domains.
        name = max(goals, key=lambda name: len(goals[name].intersection(row["domains"])))
        dialogue = scorer.normalize(name, turns, sources)
        reading.add(facts, scorer.grounded(dialogue).judged)
    return reading


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} ({part}/{whole})" if whole else "—"


def tables(reading: Reading) -> Iterator[str]:
    """Yield the tables in Markdown."""
    true, false, invented = (
        reading.total(True),
        reading.total(False),
        reading.kinds["invented", NAME],
    )
    yield from ("| | % |", "|---|---:|")
    for what, part, whole in (
        ("false claims flagged", false["flagged"], false["claims"]),
        ("flags on false claims", reading.flags["false claim"], reading.flags.total()),
        ("true claims found", true["found"], true["claims"]),
        ("true claims flagged", true["flagged"], true["claims"]),
        ("invented names read as venues", invented["credited"], invented["claims"]),
    ):
        yield f"| {what} | {_share(part, whole)} |"
    yield from ("", "| false claims | flagged |", "|---|---:|")
    for (kind, slot), results in sorted(reading.kinds.items()):
        if kind != RIGHT:
            yield f"| {kind}: {slot} | {_share(results['flagged'], results['claims'])} |"
    yield from ("", "| slot | true: found | flagged | false: flagged |", "|---|---:|---:|---:|")
    for domain, slot in sorted({key[:2] for key in reading.slots}):
        true, false = (reading.slots[domain, slot, truth] for truth in (True, False))
        found, flagged = _share(true["found"], true["claims"]), true["flagged"]
        share = _share(false["flagged"], false["claims"])
        yield f"| {domain} {slot} | {found} | {flagged} | {share} |"


def main() -> None:
    """Print the tables."""
    os.environ.setdefault("MWZEVAL_DATA", str(SHARED / "data" / "multiwoz"))
    evaluator = Evaluator(grounded=True, corpus=CORPUS, responses=LEXICALIZED)
    reading = Reading()
    print("# Recognition of claims\n\nWritten by `python -m benchmarks.claims`.\n\n## Logs\n")
    for log in LOGS:
        print(f"{log.stem}, dialogues without false claims: {read_log(log, evaluator, reading)}\n")
    print("\n".join(tables(reading)))
    print("\n## Held-out sentences\n", *tables(read_held_out(evaluator)), sep="\n")


if __name__ == "__main__":
    main()
