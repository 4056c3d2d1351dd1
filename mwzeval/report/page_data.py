"""The units of a page as JSON: everything once, and nothing that could end its data block."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Generic, TypeVar

from mwzeval.report.page.model import PageSystem, labels_of, letter_of
from mwzeval.report.page.reasons import Kind
from mwzeval.scores.explanation import Explanation, Fact, Words
from mwzeval.scores.score import WHOLE

UNSAFE = re.compile("[<>&\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")

Item = TypeVar("Item")


class _Numbered(dict[Item, int], Generic[Item]):
    """Things in the order in which they were first seen; calling with one returns its number."""

    def __call__(self, item: Item) -> int:
        return self.setdefault(item, len(self))


def data_of(systems: Sequence[PageSystem], kinds: Sequence[Kind], words: Words) -> dict[str, Any]:
    """Return everything about the units, each string, fact and utterance once.

    Numbers stand for places in `strings`, `facts` (label, value, scope), `utterances` (speaker,
    text), `reasons` (code, outcome, scope, text) and `outcomes` (scope, name, 1 kept, 0 lost or
    -1 not asked for, …). A unit of a system is [outcomes, goal facts, turns, [reason, turn, …]],
    a turn [utterances, facts]; 0 is a unit that the system lacks, -1 no scope and no turn.
    """
    strings = _Numbered[str]()
    facts = _Numbered[tuple[int, int, int]]()
    utterances = _Numbered[tuple[int, int]]()
    reasons = _Numbered[tuple[int, int, int, int]]()
    outcomes = _Numbered[tuple[int, ...]]()
    units = list(dict.fromkeys(e.unit for system in systems for e in system.explanations))

    def number_facts(stated: Iterable[Fact]) -> list[int]:
        return [
            facts(
                (
                    strings(fact.label),
                    strings(fact.value),
                    -1 if fact.scope is None else strings(fact.scope),
                )
            )
            for fact in stated
        ]

    def number_outcomes(explanation: Explanation) -> int:
        flat: list[int] = []
        for scope, named in explanation.outcomes.items():
            for name, outcome in named.items():
                flat += [strings(scope), strings(name), -1 if outcome is None else int(outcome)]
        return outcomes(tuple(flat))

    def number_reasons(explanation: Explanation) -> list[int]:
        flat: list[int] = []
        for r in explanation.reasons:
            texts = (strings(r.code), strings(r.outcome), strings(r.scope), strings(r.text))
            flat += [reasons(texts), -1 if r.turn is None else r.turn]
        return flat

    def pack(explanation: Explanation | None) -> Any:
        if explanation is None:
            return 0
        turns = [
            [
                [
                    utterances((strings(said.speaker), strings(said.text)))
                    for said in turn.utterances
                ],
                number_facts(turn.facts),
            ]
            for turn in explanation.turns
        ]
        return [
            number_outcomes(explanation),
            number_facts(explanation.goal),
            turns,
            number_reasons(explanation),
        ]

    by_unit = [{e.unit: e for e in system.explanations} for system in systems]
    packed = [[pack(known.get(unit)) for unit in units] for known in by_unit]
    return {
        "whole": WHOLE,
        "words": asdict(words),
        "labels": list(labels_of(systems).items()),
        "systems": [[letter_of(index), s.name] for index, s in enumerate(systems)],
        "kinds": [[kind.outcome, kind.code, kind.parent] for kind in kinds],
        "units": units,
        "explanations": packed,
        "outcomes": list(outcomes),
        "reasons": [number for reason in reasons for number in reason],
        "utterances": [number for utterance in utterances for number in utterance],
        "facts": [number for fact in facts for number in fact],
        "strings": list(strings),
    }


def safe_json(value: Any) -> str:
    """Return JSON that no HTML parser can mistake for the end of its data block."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
