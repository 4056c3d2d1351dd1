"""Transcripts: a live dialogue prepared for the judge, with mentions, calls, bookings and wishes.

Messages and calls that cannot be interpreted are ignored here, for example calls of unknown
functions. The checks of the file report messages and calls that cannot be interpreted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mwzeval.conversation.messages import ChatMessage
from mwzeval.multiwoz import Rules
from mwzeval.multiwoz.formats import Conversation
from mwzeval.multiwoz.functions import OUR_TOOLS, Tools
from mwzeval.multiwoz.grounding.claims import CHECKED, SystemTurn
from mwzeval.multiwoz.grounding.log import Returned, returned_by
from mwzeval.multiwoz.grounding.statements import SENTENCE
from mwzeval.multiwoz.normalization import State, normalize_states
from mwzeval.multiwoz.predictions import Booking, FunctionCall
from mwzeval.multiwoz.schema import NAMED_BY
from mwzeval.multiwoz.words.delexicalize import Delexicalizer, with_numbers_of_taxis
from mwzeval.multiwoz.words.names import with_unknown_names
from mwzeval.multiwoz.words.recognition import YES
from mwzeval.multiwoz.words.text import Mention
from mwzeval.multiwoz.words.vocabulary import PATTERNS, domain_words, has
from mwzeval.scores.findings import Findings

TAXI, HOTEL = "taxi", "hotel"
CONSTRAINTS = {
    **{
        domain: frozenset(slots) - {"address", "phone", "postcode", "price", "duration"}
        for domain, slots in CHECKED.items()
    },
    TAXI: frozenset({"departure", "destination", "leaveat", "arriveby"}),
}
"""Maps a domain to the slots by which users choose a venue."""
OWN_NAMES = {"tickets": "people", "refer_number": "reference", "reference_number": "reference"}
"""Maps slot names in booking records of other programs to mwzeval's names."""


@dataclass(frozen=True, slots=True)
class Exchange(SystemTurn):
    """One turn of user and agent: a user message, and all actions of the agent until the next user
    message.

    `domains` are the domains of this turn, beginning with the most certain domain. The belief state
    is derived from all calls so far or, if the agent calls no functions, from the user's messages.
    A booking whose turn is unknown is assigned to every turn.
    """

    user: str = ""
    user_mentions: Sequence[Mention] = ()
    domains: tuple[str, ...] = ()


class TurnBooking(NamedTuple):
    """A booking, and the number of its turn, which is None if the turn is unknown.

    `returned` is the result of the booking call, or None if there is no result.
    """

    turn: int | None
    booking: Booking
    returned: Returned | None


class Transcript(NamedTuple):
    """The turns of a dialogue and its bookings, in order."""

    exchanges: tuple[Exchange, ...]
    bookings: tuple[TurnBooking, ...]


def read_transcript(
    messages: Iterable[ChatMessage],
    delexicalizer: Delexicalizer,
    rules: Rules,
    bookings: object = None,
    domains: Sequence[str] = (),
    tools: Tools = OUR_TOOLS,
) -> Transcript:
    """Return the transcript of a dialogue; malformed messages do not cause an error.

    An agent with its own tools reports `bookings`. `domains` are the domains of the goal. If the
    goal has only one domain, every turn is about this domain.
    """
    conversation, turns = _conversation(messages, tools)
    users, agents = conversation.asked, [turn["response"] for turn in turns]
    calls = list(map(_calls, turns))
    topics: list[tuple[str, ...]] = []
    made: list[TurnBooking] = []
    about = only = tuple(domains) if len(domains) == 1 else ()
    for number, (user, of_turn) in enumerate(zip(users, calls, strict=True)):
        called = []
        for call in of_turn:
            kind, _, domain = call.function.partition("_")
            called.append(domain)
            if kind == "book":
                returned = returned_by(call)
                if not (returned and returned.has_failed):
                    made.append(TurnBooking(number, Booking(domain, call.arguments), returned))
        about = tuple(dict.fromkeys(reversed(called))) or only or domains_in(user) or about
        topics.append(about)
    of_users: list[Sequence[Mention]]
    made += [TurnBooking(None, booking, None) for booking in reported_bookings(bookings)]
    if any(calls):
        states = normalize_states([turn["state"] for turn in turns], rules)
        found = _completed(
            agents, topics, delexicalizer.mentions(agents, states, topics), delexicalizer
        )
        of_users = [*_choices(users, states, topics, found, delexicalizer)]
    else:
        # User messages help to interpret the agent's messages, so they are parsed together.
        texts = [text for pair in zip(users, agents, strict=True) for text in pair]
        twice = [domains for domains in topics for _ in range(2)]
        both = list(delexicalizer.mentions(texts, [{}] * len(texts), twice))
        of_users = [*both[::2]]
        states = normalize_states(_wishes(users, topics, of_users), rules)
        found = _completed(agents, topics, both[1::2], delexicalizer)
    booked = (
        frozenset(b.booking.domain for b in made if (b.turn or 0) <= number)
        for number in range(len(agents))
    )
    columns = agents, states, found, booked, calls, users, of_users, topics
    return Transcript(tuple(map(Exchange, *columns)), tuple(made))


