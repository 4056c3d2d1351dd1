"""A live dialogue as it is judged: the user's words, the agent's answers, calls and bookings.

What cannot be understood of a message (an unknown function, arguments that are no JSON) is left
out: whoever checks files says so, and an agent that calls what there is not has called nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mwzeval.multiwoz.formats.functions import OUR_TOOLS, Tools
from mwzeval.multiwoz.formats.messages import Conversation
from mwzeval.multiwoz.grounding.tool_results import Returned, returned_by
from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.predictions.reading import Booking, ToolCall
from mwzeval.scores.findings import Findings

TAXI = "taxi"
_SPOKEN_OF = {
    TAXI: r"taxis?|cabs?",
    "train": r"trains?|railway",
    "restaurant": (
        r"restaurants?|foods?|dine|dining|dinner|lunch|eat|eating|eatery|cuisine|tables?|meal"
        r"|brasserie|bistro"
    ),
    "hotel": (
        r"hotels?|guest ?houses?|lodgings?|hostels?|(?:place|somewhere) to stay|accommodations?"
        r"|rooms?|nights?|b&b|bed and breakfasts?"
    ),
    "attraction": (
        r"attractions?|museums?|colleges?|parks?|theat(?:re|er)s?|cinemas?|night ?clubs?"
        r"|galler(?:y|ies)|swimming ?pools?|church(?:es)?|gardens?|concert ?halls?|architecture"
        r"|boats?|entertainment|(?:places?|somewhere|something) to (?:go|visit|see|do)"
        r"|things to do|sightseeing"
    ),
    "hospital": r"hospital|department|emergency room",
    "police": r"police",
}
"""Domain → words that tell that it is spoken of."""
_WORDS = re.compile(
    r"\b(?:" + "|".join(f"(?P<{domain}>{words})" for domain, words in _SPOKEN_OF.items()) + r")\b"
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the user says, and all that the agent does until the user speaks again.

    `state` is the one that the calls so far amount to (not normalised), and `domains` are what the
    exchange is about, the surest first.
    """

    user: str
    agent: str
    calls: tuple[ToolCall, ...]
    state: State
    domains: tuple[str, ...]


class Made(NamedTuple):
    """A booking that was made: in which exchange, None where that is not known.

    `returned` is what the call returned, None where there is no such result.
    """

    turn: int | None
    booking: Booking
    returned: Returned | None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The exchanges of a dialogue and the bookings made in it, in their order.

    `has_calls` tells whether the agent has called any function.
    """

    exchanges: tuple[Exchange, ...]
    made: tuple[Made, ...]
    has_calls: bool

    @classmethod
    def of(
        cls,
        messages: Iterable[Any],
        bookings: object = None,
        domains: Sequence[str] = (),
        tools: Tools = OUR_TOOLS,
    ) -> Transcript:
        """Read messages; `bookings` are those of an agent that keeps its own tools.

        `domains` are those of the goal: what is spoken of where there is only one. Never raises.
        """
        conversation = Conversation("", Findings(), tools)
        turns = [turn for _, turn in conversation.read(messages)]
        exchanges: list[Exchange] = []
        made: list[Made] = []
        only = tuple(domains) if len(domains) == 1 else ()
        about = only
        for number, (user, turn) in enumerate(zip(conversation.asked, turns, strict=True)):
            calls = tuple(_call(record) for record in turn.get("calls", ()))
            called = tuple(dict.fromkeys(_domain(call) for call in reversed(calls)))
            about = called or only or domains_told(user) or about
            exchanges.append(Exchange(user, turn["response"], calls, turn["state"], about))
            made += _made(number, calls)
        made += [Made(None, booking, None) for booking in reported_bookings(bookings)]
        return cls(tuple(exchanges), tuple(made), any(one.calls for one in exchanges))


def domains_told(text: str) -> tuple[str, ...]:
    """Return the domains that a text speaks of, in the order of the text; a ride before all."""
    told = dict.fromkeys(str(match.lastgroup) for match in _WORDS.finditer(text.lower()))
    return tuple(sorted(told, key=lambda domain: domain != TAXI))


def _call(record: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        record["function"], record["arguments"], record.get("result"), record.get("slots", {})
    )


def _domain(call: ToolCall) -> str:
    return call.function.partition("_")[2]


def _made(number: int, calls: Iterable[ToolCall]) -> list[Made]:
    made = []
    for call in calls:
        kind, _, domain = call.function.partition("_")
        if kind == "book":
            returned = returned_by(call)
            if not (returned and returned.has_failed):
                made.append(Made(number, Booking(domain, call.arguments), returned))
    return made


def reported_bookings(bookings: object) -> list[Booking]:
    """Return bookings of the form {"domain", "slots"}; what has another form is none."""
    if not isinstance(bookings, list | tuple):
        return []
    return [
        Booking(raw["domain"], _slots(raw["slots"]))
        for raw in bookings
        if isinstance(raw, Mapping)
        and isinstance(raw.get("domain"), str)
        and isinstance(raw.get("slots"), Mapping)
    ]


def _slots(raw: Mapping[Any, Any]) -> dict[str, str]:
    """Return the slots of a reported booking, by our names where other programs have their own."""
    slots = {str(slot): str(value) for slot, value in raw.items()}
    if any(slot.lower() == "trainid" for slot in slots):
        slots.pop("id", None)  # the record's, not the train's
    return {OWN_NAMES.get(slot.lower(), slot): value for slot, value in slots.items()}


OWN_NAMES = {"tickets": "people", "refer_number": "reference", "reference_number": "reference"}
"""What is called otherwise in records of bookings."""
