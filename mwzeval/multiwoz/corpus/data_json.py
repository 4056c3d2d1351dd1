"""References and states out of dialogues in the `data.json` format of MultiWOZ 2.0, 2.1, 2.3, 2.4.

Source: Budzianowski et al., EMNLP 2018; Eric et al., "MultiWOZ 2.1", LREC 2020.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.corpus.gold import Annotations
from mwzeval.multiwoz.delexicalized_reference import Span, delexicalize

SLOT_OF_ACT = {
    "addr": "address",
    "arrive": "arriveby",
    "depart": "departure",
    "dest": "destination",
    "fee": "entrancefee",
    "id": "trainid",
    "leave": "leaveat",
    "open": "openhours",
    "post": "postcode",
    "ticket": "price",
}
"""Slots that dialogue acts abbreviate; the others are placeholder names as they stand."""

NONE = "none"
NO_VALUE = frozenset({"", "not mentioned", NONE})
_ALTERNATIVES = re.compile(r"[|<>]")


def annotations_of(log: Sequence[Mapping[str, Any]]) -> Annotations:
    """Return the annotations of a dialogue's `log`, in which user and system take turns.

    Where system turns have no spans (2.0, 2.4), references are the responses in full.
    """
    users, systems = log[0::2], log[1::2]
    return Annotations(
        references=tuple(delexicalize(turn["text"], _spans(turn)) for turn in systems),
        user_utterances=tuple(turn["text"] for turn in users[: len(systems)]),
        states=tuple(_state(turn["metadata"]) for turn in systems),
        alternatives=tuple(_alternatives(turn["metadata"]) for turn in systems),
    )


def _spans(turn: Mapping[str, Any]) -> Iterator[Span]:
    # Spans count tokens, both ends included; tokens are what white space separates.
    tokens = list(re.finditer(r"\S+", turn["text"]))
    for _, slot, value, first, last in turn.get("span_info", ()):
        if first <= last < len(tokens):
            name = SLOT_OF_ACT.get(slot.lower(), slot.lower())
            yield Span(tokens[first].start(), tokens[last].end(), name, value)


def _state(metadata: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    state: dict[str, dict[str, str]] = {}
    for domain, slots in _slots(metadata):
        known = {slot: _first(value) for slot, value in slots.items()}
        known = {slot: value for slot, value in known.items() if value not in NO_VALUE}
        if known:
            state[domain] = known
    return state


def _alternatives(metadata: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Return what a state does not say: all of several values, and "none" where it is written."""
    several: dict[str, dict[str, list[str]]] = {}
    for domain, slots in _slots(metadata):
        for slot, value in slots.items():
            values = [value for value in _values(value) if value not in NO_VALUE - {NONE}]
            if len(values) > 1 or (values and _first(value) in NO_VALUE):
                several.setdefault(domain, {})[slot] = values
    return several


def _slots(metadata: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str | list[str]]]]:
    for domain, annotated in metadata.items():
        slots = {
            **annotated.get("semi", {}),
            **{f"book{slot}": value for slot, value in annotated.get("book", {}).items()},
        }
        slots.pop("bookbooked", None)
        yield domain, slots


def _first(value: str | list[str]) -> str:
    """Return the first of several values that hold alike (2.4 lists them, others use signs)."""
    if isinstance(value, list):
        value = value[0] if value else ""
    return _ALTERNATIVES.split(value)[0].strip()


def _values(value: str | list[str]) -> list[str]:
    """Return all values that hold alike, each once."""
    texts = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(part.strip() for text in texts for part in _ALTERNATIVES.split(text)))
