"""How well claims are read and judged, on logs of which the truth of every claim is known.

`python -m benchmarks.claims [LOGS …]` prints tables by kind, slot and form, then what the human
responses of the test fold get; `--heldout` the tables of sentences that no rule was tuned by
(`benchmarks/heldout/`). `--write` keeps all of them in `benchmarks/claims.md`, `--errors` lists
every claim that was judged wrongly. The logs are dialogues with `messages` and `facts`, each with a
place, a slot, a form and a kind; `right` ones are true of the venue that is spoken of.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.delexicalization import human_responses
from benchmarks.heldout.filling import RIGHT, ROUNDS, UNCLEAR, Filler
from benchmarks.heldout.sentences import read_sentences
from benchmarks.heldout.values import ROOMS
from mwzeval import Evaluator
from mwzeval.multiwoz.choices import LEXICALIZED
from mwzeval.multiwoz.corpus.corpora import GoldFold
from mwzeval.multiwoz.database.venues import id_column
from mwzeval.multiwoz.grounding.responses import Judged
from mwzeval.multiwoz.predictions.reading import Turn
from mwzeval.multiwoz.scoring.scored_predictions import ScoredPredictions
from mwzeval.multiwoz.scoring.scorer import Sources
from mwzeval.multiwoz.words.text import Mention

SHARED = Path(__file__).parents[2] / "shared"
LOGS = sorted((SHARED / "golden" / "claims").glob("*.jsonl"))
CORPUS = "multiwoz-2.2"
RESULTS = Path(__file__).parent / "claims.md"
CLEAN, CORRUPTED = "clean", "corrupted"
NAME = "name"
UNNAMED = ("count", *ROOMS)
"""Held-out slots that are found wherever anything is read."""
IN_WORDS = Sources(predicted_states=True, predicted_domains=True, lexicalized=True)


@dataclass
class Counts:
    """Claims of one kind, slot or form, and what became of them."""

    claims: int = 0
    found: int = 0
    flagged: int = 0
    credited: int = 0

    def add(self, found: bool, flagged: bool, credited: bool) -> None:
        """Count a claim."""
        self.claims += 1
        self.found += found
        self.flagged += flagged
        self.credited += credited


@dataclass
class Reading:
    """What is counted over files of logs."""

    groups: dict[tuple[bool, str, str], Counts] = field(default_factory=lambda: defaultdict(Counts))
    flags: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    clean: dict[str, dict[str, float]] = field(default_factory=dict)
    kept: dict[str, tuple[int, int, int]] = field(default_factory=dict)


def is_flag(judged: Judged) -> bool:
    """Tell whether a judged mention is said to be wrong."""
    return not judged.known or judged.agrees is False


def dialogues(log: Path, which: str) -> dict[str, dict[str, Any]]:
    """Return the dialogues of a set, by id."""
    rows = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    return {row["dialogue"]: row for row in rows if row["set"] == which}


def read(reading: Reading, log: Path, evaluator: Evaluator) -> None:
    """Add what comes of a file of logs."""
    for which in (CLEAN, CORRUPTED):
        rows = dialogues(log, which)
        predictions = {name: {"messages": row["messages"]} for name, row in rows.items()}
        scored = evaluator.score(predictions)
        checked, sources = scored.checked, scored.dialogues.sources
        for name, turns in checked.dialogues.items():
            dialogue = checked.scorer.normalize(name, turns, sources)
            by_turn: dict[int, list[Judged]] = defaultdict(list)
            for judged in checked.scorer.grounded(dialogue).judged:
                by_turn[judged.turn].append(judged)
            words = [turn.response or "" for turn in turns]
            _compare(reading, f"{log.stem} {which} {name}", words, rows[name]["facts"], by_turn)
        if which == CLEAN:
            reading.kept[log.stem] = _as_read_from_facts(rows, scored)
            reading.clean[log.stem] = {
                score.label: round(score.value, 2)
                for score in scored.report().scores
                if score.scope == "total" and score.label in _OF_WORDS
            }


_OF_WORDS = ("Hallucination", "Consistency", "Grounded Inform", "Grounded Success")


def _as_read_from_facts(
    rows: Mapping[str, Mapping[str, Any]], scored: ScoredPredictions
) -> tuple[int, int, int]:
    """Return how many dialogues keep Inform and Success by their facts, and how many as read.

    A reader that makes no mistake finds the facts and the references of the tools: what is lost
    with it, too, is lost by the dialogue. The last number is of dialogues with the same outcome.
    """
    checked, sources = scored.checked, scored.dialogues.sources
    scorer = checked.scorer
    informs = successes = same = 0
    for name, turns in checked.dialogues.items():
        dialogue = scorer.normalize(name, turns, sources)
        mentions: list[list[Mention]] = [[] for _ in turns]
        for fact in rows[name]["facts"]:
            mentions[fact["turn"]].append(_mention_of(fact, scorer.gold.tables))
        for number, turn in enumerate(turns):
            said = turn.response or ""
            results = " ".join(str(call.result) for call in turn.calls)
            for slot, domain, pattern in _OF_TOOLS:
                for value in set(pattern.findall(results)):
                    if found := re.search(r" ?".join(value), said):
                        mentions[number].append(Mention(*found.span(), value, slot, domain))
        read_ = scorer.grounded(dialogue).outcome
        told = scorer.grounding.judge(
            scorer.grounded(dialogue).goal,
            scorer.gold.dialogues[dialogue.name].booked,
            [turn.state for turn in dialogue.turns],
            dialogue.words,
            [sorted(said, key=lambda mention: mention.start) for said in mentions],
        ).outcome
        informs += told.inform
        successes += told.success
        same += (told.inform, told.success) == (read_.inform, read_.success)
    return informs, successes, same


_OF_TOOLS = (
    ("reference", None, re.compile(r'"reference": "([A-Z0-9]+)')),
    ("phone", "taxi", re.compile(r'"(?:phone|contact|contact number)": "([0-9 ]+)')),
)
_COLUMNS = {"trainid": "trainID", "leaveat": "leaveAt", "arriveby": "arriveBy"}


def _mention_of(
    fact: Mapping[str, Any], tables: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Mention:
    """Return a fact as the mention that a reader without mistakes makes of it."""
    domain, slot = fact["domain"], fact["slot"]
    column = _COLUMNS.get(slot, slot)
    identifier = id_column(domain)
    venues = tuple(
        dict.fromkeys(
            str(row[identifier]) for row in tables[domain] if row.get(column) == fact["said"]
        )
    )
    value = fact["said"] if venues else None
    return Mention(fact["start"], fact["end"], fact["said"], slot, domain, value, venues)


def _compare(
    reading: Reading,
    where: str,
    words: Sequence[str],
    facts: Sequence[Mapping[str, Any]],
    by_turn: Mapping[int, Sequence[Judged]],
) -> None:
    covered: set[tuple[int, int, int]] = set()
    wrong: set[tuple[int, int, int]] = set()
    unclear: set[tuple[int, int, int]] = set()
    for fact in facts:
        turn, start, end = fact["turn"], fact["start"], fact["end"]
        over = [j for j in by_turn.get(turn, ()) if j.mention.start < end and start < j.mention.end]
        places = {(turn, j.mention.start, j.mention.end) for j in over}
        covered |= places
        if fact["kind"] == UNCLEAR:
            unclear |= places
            continue
        true = fact["kind"] == RIGHT
        if not true:
            wrong |= places
        found = any(fact["slot"] in (j.mention.slot, *UNNAMED) for j in over)
        flagged = any(map(is_flag, over))
        credited = fact["slot"] == NAME and any(
            j.mention.slot == NAME and j.mention.value is not None for j in over
        )
        kind = fact["kind"] if true else f"{fact['kind']}: {fact['slot']}"
        for group, key in (
            *(("kind", kind), ("slot", f"{fact['domain']} {fact['slot']}")),
            ("form", f"{fact['slot']}: {fact['form']}"),
        ):
            reading.groups[true, group, key].add(found, flagged, credited)
        if (
            (true and (flagged or not found))
            or (not true and not flagged)
            or (not true and credited)
        ):
            said = [
                (j.mention.slot, j.mention.domain, j.mention.value, j.known, j.agrees) for j in over
            ]
            reading.errors.append(
                f"{where} turn {turn}: {fact['kind']} {fact['domain']} {fact['slot']} "
                f"[{fact['form']}] {words[turn][start:end]!r} read {said} in "
                f"{words[turn][max(0, start - 60) : end + 30]!r}"
            )
    for turn, of_turn in by_turn.items():
        for judged in filter(is_flag, of_turn):
            place = (turn, judged.mention.start, judged.mention.end)
            if place in unclear - wrong:
                continue
            kind = "right" if place in wrong else "true claim" if place in covered else "no claim"
            reading.flags[kind] += 1
            if kind == "no claim":
                mention = judged.mention
                text = words[turn][max(0, mention.start - 60) : mention.end + 30]
                reading.errors.append(
                    f"{where} turn {turn}: false alarm {mention.domain} {mention.slot} "
                    f"{mention.text!r} in {text!r}"
                )


def share(part: int, whole: int) -> str:
    """Return a percentage with one decimal, and what it is of."""
    return f"{100 * part / whole:.2f} ({part}/{whole})" if whole else "—"


def lines(reading: Reading, groups: Sequence[str] = ("slot", "form")) -> Iterator[str]:
    """Yield the tables in Markdown."""
    by_kind = {k[2]: c for k, c in reading.groups.items() if k[1] == "kind"}
    true = by_kind.pop(RIGHT, Counts())
    false = sum(c.claims for c in by_kind.values())
    flagged = sum(c.flagged for c in by_kind.values())
    names = [c for kind, c in by_kind.items() if kind == "invented: name"]
    yield "| what | % (of) | to reach |"
    yield "|---|---:|---:|"
    yield f"| false claims flagged | {share(flagged, false)} | ≥ 95 |"
    for kind, counts in sorted(by_kind.items()):
        yield f"| … {kind} | {share(counts.flagged, counts.claims)} | |"
    total = sum(reading.flags.values())
    yield f"| flags that are right | {share(reading.flags['right'], total)} | ≥ 97 |"
    yield f"| true claims found | {share(true.found, true.claims)} | ≥ 98 |"
    yield f"| true claims flagged | {share(true.flagged, true.claims)} | ≤ 0.15 |"
    credited = sum(c.credited for c in names)
    of_names = sum(c.claims for c in names)
    yield f"| invented names credited as real venues | {share(credited, of_names)} | ≤ 0.5 |"
    for log, scores in reading.clean.items():
        told = ", ".join(f"{label} {value:.2f}" for label, value in scores.items())
        yield f"| clean dialogues of {log} | {told} | 0.1, 99.8, 100, 99 |"
        informs, successes, same = reading.kept[log]
        told = f"Inform {share(informs, 150)}, Success {share(successes, 150)}"
        yield f"| … by their facts, without reading | {told}; as read {share(same, 150)} | |"
    for group in groups:
        yield ""
        yield f"| {group} | true | found | flagged | false | flagged |"
        yield "|---|---:|---:|---:|---:|---:|"
        keys = sorted({key for _, of_group, key in reading.groups if of_group == group})
        for key in keys:
            right = reading.groups.get((True, group, key), Counts())
            wrong = reading.groups.get((False, group, key), Counts())
            yield (
                f"| {key} | {right.claims} | {share(right.found, right.claims)} | {right.flagged} "
                f"| {wrong.claims} | {share(wrong.flagged, wrong.claims)} |"
            )


def held_out(reading: Reading, evaluator: Evaluator, rounds: int = ROUNDS) -> Iterator[str]:
    """Yield the tables of the sentences that no rule was tuned by: figures, and nothing of them."""
    scorer = evaluator.scorer(evaluator.corpus)
    sentences = read_sentences()
    counts: Counter[str] = Counter(sentences=len(sentences.sentences))
    filler = Filler(scorer.gold.tables, sentences)
    for filled in filler.fillings(rounds):
        turns = [
            Turn(response, filled.state, filled.domains(number))
            for number, response in enumerate(filled.turns)
        ]
        name = _about(filled.sentence.about, scorer.gold)
        dialogue = scorer.normalize(name, turns, IN_WORDS)
        by_turn: dict[int, list[Judged]] = defaultdict(list)
        for judged in scorer.grounded(dialogue).judged:
            by_turn[judged.turn].append(judged)
        counts["texts"] += 1
        if not filled.facts:
            counts["traps"] += 1
            counts["flagged traps"] += any(is_flag(j) for of in by_turn.values() for j in of)
        where = f"sentence {filled.sentence.number}"
        _compare(reading, where, filled.turns, filled.facts, by_turn)
    yield (
        f"Held out: {counts['sentences']} sentences, {counts['texts']} texts made of them; flagged "
        f"of those that claim nothing: {share(counts['flagged traps'], counts['traps'])}."
    )
    yield ""
    yield from lines(reading, ["slot"])


def _about(domains: Sequence[str], gold: GoldFold) -> str:
    """Return a dialogue of the fold, best one whose user wants these domains."""

    def wanted(name: str) -> int:
        return len(set(domains) & set(gold.dialogues[name].goal))

    return max(sorted(gold.dialogues), key=wanted)


def human(folder: Path) -> Iterator[str]:
    """Yield what the human responses of the test fold get, with the annotated states."""
    evaluator = Evaluator(
        bleu=True, success=True, grounded=True, corpus=CORPUS, responses=LEXICALIZED
    )
    scored = evaluator.score(human_responses(folder))
    asked = ("Inform", "Success", "BLEU (mwz22)", *_OF_WORDS)
    scores = [s for s in scored.report().scores if s.scope == "total" and s.label in asked]
    told = ", ".join(f"{s.label} {s.value:.2f}" for s in scores)
    flags: Counter[str] = Counter()
    checked = scored.checked
    sources = Sources.of(checked.dialogues.values())
    for name, turns in checked.dialogues.items():
        dialogue = checked.scorer.normalize(name, turns, sources)
        for judged in filter(is_flag, checked.scorer.grounded(dialogue).judged):
            flags["unknown" if not judged.known else "inconsistent"] += 1
    yield ""
    yield f"Human responses of the test fold: {told}; flags: {dict(flags)}."


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; returns 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path, default=LOGS)
    parser.add_argument("--heldout", action="store_true", help="only the held-out sentences")
    parser.add_argument("--write", action="store_true", help="print everything, and keep it")
    parser.add_argument("--errors", action="store_true", help="list the texts, too")
    parser.add_argument("--no-human", action="store_true")
    chosen = parser.parse_args(arguments)
    data = SHARED / "data" / "multiwoz"
    os.environ.setdefault("MWZEVAL_DATA", str(data))
    evaluator = Evaluator(grounded=True, corpus=CORPUS, responses=LEXICALIZED)
    reading, apart = Reading(), Reading()
    found: list[str] = []
    if chosen.write or not chosen.heldout:
        for log in chosen.logs:
            read(reading, log, evaluator)
        found += lines(reading)
        if not chosen.no_human:
            found += human(data / "data" / "MultiWOZ_2.2" / "test")
        found.append("")
    if chosen.write or chosen.heldout:
        found += held_out(apart, evaluator)
    if chosen.errors:
        print("\n".join(reading.errors + apart.errors))
    print("\n".join(found))
    if chosen.write:
        RESULTS.write_text("\n".join(found) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
