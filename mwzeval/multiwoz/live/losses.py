"""Why a live dialogue has failed its user: the kinds of loss, each with the sentence that tells it.

Kinds that the grounded scores know have their names (`mwzeval.multiwoz.grounding.reasons`).
"""

from __future__ import annotations

from mwzeval.conversation.trajectory import Trajectory
from mwzeval.scores.explanation import Reason
from mwzeval.scores.score import WHOLE

INFORM, SUCCESS, BOOKING, TOLD = "inform", "success", "booking", "reference"

ENDED = {"agent_error": "agent-error", "user_error": "user-error", "limit": "limit"}
"""How a dialogue may end before the user is done → the kind of loss."""

SENTENCES = {
    "agent-error": "The agent failed in turn {turn}: {said}",
    "user-error": "The user failed after turn {turn}: {said}",
    "limit": "The dialogue met its limit: {said}",
    "named-nothing": "The agent names no {domain}.",
    "named-unknown": "Turn {turn} names {said}, and the database has no such {domain}.",
    "named-wrong": "Turn {turn} names {said}, which is not what the user wants{unmet}.",
    "booked-wrong": "The {domain} booked is {said}, which is not what the user wants{unmet}.",
    "ride-untold": "Nothing is said of the {slot} that the ride has to have ({wanted}).",
    "ride-wrong": "The taxi is ordered with {slot} {said}, and the user wants {wanted}.",
    "never-said": "The user asks for the {slot} of the {domain}, and the agent never says it.",
    "said-wrong": "Turn {turn} says {said}, but the {slot} of {venue} is {right}.",
    "invented": "Turn {turn} says {said}, a {slot} that no {domain} was booked with{right}.",
    "not-booked": "The {domain} is never booked.",
    "booked-otherwise": "The {domain} is booked with {slot} {said}, and the user wants {wanted}.",
}
"""Every kind of loss, and the sentence that tells a particular one."""

SHOWN = 3
"""So many values are told before the rest is left out."""


def loss(
    kind: str, outcome: str, domain: str, turn: int | None, slot: str | None = None, **words: str
) -> Reason:
    """Return a loss: `slot` is the detail of its code, `words` fill the sentence of its kind."""
    code = kind if slot is None else f"{kind}:{slot}"
    text = SENTENCES[kind].format(domain=domain, turn=turn, slot=slot, **words)
    return Reason(code, outcome, domain, turn, text)


def of_end(dialogue: Trajectory, turns: int) -> tuple[Reason, ...]:
    """Return the loss of a dialogue of so many turns that ended before the user was done."""
    kind = ENDED.get(dialogue.end)
    if kind is None:
        return ()
    turn = turns - 1 if turns else None
    text = SENTENCES[kind].format(turn=turn, said=dialogue.problem or "nobody says why")
    return (Reason(kind, SUCCESS, WHOLE, turn, text),)


def listed(values: tuple[str, ...], otherwise: str = "unknown") -> str:
    """Return the first of some values for a sentence."""
    return ", ".join((*values[:SHOWN], *(("…",) if len(values) > SHOWN else ()))) or otherwise
