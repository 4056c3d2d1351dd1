"""What is mentioned in a live dialogue on either side, and what the user wants at each exchange."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.grounding.claims import NAMING
from mwzeval.multiwoz.grounding.counts import SENTENCE
from mwzeval.multiwoz.grounding.responses import CHECKED
from mwzeval.multiwoz.live.verdicts.transcript import TAXI, Exchange, Transcript, domains_told
from mwzeval.multiwoz.normalization.normalize import State, normalize_states
from mwzeval.multiwoz.words.amenities import YES
from mwzeval.multiwoz.words.delexicalize import Delexicalizer, with_numbers_of_taxis
from mwzeval.multiwoz.words.names import with_unknown_names
from mwzeval.multiwoz.words.text import Mention


class Spoken(NamedTuple):
    """An exchange in words, with what is mentioned on either side."""

    user: str
    agent: str
    asked: Sequence[Mention]
    said: Sequence[Mention]
    domains: tuple[str, ...]


def read(
    transcript: Transcript, delexicalizer: Delexicalizer, rules: Rules
) -> tuple[list[Spoken], list[State]]:
    """Return what is mentioned in a dialogue, and its states (normalised).

    Where the agent calls functions the state is what these were told; where it calls none, what
    the user has said.
    """
    exchanges = transcript.exchanges
    states = normalize_states((one.state for one in exchanges), rules)
    if transcript.has_calls:
        domains = [one.domains for one in exchanges]
        found = list(delexicalizer.mentions([one.agent for one in exchanges], states, domains))
        said = _with_unknown(transcript, found, delexicalizer)
        asked = _chosen(exchanges, said, states, delexicalizer)
    else:
        # What the user has said tells as well what the agent's words mean.
        twice = [one for one in exchanges for _ in range(2)]
        texts = [text for one in exchanges for text in (one.user, one.agent)]
        domains = [one.domains for one in twice]
        found = list(delexicalizer.mentions(texts, [{}] * len(twice), domains))
        asked = list[Sequence[Mention]](found[::2])
        said = _with_unknown(transcript, found[1::2], delexicalizer)
        states = normalize_states(_told(exchanges, asked), rules)
    spoken = [
        Spoken(one.user, one.agent, of_user, of_agent, one.domains)
        for one, of_user, of_agent in zip(exchanges, asked, said, strict=True)
    ]
    return spoken, states


def _with_unknown(
    transcript: Transcript, found: Iterable[Sequence[Mention]], delexicalizer: Delexicalizer
) -> list[tuple[Mention, ...]]:
    """Return the agent's mentions with names that no venue has, and numbers of taxis."""
    said = []
    has_taxi = False
    for one, mentions in zip(transcript.exchanges, found, strict=True):
        named = with_unknown_names(one.agent, mentions, one.domains, delexicalizer.gazetteer)
        has_taxi = has_taxi or TAXI in one.domains
        said.append(tuple(with_numbers_of_taxis(named, one.agent)) if has_taxi else named)
    return said


def _chosen(
    exchanges: Sequence[Exchange],
    said: Sequence[Sequence[Mention]],
    states: Sequence[State],
    delexicalizer: Delexicalizer,
) -> list[Sequence[Mention]]:
    """Return what the user mentions where it may be a choice: after a list, or with a name in it.

    To read all of it takes as long as to read the agent's words.
    """
    asked: list[Sequence[Mention]] = []
    names: set[str] = set()
    listed = False
    for one, of_turn, state in zip(exchanges, said, states, strict=True):
        names |= {slots["name"] for slots in state.values() if "name" in slots}
        low = one.user.lower()
        mentions: Sequence[Mention] = ()
        if listed or any(name in low for name in names):
            (mentions,) = delexicalizer.mentions([one.user], [state], [one.domains])
        asked.append(mentions)
        now = {m.text.lower().removeprefix("the ") for m in of_turn if m.slot in NAMING}
        if now or of_turn:
            listed = len(now) > 1
        names |= now
    return asked


def _told(exchanges: Iterable[Exchange], asked: Iterable[Sequence[Mention]]) -> Iterator[State]:
    """Yield the state after each message of the user, of what the user has said so far."""
    state: dict[str, Mapping[str, str]] = {}
    for one, mentions in zip(exchanges, asked, strict=True):
        for domain in one.domains[:1]:
            state = {**state, domain: state.get(domain, {})}
        if HOTEL in one.domains[:1] or HOTEL in domains_told(one.user):
            state = {**state, HOTEL: {**state.get(HOTEL, {}), **dict(_amenities(one.user))}}
        for mention in mentions:
            domain = mention.domain or next(iter(one.domains), "")
            # Guesthouses are called hotels as well.
            is_generic = mention.slot == "type" and mention.text.lower() == HOTEL
            if mention.slot in CONSTRAINTS.get(domain, ()) and not is_generic:
                value = mention.value or mention.text
                state = {**state, domain: {**state.get(domain, {}), mention.slot: value}}
        yield state


def _amenities(text: str) -> Iterator[tuple[str, str]]:
    """Yield the amenities of a hotel that a user wishes for; words for claims do not find them."""
    for sentence in SENTENCE.finditer(text):
        if not _UNWISHED.search(sentence[0]):
            for match in _AMENITY.finditer(sentence[0]):
                yield ("parking" if match["parking"] else "internet"), YES


HOTEL = "hotel"
_AMENITY = re.compile(r"\b(?:wi-?\s?fi|internet|wireless|(?P<parking>parking))\b", re.IGNORECASE)
_UNWISHED = re.compile(
    r"\b(?:does|do they|has it|no|not|without|neither|nor|matter|care|mind)\b|n['’]?t\b",
    re.IGNORECASE,
)
"""What makes a sentence about an amenity a question, or no wish."""

CONSTRAINTS = {
    **{
        domain: frozenset(slots) - {"address", "phone", "postcode", "price", "duration"}
        for domain, slots in CHECKED.items()
    },
    TAXI: frozenset({"departure", "destination", "leaveat", "arriveby"}),
}
"""What users choose by, in words."""
