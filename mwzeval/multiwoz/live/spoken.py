"""What is mentioned in a live dialogue on either side, and what the user wants at each exchange."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.grounding.responses import CHECKED
from mwzeval.multiwoz.live.transcript import TAXI, Exchange, Transcript
from mwzeval.multiwoz.normalization.normalize import State, normalize_states
from mwzeval.multiwoz.words.delexicalization import Delexicalizer
from mwzeval.multiwoz.words.number_meanings import with_numbers_of_taxis
from mwzeval.multiwoz.words.text import Mention
from mwzeval.multiwoz.words.venue_names import with_unknown_names


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
    texts = [text for one in exchanges for text in (one.user, one.agent)]
    called = normalize_states((one.state for one in exchanges), rules)
    states = [state for state in called for _ in range(2)]
    domains = [one.domains for one in exchanges for _ in range(2)]
    found = [one.mentions for one in delexicalizer.dialogue(texts, states, domains)]
    gazetteer = delexicalizer.gazetteer
    spoken = [
        Spoken(
            one.user,
            one.agent,
            found[2 * turn],
            _of_taxi(
                one, with_unknown_names(one.agent, found[2 * turn + 1], one.domains, gazetteer)
            ),
            one.domains,
        )
        for turn, one in enumerate(exchanges)
    ]
    if not transcript.has_calls:
        called = normalize_states(_told(spoken), rules)
    return spoken, called


def _of_taxi(exchange: Exchange, said: tuple[Mention, ...]) -> tuple[Mention, ...]:
    if TAXI not in (*exchange.state, *exchange.domains):
        return said
    return tuple(with_numbers_of_taxis(said, exchange.agent))


def _told(spoken: Iterable[Spoken]) -> Iterator[State]:
    """Yield the state after each message of the user, of what the user has said so far."""
    state: dict[str, Mapping[str, str]] = {}
    for one in spoken:
        for domain in one.domains[:1]:
            state = {**state, domain: state.get(domain, {})}
        for mention in one.asked:
            domain = mention.domain or next(iter(one.domains), "")
            if mention.slot in CONSTRAINTS.get(domain, ()):
                value = mention.value or mention.text
                state = {**state, domain: {**state.get(domain, {}), mention.slot: value}}
        yield state


CONSTRAINTS = {
    **{
        domain: frozenset(slots) - {"address", "phone", "postcode", "price", "duration"}
        for domain, slots in CHECKED.items()
    },
    TAXI: frozenset({"departure", "destination", "leaveat", "arriveby"}),
}
"""What users choose by, in words."""
