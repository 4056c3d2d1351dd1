"""Goals, bookings, references and states from the annotation of the corpus.

MultiWOZ 2.0, 2.1, 2.3 and 2.4 consist of a `data.json`; MultiWOZ 2.2 consists of `dialogues_*.json`
and `dialog_acts.json`. A reference is an utterance whose annotated spans are replaced by
placeholders. System turns of MultiWOZ 2.0 and 2.4 have no annotated spans, so their references are
the original responses.

Sources: Budzianowski et al., EMNLP 2018; Eric et al., "MultiWOZ 2.1", LREC 2020; Zang et al.,
"MultiWOZ 2.2", NLP4ConvAI 2020; Han et al., "MultiWOZ 2.3", NLPCC 2021; Ye et al., "MultiWOZ 2.4",
SIGDIAL 2022. The choice of slots that count as requested follows Nekvinda and Dušek, GEM 2021.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mwzeval.files.reading import expecting
from mwzeval.multiwoz.normalization import State, normalize_slot
from mwzeval.multiwoz.placeholders import normalize_response
from mwzeval.multiwoz.schema import (
    ALL_DOMAINS,
    DONTCARE,
    NONE,
    PLACEHOLDER_OF_ACT,
    PROVIDABLE,
    UNSTATED,
)


@dataclass(frozen=True, slots=True)
class Goal:
    """The annotated goal of one domain, whose values are not normalized.

    `booking` maps each booking slot (day, people, stay, time) to its correct values: the final
    value and, if the goal lets a first booking fail, the value of this first booking.
    """

    informable: Mapping[str, str]
    requestable: frozenset[str]
    booking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Alternatives = Mapping[str, Mapping[str, Sequence[str]]]
"""All annotated values by domain and slot, only for slots with more annotated values than the state
has. The state itself has only the first of several values, and omits some values that mean "no
value"."""


class AnnotatedTurn(NamedTuple):
    """The annotation of a system turn, with the preceding user utterance and belief state.

    The fields of a turn are the columns of `GoldDialogue`.
    """

    references: str
    user_utterances: str
    states: State
    alternatives: Alternatives
    system_utterances: str


@dataclass(frozen=True, slots=True)
class GoldDialogue:
    """Gold data of one dialogue; all fields except `goal` have one item per system turn.

    `booked` are the domains in which each turn makes a booking. `references` are the delexicalized
    responses, with natural spacing and sacreBLEU's tokenization; `system_utterances` are the
    original responses. `user_utterances` has the user utterance before each system turn. `states`
    are the annotated states (not normalized) after the user utterances; `alternatives` are
    annotated values that the states do not have.
    """

    goal: Mapping[str, Goal]
    booked: tuple[frozenset[str], ...]
    references: tuple[str, ...]
    tokenized_references: tuple[str, ...]
    user_utterances: tuple[str, ...]
    states: tuple[State, ...]
    alternatives: tuple[Alternatives, ...]
    system_utterances: tuple[str, ...]

    def slot_values(self) -> Iterator[Alternatives]:
        """Yield, for each turn, the acceptable values of each slot, which are not normalized."""
        for state, alternatives in zip(self.states, self.alternatives, strict=True):
            values: dict[str, dict[str, Sequence[str]]] = {
                domain: {slot: (value,) for slot, value in slots.items()}
                for domain, slots in state.items()
            }
            for domain, several in alternatives.items():
                values.setdefault(domain, {}).update(several)
            yield values


def dialogue_id(name: str) -> str:
    """Return the id of a MultiWOZ file name: `SNG0073.json` → `sng0073`."""
    return name.partition(".")[0].lower()


# Goals and bookings

BOOKING_FLAGS = frozenset({"invalid", "pre_invalid"})
"""Keys of a goal's `book` that are no slots, but state whether the first or any booking should
fail.

In the annotated dialogues, these bookings succeed, because MultiWOZ does not simulate availability.
"""
REQUESTS = {slot: name for name, slot in PROVIDABLE.items() if name != "TRAINID"}
"""Requested slots that are scored; other slots, such as the entrance fee, are not."""
TRAIN_REQUESTS = {"trainID": "TRAINID"}


def goals_of(annotated: Mapping[str, Any]) -> dict[str, Goal]:
    """Return the goal of each domain in a dialogue's `goal`; empty domains are omitted."""
    goals = {}
    for domain in filter(annotated.get, ALL_DOMAINS):
        part = annotated[domain]
        requests = TRAIN_REQUESTS if domain == "train" else REQUESTS
        requestable = {requests[slot] for slot in part.get("reqt", ()) if slot in requests}
        if part.get("book"):
            requestable.add("REFERENCE")
        info = {normalize_slot(slot): str(value) for slot, value in part.get("info", {}).items()}
        tried_first = part.get("fail_book") or {}
        booking = {}
        for slot, value in (part.get("book") or {}).items():
            if slot not in BOOKING_FLAGS:
                values = [*value] if isinstance(value, list | tuple) else [value]
                values += [tried_first[slot]] if slot in tried_first else []
                booking[slot] = tuple(dict.fromkeys(map(str, values)))
        goals[domain] = Goal(info, frozenset(requestable), booking)
    return goals


