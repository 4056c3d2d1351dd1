"""What a user replies to questions and to offers of several."""

from __future__ import annotations

from collections.abc import Sequence

from mwzeval.multiwoz.convlab.acts import NONE, Act
from mwzeval.multiwoz.convlab.draws import UserDraws
from mwzeval.multiwoz.live.agenda_user.hearing import CHOICE
from mwzeval.multiwoz.live.agenda_user.pursuit import Pursuit
from mwzeval.multiwoz.schema import ALL_BOOKING_SLOTS

Reply = tuple[str, str]
"""Slot and value."""

_OTHER_TIME = {"leaveAt": "arriveBy", "arriveBy": "leaveAt"}
_ONE = frozenset({"1", "one"})
_ANY: Reply = (CHOICE, "any")


def answer_to(pursuit: Pursuit, slot: str) -> Reply | None:
    """Return the answer to the question for a slot: what is wanted, or that it does not matter.

    None for what the user itself wants to know.
    """
    if slot in pursuit.requests or slot in ("ref", NONE):
        return None
    if slot == CHOICE:
        return _ANY
    wishes = pursuit.wishes
    if slot in wishes:
        return slot, wishes[slot]
    other = _OTHER_TIME.get(slot, "")
    if other in pursuit.pending():
        return other, wishes[other]
    if slot in ALL_BOOKING_SLOTS and "book" not in pursuit.wanted:
        return "NotBook", NONE
    return slot, "dontcare"


def choice_among(pursuit: Pursuit, told: Sequence[Act], draws: UserDraws) -> Reply | None:
    """Return the choice among several that are offered: a wish, or when all is told, any.

    What is chosen is the venue that is spoken of from then on. None where there is no choice.
    """
    offers = [act for act in told if act.intent == "select" and act.slot not in (CHOICE, NONE)]
    if offers and offers[0].slot in pursuit.wishes:
        return offers[0].slot, pursuit.wishes[offers[0].slot]
    if pursuit.pending():
        return None
    if not offers:
        several = any(act.slot == CHOICE and act.value.lower() not in _ONE for act in told)
        return _ANY if several and pursuit.venue is None else None
    slot = offers[0].slot
    values = [act.value for act in offers if act.slot == slot]
    value = values[draws.pick(len(values))]
    if slot == pursuit.identity:
        if pursuit.venue in values:
            return slot, pursuit.venue  # Who has chosen before stays with that.
        pursuit.venue = value
    return slot, value
