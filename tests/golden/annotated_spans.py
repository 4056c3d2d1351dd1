"""Human responses of a fold of the real data with their annotated values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from mwzeval.multiwoz.annotations import dialogue_id
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.words.delexicalize import placeholder_spans
from mwzeval.multiwoz.words.text import Mention
from tests.places import read_json, shared


class AnnotatedTurn(NamedTuple):
    """A lexicalized response with its annotated (start, end, canonical slot)."""

    response: str
    spans: tuple[tuple[int, int, str], ...]


@cache
def annotated_turns(fold: str) -> dict[str, list[AnnotatedTurn]]:
    folder = shared("data", "multiwoz", "data", "MultiWOZ_2.2")
    acts = {dialogue_id(key): talk for key, talk in read_json(folder / "dialog_acts.json").items()}
    return {
        (name := dialogue_id(dialogue["dialogue_id"])): [
            AnnotatedTurn(
                turn["utterance"],
                _disjoint_spans(acts.get(name, {}).get(turn["turn_id"], {}).get("span_info", ())),
            )
            for turn in dialogue["turns"]
            if turn["speaker"] == "SYSTEM"
        ]
        for file in sorted((folder / fold).glob("dialogues_*.json"))
        for dialogue in read_json(file)
    }


def _disjoint_spans(spans: Iterable[Sequence[Any]]) -> tuple[tuple[int, int, str], ...]:
    """Return the spans that references use: they do not overlap."""
    taken: list[tuple[int, int, str]] = []
    for _, slot, value, start, end in sorted(spans, key=lambda span: span[3]):
        if value != "dontcare" and (not taken or start >= taken[-1][1]):
            taken.append((start, end, PLACEHOLDERS[slot]))
    return tuple(taken)


@dataclass
class SpanScore:
    """The numbers of found, annotated and matching spans of a slot; `exact` matches are equal.

    A mention matches the first unmatched annotated span of the same canonical slot that shares a
    character with it.
    """

    found: int = 0
    annotated: int = 0
    both: int = 0
    exact: int = 0

    @property
    def f1(self) -> float:
        return 2 * self.both / (self.found + self.annotated)

    @property
    def exact_f1(self) -> float:
        return 2 * self.exact / (self.found + self.annotated)


def count(scores: dict[str, SpanScore], turn: AnnotatedTurn, mentions: Sequence[Mention]) -> None:
    """Add the spans of a turn to the scores by slot."""
    free = list(turn.spans)
    for _, _, slot in turn.spans:
        scores.setdefault(slot, SpanScore()).annotated += 1
    found = [
        (*span, PLACEHOLDERS[mention.slot])
        for mention in mentions
        for span in placeholder_spans(mention)
    ]
    for first, last, slot in found:
        score = scores.setdefault(slot, SpanScore())
        score.found += 1
        for span in free:
            start, end, annotated_slot = span
            if annotated_slot == slot and start < last and first < end:
                free.remove(span)
                score.both += 1
                score.exact += (start, end) == (first, last)
                break
