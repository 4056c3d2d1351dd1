"""What a MultiWOZ turn offers and provides, and which offers satisfy a goal.

The rules of the benchmark; what follows from them is in `mwzeval.metrics.goal_success`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from mwzeval.metrics.goal_success import DomainGoal, DomainTurn, NeedsOffer
from mwzeval.multiwoz.corpus.gold import Goal
from mwzeval.multiwoz.database.venues import Database
from mwzeval.multiwoz.normalization.normalize import State

OFFERED_BY = {"restaurant": "NAME", "hotel": "NAME", "attraction": "NAME", "train": "TRAINID"}
"""The placeholder with which a turn offers a venue of the domain."""
PROVIDABLE = ("PHONE", "ADDRESS", "POST", "REFERENCE", "TRAINID")
_MARKERS = frozenset(OFFERED_BY.values())
WITHOUT_OFFER = frozenset({"taxi", "police", "hospital"})
"""Domains without a choice of venues."""


class NormalizedTurn(NamedTuple):
    """A turn ready for scoring; `response` holds canonical placeholders (spacing as it came)."""

    response: str
    state: State
    active_domains: tuple[str, ...]


def prepare_goal(goal: Mapping[str, Goal], database: Database) -> dict[str, DomainGoal]:
    """Return what each domain of a goal asks for, with the venues that satisfy it looked up."""
    return {
        domain: DomainGoal(
            satisfying=frozenset(database.query(domain, wanted.informable)),
            requested=wanted.requestable,
            needs_offer=_needs_offer(domain, wanted),
        )
        for domain, wanted in goal.items()
    }


def _needs_offer(domain: str, goal: Goal) -> NeedsOffer:
    if domain in WITHOUT_OFFER or "name" in goal.informable:
        # Whoever asks for a venue by name needs no offer of one.
        return NeedsOffer.NEVER
    if domain == "train" and "TRAINID" not in goal.requestable:
        return NeedsOffer.IF_MADE
    return NeedsOffer.ALWAYS


def dialogue_acts(
    goal: Mapping[str, object],
    turns: Iterable[NormalizedTurn],
    booked: Iterable[frozenset[str]],
    database: Database,
) -> Iterator[dict[str, DomainTurn]]:
    """Yield what each turn does in the active domains of the goal.

    `booked` are the domains booked by each turn in the gold annotation: a reference number given
    before cannot be the right one.
    """
    for turn, booked_domains in zip(turns, booked, strict=False):
        said = said_in(turn.response)
        acts = {}
        if said.anything:
            for domain in turn.active_domains:
                if domain in goal:
                    given = said.provided if domain in booked_domains else said.before_booking
                    acts[domain] = DomainTurn(found_by(domain, turn, database), given)
        yield acts


class Said(NamedTuple):
    """What a (canonical) response has placeholders for, anywhere in the text.

    `provided` are slots, `before_booking` those of them that count where nothing is booked.
    """

    anything: bool
    provided: frozenset[str]
    before_booking: frozenset[str]


@lru_cache(maxsize=2**14)
def said_in(response: str) -> Said:
    """Return what a response says that Inform and Success look for."""
    provided = frozenset([slot for slot in PROVIDABLE if slot in response])
    offers = any(marker in response for marker in _MARKERS)
    return Said(offers or bool(provided), provided, provided - {"REFERENCE"})


def found_by(domain: str, turn: NormalizedTurn, database: Database) -> tuple[str, ...] | None:
    """Return the venues that a turn may be offering, None when it offers nothing."""
    marker = OFFERED_BY.get(domain)
    if marker is None or marker not in turn.response:
        return None
    if domain not in turn.state:
        return ()
    # (odd) The query normalises once more, which is not always the same as once: "1:30 pm." is
    # "1:30pm" in the state and 13:30 in the query.
    return database.find(domain, turn.state[domain])