def calls_by_turn(
    messages: Iterable[ChatMessage], tools: Tools = OUR_TOOLS
) -> list[tuple[FunctionCall, ...]]:
    """Return the agent's tool calls in each turn of a conversation."""
    return list(map(_calls, _conversation(messages, tools)[1]))


def _conversation(
    messages: Iterable[ChatMessage], tools: Tools
) -> tuple[Conversation, list[dict[str, Any]]]:
    conversation = Conversation("", Findings(), tools)
    for position, message in enumerate(messages):
        conversation.add(message, position)
    return conversation, [turn for _, turn in conversation.end()]


def _calls(turn: Mapping[str, Any]) -> tuple[FunctionCall, ...]:
    return tuple(
        FunctionCall(raw["function"], raw["arguments"], raw.get("result"), raw.get("slots", {}))
        for raw in turn.get("calls", ())
    )


def domains_in(text: str) -> tuple[str, ...]:
    """Return the domains mentioned in a text, in order of mention; a taxi ride is always first."""
    found = dict.fromkeys(
        str(match.lastgroup) for match in domain_words("judge domain", r"\b").finditer(text.lower())
    )
    return tuple(sorted(found, key=lambda domain: domain != TAXI))


def reported_bookings(bookings: object) -> list[Booking]:
    """Return the bookings of the form {"domain", "slots"}, and leave out all other values."""
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
    """Return the slots of a reported booking under mwzeval's names."""
    slots = {str(slot): str(value) for slot, value in raw.items()}
    if any(slot.lower() == "trainid" for slot in slots):
        slots.pop("id", None)  # this is the id of the record, not of the train
    return {OWN_NAMES.get(slot.lower(), slot): value for slot, value in slots.items()}


def _choices(
    users: Sequence[str],
    states: Sequence[State],
    topics: Sequence[tuple[str, ...]],
    found: Sequence[Sequence[Mention]],
    delexicalizer: Delexicalizer,
) -> Iterator[Sequence[Mention]]:
    """Yield the user's mentions in turns that may choose a venue: after a list, or with a name.

    Other turns are not parsed, because parsing takes as long as for the agent's messages.
    """
    names: set[str] = set()
    is_listed = False
    for user, state, domains, mentions in zip(users, states, topics, found, strict=True):
        names |= {slots["name"] for slots in state.values() if "name" in slots}
        low = user.lower()
        if is_listed or any(name in low for name in names):
            yield from delexicalizer.mentions([user], [state], [domains])
        else:
            yield ()
        named = {
            mention.text.lower().removeprefix("the ")
            for mention in mentions
            if mention.slot in NAMED_BY.values()
        }
        if mentions:
            is_listed = len(named) > 1
        names |= named


def _completed(
    agents: Sequence[str],
    topics: Sequence[tuple[str, ...]],
    found: Iterable[Sequence[Mention]],
    delexicalizer: Delexicalizer,
) -> list[Sequence[Mention]]:
    """Add taxi numbers, and names that are not in the database, to the agent's mentions."""
    completed: list[Sequence[Mention]] = []
    has_taxi = False
    for agent, domains, mentions in zip(agents, topics, found, strict=True):
        named = with_unknown_names(agent, mentions, domains, delexicalizer.gazetteer)
        has_taxi = has_taxi or TAXI in domains
        completed.append(tuple(with_numbers_of_taxis(named, agent)) if has_taxi else named)
    return completed


def _wishes(
    users: Iterable[str],
    topics: Iterable[tuple[str, ...]],
    mentions: Iterable[Sequence[Mention]],
) -> Iterator[State]:
    """Yield, after each user message, the state that follows from the user's messages so far."""
    state: dict[str, Mapping[str, str]] = {}
    for user, domains, of_user in zip(users, topics, mentions, strict=True):
        about = domains[:1]
        wishes: list[tuple[str, dict[str, str]]] = [(domain, {}) for domain in about]
        if HOTEL in about or HOTEL in domains_in(user):
            wishes.append((HOTEL, dict(_amenities(user))))
        for mention in of_user:
            domain = mention.domain or next(iter(about), "")
            # Guesthouses are also called hotels.
            is_generic = mention.slot == "type" and mention.text.lower() == HOTEL
            if mention.slot in CONSTRAINTS.get(domain, ()) and not is_generic:
                wishes.append((domain, {mention.slot: mention.value or mention.text}))
        for domain, slots in wishes:
            state = {**state, domain: {**state.get(domain, {}), **slots}}
        yield state


def _amenities(text: str) -> Iterator[tuple[str, str]]:
    """Yield the hotel amenities that a user wishes for, which the claim patterns do not cover."""
    for sentence in SENTENCE.finditer(text):
        if not has("user wishes for none", sentence[0]):
            for match in PATTERNS["user amenity"].finditer(sentence[0]):
                yield ("parking" if match["parking"] else "internet"), YES