def booked_domains_of(log: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the domains booked by each system turn of a dialogue's `log`, sorted.

    Bookings of taxis do not count, because a taxi has no reference number.
    """
    return [
        sorted(
            domain
            for domain, slots in turn["metadata"].items()
            if domain != "taxi" and slots.get("book", {}).get("booked")
        )
        for turn in log[1::2]
    ]


# Turns

AnnotatedValues = Iterator[tuple[str, str, str | None, list[str]]]
"""Domain, slot, the value in the state or None, and all acceptable values."""
VERSION_22 = 'a dialogue of MultiWOZ 2.2, with "dialogue_id" and "turns" whose values are strings'


def annotations_of_version_22(
    dialogues: Sequence[Mapping[str, Any]], acts: Mapping[str, Any], place: str
) -> Iterator[tuple[str, list[AnnotatedTurn]]]:
    """Yield the annotations by dialogue id.

    Raises `DataError`, with the file name `place`, if the annotation is invalid.
    """
    acts_by_id = {dialogue_id(name): turns for name, turns in acts.items()}
    for number, dialogue in enumerate(dialogues):
        with expecting(VERSION_22, f"{place}: dialogue {number} (from 0)"):
            identifier = dialogue_id(dialogue["dialogue_id"])
            turns, acts_of_turn = dialogue["turns"], acts_by_id.get(identifier, {})
            annotations = []
            for user, turn in zip([None, *turns], turns, strict=False):
                if turn["speaker"] == "SYSTEM":
                    spans = acts_of_turn.get(str(turn["turn_id"]), {}).get("span_info", ())
                    said = "" if user is None else _text(user["utterance"])
                    state = _state(iter(()) if user is None else _values_22(user))
                    reference = delexicalize(
                        turn["utterance"],
                        (Span(start, end, slot, value) for _, slot, value, start, end in spans),
                    )
                    annotations.append(AnnotatedTurn(reference, said, *state, turn["utterance"]))
        yield identifier, annotations


def _values_22(user_turn: Mapping[str, Any]) -> AnnotatedValues:
    for frame in user_turn["frames"]:
        for name, values in frame.get("state", {}).get("slot_values", {}).items():
            if not (isinstance(values, list) and all(isinstance(value, str) for value in values)):
                raise TypeError(f"the values of {name} are not a list of strings")
            domain, _, slot = name.partition("-")
            yield domain, slot, None if DONTCARE in values else next(iter(values), None), values


def annotations_of(log: Sequence[Mapping[str, Any]]) -> list[AnnotatedTurn]:
    """Return the annotations of a dialogue's `log`, in which user and system alternate."""
    return [
        AnnotatedTurn(
            delexicalize(turn["text"], _spans(turn)),
            _text(user["text"]),
            *_state(_values(turn["metadata"])),
            turn["text"],
        )
        for user, turn in zip(log[0::2], log[1::2], strict=False)
    ]


def _spans(turn: Mapping[str, Any]) -> Iterator[Span]:
    # Spans are positions of tokens, inclusive; tokens are separated by white space.
    tokens = list(re.finditer(r"\S+", turn["text"]))
    for _, slot, value, first, last in turn.get("span_info", ()):
        if first <= last < len(tokens):
            name = PLACEHOLDER_OF_ACT.get(slot.lower(), slot.lower())
            yield Span(tokens[first].start(), tokens[last].end(), name, value)


def _values(metadata: Mapping[str, Any]) -> AnnotatedValues:
    """Yield the values of all slots. Several values are a list in 2.4, otherwise separated text."""
    for domain, annotated in metadata.items():
        slots = {
            **annotated.get("semi", {}),
            **{f"book{slot}": value for slot, value in annotated.get("book", {}).items()},
        }
        slots.pop("bookbooked", None)
        for slot, value in slots.items():
            texts = value if isinstance(value, list) else [value]
            values = dict.fromkeys(
                part.strip() for text in texts for part in re.split(r"[|<>]", text)
            )
            first = next(iter(values), "")
            written = [value for value in values if value not in UNSTATED - {NONE}]
            yield domain, slot, None if first in UNSTATED else first, written


def _state(annotated: AnnotatedValues) -> tuple[State, Alternatives]:
    """Return a state with one value per slot, and all values of the slots that have several."""
    state: dict[str, dict[str, str]] = {}
    alternatives: dict[str, dict[str, list[str]]] = {}
    for domain, slot, stated, values in annotated:
        if stated is not None:
            state.setdefault(domain, {})[slot] = stated
        if len(values) > 1 or (values and stated is None):
            alternatives.setdefault(domain, {})[slot] = values
    return state, alternatives


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("an utterance is not a string")
    return value


class Span(NamedTuple):
    """An annotated value: `start` and `end` (exclusive) are positions in the utterance."""

    start: int
    end: int
    slot: str
    value: str


def delexicalize(utterance: str, spans: Iterable[Span]) -> str:
    """Return the normalized response with every span replaced by the placeholder of its slot.

    Spans that overlap the preceding span are ignored. Spans with the value "dontcare" are also
    ignored, because their text contains no value.
    """
    pieces = []
    position = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= position and span.value != DONTCARE:
            pieces += [utterance[position : span.start], f"[{span.slot}]"]
            position = span.end
    pieces.append(utterance[position:])
    return normalize_response("".join(pieces))
