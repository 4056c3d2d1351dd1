"""References and states out of the MultiWOZ 2.2 files `dialogues_*.json` and `dialog_acts.json`.

Source: Zang et al., "MultiWOZ 2.2", NLP4ConvAI 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.delexicalized_reference import Span, delexicalize
from mwzeval.multiwoz.gold import Annotations, dialogue_id


def annotations_of(
    dialogues: Sequence[Mapping[str, Any]], acts: Mapping[str, Any]
) -> Iterator[tuple[str, Annotations]]:
    """Yield the annotations by dialogue id."""
    acts_by_id = {dialogue_id(name): turns for name, turns in acts.items()}
    for dialogue in dialogues:
        identifier = dialogue_id(dialogue["dialogue_id"])
        turns = dialogue["turns"]
        references, utterances, states = [], [], []
        for before, turn in zip([None, *turns], turns, strict=False):
            if turn["speaker"] != "SYSTEM":
                continue
            annotated = acts_by_id.get(identifier, {}).get(str(turn["turn_id"]), {})
            references.append(delexicalize(turn["utterance"], _spans(annotated)))
            utterances.append(before["utterance"] if before else "")
            states.append(_state(before) if before else {})
        yield identifier, Annotations(tuple(references), tuple(utterances), tuple(states))


def _spans(annotated: Mapping[str, Any]) -> Iterator[Span]:
    for _, slot, value, start, end in annotated.get("span_info", ()):
        yield Span(start, end, slot, value)


def _state(user_turn: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    state: dict[str, dict[str, str]] = {}
    for frame in user_turn["frames"]:
        for name, values in frame.get("state", {}).get("slot_values", {}).items():
            if values and "dontcare" not in values:
                domain, _, slot = name.partition("-")
                state.setdefault(domain, {})[slot] = values[0]
    return state
