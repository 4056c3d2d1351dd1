"""Why a domain was lost: the kinds of reason, each with its repair and the sentence that tells it.

Nothing is guessed from the outcome: a loss comes with a pure function on what the scorer judges,
and the scorer's own steps say which are needed (`losses.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mwzeval.multiwoz.scoring.repairs import Repair

ON_OFFER, PROVIDED = "on offer", "provided"
"""Labels of the facts that tell what is on offer after a turn, and what a turn provides."""


class Kind(NamedTuple):
    """A kind of loss: what repairs it, and how a particular one is told.

    When it is one is told by `MEANINGS` of `mwzeval.multiwoz.reasons`. `evidence` is the label of
    the facts that a turn has where there is no such loss.
    """

    repair: str
    sentence: str
    evidence: str = ""


KINDS = {
    "no-venue-offered": Kind(
        "a turn has the placeholder that offers one",
        "No turn about the {domain} offers a venue: none has {placeholder}{elsewhere}.",
        ON_OFFER,
    ),
    "not-offered-again": Kind(
        "a later turn has the placeholder that offers a venue",
        "Turn {before} makes the last offer for the {domain}, when the user {then}:"
        " no turn since has {placeholder}{elsewhere}.",
        ON_OFFER,
    ),
    "domain-not-active": Kind(
        "the domain is active in that turn",
        "The {domain} is not active in turn {turn}{which} (active: {active}).",
    ),
    "no-state": Kind(
        "the state has the domain, with the goal's constraints",
        "The state of turn {turn} says nothing of the {domain}, so no venue is found to offer.",
    ),
    "no-venue-matches-state": Kind(
        "the slots named have the goal's values, or are gone where the goal has none",
        "No venue matches the state of turn {turn} ({state}); the goal says: {changes}.",
    ),
    "wrong-constraint": Kind(
        "the slot has the goal's value from that turn on",
        "The state of turn {turn} has {slot}={value}, the goal {slot}={wanted}{too}.",
    ),
    "missing-constraint": Kind(
        "the slot has the goal's value from that turn on",
        "The state of turn {turn} lacks {slot}={wanted}, which the goal has{too}.",
    ),
    "misplaced-constraint": Kind(
        "the value is in the goal's slot, and no longer in the other, from that turn on",
        "The state of turn {turn} has {other}={wanted}, the goal {slot}={wanted}{too}.",
    ),
    "extra-constraint": Kind(
        "the slot is gone from that turn on",
        "The state of turn {turn} has {slot}={value}, unlike the goal,"
        " and so excludes what satisfies it{too}.",
    ),
    "name-lost": Kind(
        "the state has the name from that turn on",
        "The state of turn {turn} lacks name={value}, which had been settled on,"
        " so too much is on offer.",
    ),
    "unsatisfiable-goal": Kind(
        "the goal asks for no offer",
        "No venue in the database satisfies the goal for the {domain}: no system can inform.",
    ),
    "never-gave": Kind(
        "a turn has the slot's placeholder",
        "No turn about the {domain} gives its {slot}: none has {placeholder}{elsewhere}.",
        PROVIDED,
    ),
    "gave-before-booked": Kind(
        "the domain is booked by that turn",
        "Turn {turn} gives the {slot} while the {domain} is not booked"
        " (by the annotation it is at turn {booked}).",
    ),
    "never-booked": Kind(
        "the domain is booked by a turn",
        "By the annotation the {domain} is booked in none of the turns predicted,"
        " so that no {slot} counts.",
        PROVIDED,
    ),
}
"""Every kind of loss, in the order in which they are explained (see docs/reasons.md)."""

SLOT_NAMES = {"POST": "postcode"}
"""Canonical placeholders whose lower-case name is not what they are called."""

IN_WORDS = {
    "NAME": "a name",
    "TRAINID": "a train's id",
    "PHONE": "a phone number",
    "ADDRESS": "an address",
    "POST": "a postcode",
    "REFERENCE": "a reference number",
}
"""What a response in words says where a delexicalised one has a placeholder."""


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """Something for want of which a domain's outcome was lost, with the repair.

    A domain is won when all its losses for an outcome are repaired, and not when one is left out.
    `detail` is the slot concerned, where the kind has one; `words` fill the kind's sentence.
    `then` says what the user wanted by the annotation of the turn, where that is what the state has
    and not what the goal has; it is empty where the annotation does not excuse the state.
    """

    kind: str
    outcome: str
    domain: str
    turn: int | None
    repair: Repair
    words: Mapping[str, object]
    detail: str | None = None
    then: str = ""

    @property
    def code(self) -> str:
        """The kind, with the detail behind a colon."""
        return self.kind if self.detail is None else f"{self.kind}:{self.detail}"

    @property
    def text(self) -> str:
        """The loss in a sentence."""
        words = {"domain": self.domain, "turn": self.turn, "slot": self.detail, **self.words}
        words["too"] = " (as the annotation of that turn has it)" if self.then else ""
        return KINDS[self.kind].sentence.format(**words)
