"""What the gold annotation says about each dialogue: goal, bookings, references, states.

A reference is an utterance with placeholders for its annotated spans. Source: the `goal` and
`metadata` annotations of Budzianowski et al., EMNLP 2018; which slots count as requested is the
choice of Nekvinda and Dušek, GEM 2021.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mwzeval.multiwoz.normalization.normalize import State, normalize_response, normalize_slot
from mwzeval.multiwoz.schema import ALL_DOMAINS


class Span(NamedTuple):
    """An annotated value: `start` and `end` (exclusive) are positions in the utterance."""

    start: int
    end: int
    slot: str
    value: str


def delexicalize(utterance: str, spans: Iterable[Span]) -> str:
    """Return the normalised response with every span replaced by the placeholder of its slot.

    Spans that begin before the end of the last one taken are left out, and so are those whose
    value is "dontcare", because there is no value in the text then.
    """
    pieces = []
    position = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start < position or span.value == "dontcare":
            continue
        pieces += [utterance[position : span.start], f"[{span.slot}]"]
        position = span.end
    pieces.append(utterance[position:])
    return normalize_response("".join(pieces))


@dataclass(frozen=True, slots=True)
class Goal:
    """What the user wants of one domain, as annotated (values are not normalised).

    `booking` are the slots to book with (day, people, stay, time) and the values that are right:
    the one the user ends with, then the one tried first, where the goal has a booking fail.
    """

    informable: Mapping[str, str]
    requestable: frozenset[str]
    booking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Alternatives = Mapping[str, Mapping[str, Sequence[str]]]
"""Domain → slot → all values that are annotated, for slots of which a state does not say them: of
several values a state has the first, and it leaves out some that say that there is none."""


class Annotations(NamedTuple):
    """What is annotated of the turns of a dialogue, one item a system turn each."""

    references: tuple[str, ...]
    user_utterances: tuple[str, ...]
    states: tuple[State, ...]
    alternatives: tuple[Alternatives, ...]
    system_utterances: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GoldDialogue:
    """Gold data of one dialogue; all but `goal` have one item a system turn.

    `booked` are the domains booked by that turn, `references` the delexicalised responses with
    natural spacing (and as sacreBLEU tokenises them), `user_utterances` what the user said before,
    `states` the annotated states (not normalised) after that, `alternatives` what they do not say,
    and `system_utterances` the responses in words.
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
        """Yield the annotated values of all slots, of which each is right; not normalised."""
        for state, alternatives in zip(self.states, self.alternatives, strict=True):
            values: dict[str, dict[str, Sequence[str]]] = {
                domain: {slot: (value,) for slot, value in slots.items()}
                for domain, slots in state.items()
            }
            for domain, several in alternatives.items():
                values.setdefault(domain, {}).update(several)
            yield values

    def to_json(self) -> dict[str, Any]:
        """Return the plain form that `from_json` reads."""
        return {
            "goal": {
                domain: {
                    "informable": dict(goal.informable),
                    "requestable": sorted(goal.requestable),
                    "booking": {slot: list(values) for slot, values in goal.booking.items()},
                }
                for domain, goal in self.goal.items()
            },
            "booked": [sorted(domains) for domains in self.booked],
            "references": self.references,
            "tokenized_references": self.tokenized_references,
            "user_utterances": self.user_utterances,
            "states": self.states,
            "alternatives": self.alternatives,
            "system_utterances": self.system_utterances,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> GoldDialogue:
        """Read back what `to_json` wrote."""
        return cls(
            goal={domain: goal_from_json(goal) for domain, goal in plain["goal"].items()},
            booked=tuple(frozenset(domains) for domains in plain["booked"]),
            references=tuple(plain["references"]),
            tokenized_references=tuple(plain["tokenized_references"]),
            user_utterances=tuple(plain["user_utterances"]),
            states=tuple(plain["states"]),
            alternatives=tuple(plain["alternatives"]),
            system_utterances=tuple(plain["system_utterances"]),
        )


def goal_from_json(plain: Mapping[str, Any]) -> Goal:
    """Read one domain's goal in the form of a ready-made `goals.json`.

    Raises `TypeError` or `AttributeError` when it does not have that form.
    """
    informable = plain.get("informable", {})
    if not all(isinstance(value, str) for value in informable.values()):
        raise TypeError("the value of an informable slot must be text")
    return Goal(
        informable=informable,
        requestable=frozenset(plain.get("requestable", ())),
        booking=booking_of(plain.get("booking")),
    )


BOOKING_FLAGS = frozenset({"invalid", "pre_invalid"})
"""Keys of a goal's `book` that are no slots: whether the booking was to fail, at first or at all.

The annotated dialogues book all the same, since there is nothing that keeps track of free rooms.
"""


def booking_of(
    book: Any, tried_first: Mapping[str, str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the values that each booking slot may have, of a goal's `book` and `fail_book`.

    Ready-made goals come from many hands: a `book` that is no object says nothing of the slots.
    """
    accepted = {}
    for slot, value in book.items() if isinstance(book, Mapping) else ():
        if slot in BOOKING_FLAGS:
            continue
        values = list(value) if isinstance(value, list | tuple) else [value]
        if tried_first and slot in tried_first:
            values.append(tried_first[slot])
        accepted[slot] = tuple(dict.fromkeys(str(text) for text in values))
    return accepted


def dialogue_id(name: str) -> str:
    """Return the id of a MultiWOZ file name: `SNG0073.json` → `sng0073`."""
    return name.partition(".")[0].lower()


REQUESTS = {"phone": "PHONE", "address": "ADDRESS", "postcode": "POST", "reference": "REFERENCE"}
"""Requested slots that count; whoever asks only for, say, the entrance fee asks for nothing."""

TRAIN_REQUESTS = {"trainID": "TRAINID"}


def goals_of(annotated: Mapping[str, Any]) -> dict[str, Goal]:
    """Return the goal per domain of a dialogue's `goal` annotation; empty domains are left out."""
    return {
        domain: _goal(domain, annotated[domain]) for domain in ALL_DOMAINS if annotated.get(domain)
    }


def _goal(domain: str, annotated: Mapping[str, Any]) -> Goal:
    requests = TRAIN_REQUESTS if domain == "train" else REQUESTS
    requestable = {requests[slot] for slot in annotated.get("reqt", ()) if slot in requests}
    if annotated.get("book"):
        requestable.add("REFERENCE")
    informable = {
        normalize_slot(slot): str(value) for slot, value in annotated.get("info", {}).items()
    }
    booking = booking_of(annotated.get("book"), annotated.get("fail_book"))
    return Goal(informable, frozenset(requestable), booking)


def booked_domains_of(log: list[Mapping[str, Any]]) -> tuple[frozenset[str], ...]:
    """Return the domains booked by each system turn of a dialogue's `log`.

    A taxi has no reference number, so its bookings do not count.
    """
    return tuple(
        frozenset(
            domain
            for domain, slots in turn["metadata"].items()
            if domain != "taxi" and slots.get("book", {}).get("booked")
        )
        for turn in log[1::2]
    )
