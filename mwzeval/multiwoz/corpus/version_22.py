"""References and states out of the MultiWOZ 2.2 files `dialogues_*.json` and `dialog_acts.json`.

Source: Zang et al., "MultiWOZ 2.2", NLP4ConvAI 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.corpus.gold import Annotations, dialogue_id
from mwzeval.multiwoz.corpus.spans import Span, delexicalize


def annotations_of(
    dialogues: Sequence[Mapping[str, Any]], acts: Mapping[str, Any]
) -> Iterator[tuple[str, Annotations]]:
    """Yield the annotations by dialogue id."""
    acts_by_id = {dialogue_id(name): turns for name, turns in acts.items()}
    for dialogue in dialogues:
        identifier = dialogue_id(dialogue["dialogue_id"])
        turns = dialogue["turns"]
        references, utterances, states, alternatives = [], [], [], []
        for before, turn in zip([None, *turns], turns, strict=False):
            if turn["speaker"] != "SYSTEM":
                continue
            annotated = acts_by_id.get(identifier, {}).get(str(turn["turn_id"]), {})
            references.append(delexicalize(turn["utterance"], _spans(annotated)))
            utterances.append(before["utterance"] if before else "")
            states.append(_state(before) if before else {})
            alternatives.append(_alternatives(before) if before else {})
        yield (
            identifier,
            Annotations(tuple(references), tuple(utterances), tuple(states), tuple(alternatives)),
        )


def _spans(annotated: Mapping[str, Any]) -> Iterator[Span]:
    for _, slot, value, start, end in annotated.get("span_info", ()):
        yield Span(start, end, slot, value)


def _state(user_turn: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    state: dict[str, dict[str, str]] = {}
    for domain, slot, values in _slot_values(user_turn):
        if values and "dontcare" not in values:
            state.setdefault(domain, {})[slot] = values[0]
    return state


def _alternatives(user_turn: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Return what a state does not say: values that it leaves out, and all of several."""
    several: dict[str, dict[str, list[str]]] = {}
    for domain, slot, values in _slot_values(user_turn):
        if len(values) > 1 or "dontcare" in values:
            several.setdefault(domain, {})[slot] = list(values)
    return several


def _slot_values(user_turn: Mapping[str, Any]) -> Iterator[tuple[str, str, Sequence[str]]]:
    for frame in user_turn["frames"]:
        for name, values in frame.get("state", {}).get("slot_values", {}).items():
            domain, _, slot = name.partition("-")
            yield domain, slot, values
