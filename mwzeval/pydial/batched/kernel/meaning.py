"""What one hypothesis tells the tracker, in the record of a dialogue (`dialogue/tracker.py`)."""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.layout import (
    ACK,
    AFFIRM,
    BYE,
    CONFIRM,
    DENY,
    DISCOURSE_ACTS,
    DONTCARE,
    HELLO,
    HYPOTHESES,
    INFORM,
    NEGATE,
    NO_VALUE,
    NULL,
    REPEAT,
    REQALTS,
    REQUEST,
    THANKYOU,
    ZERO,
)
from mwzeval.pydial.batched.user.agenda import coded, is_negated, slot_of, value_of
from mwzeval.pydial.dialogue.tracker import BY_NAME, NO_METHOD, POSITION

_BY_CONSTRAINTS, _FINISHED = POSITION["byconstraints"], POSITION["finished"]
_BY_ALTERNATIVES = POSITION["byalternatives"]
_REPEATED, _THANKED, _ACKNOWLEDGED, _GREETED, _SAID_BYE, _NOTHING = (
    DISCOURSE_ACTS.index(act) for act in ("repeat", "thankyou", "ack", "hello", "bye", "none")
)


@compiled
def interpret(t: Any, d: Any, rank: int, this: int, confirmed: int, score: float) -> None:
    """Add the score of a hypothesis to all that it says.

    `this` is the slot that a value without a slot is of, `confirmed` the item that the system asked
    to be confirmed; -1 where there is none.
    """
    row, act = _in_context(t, d, rank, this, confirmed)
    items = d.heard_item[row]
    number = 1 if row == HYPOTHESES else d.heard_items[rank]
    denies = asks = informs = name = about_this = False
    first = ZERO
    if act == DENY:
        for at in range(number):
            denies = denies or bool(t.is_informable[slot_of(items[at])])
        first = 1 if _corrects(t, items, number) else number
    elif act == CONFIRM:
        asks = _ask(t, items, number, score, False)
        first = number
    elif act == NULL:
        first = number
    elif act == REQUEST:
        asks = _ask(t, items, number, score, True)
    for at in range(first, number):
        slot = slot_of(items[at])
        if not _is_known(t, items[at]) or _told(t, items, first, at, slot):
            continue
        value = value_of(items[at])
        for later in range(at + 1, number):
            if slot_of(items[later]) == slot and _is_known(t, items[later]):
                value = value_of(items[later])
        if slot == t.this:
            about_this = True
        else:
            informs = True
            name = name or slot == t.name
            _add(t, slot, value, score)
    if about_this and this >= 0 and t.is_informable[this]:
        informs = True
        if not _told(t, items, first, number, this):
            _add(t, this, DONTCARE, score)
    elif about_this:
        informs = bool(t.legacy) or informs
    if act == AFFIRM and confirmed >= 0:
        slot = slot_of(confirmed)
        if t.is_informable[slot] and not _told(t, items, first, number, slot):
            _add(t, slot, value_of(confirmed), score)
    t.heard_methods[_method(d, act, informs, name, asks and not denies)] += score
    d.discourse[_discourse_act(act)] += score


@compiled
def _in_context(t: Any, d: Any, rank: int, this: int, confirmed: int) -> tuple[int, int]:
    """Return where the items of a hypothesis are, and its act: a bare yes or no means more."""
    act = int(d.heard_act[rank])
    if d.heard_items[rank] == 0 and (act == AFFIRM or act == NEGATE):
        value = NO_VALUE
        if confirmed >= 0:
            this = slot_of(confirmed)
            value = value_of(confirmed) if act == AFFIRM else NO_VALUE
        elif this >= 0 and t.is_binary[this] and d.system_act[d.now] == REQUEST:
            value = t.yes[this] if act == AFFIRM else t.no[this]
        if value != NO_VALUE:
            d.heard_item[HYPOTHESES, 0] = coded(this, value, False)
            return HYPOTHESES, INFORM
    return rank, act


@compiled
def _is_known(t: Any, item: int) -> bool:
    slot = slot_of(item)
    if value_of(item) == NO_VALUE or is_negated(item):
        return False
    return slot == t.this or bool(t.is_informable[slot])


@compiled
def _told(t: Any, items: Any, first: int, number: int, slot: int) -> bool:
    """Tell whether a slot is given a value."""
    for at in range(first, number):
        if slot_of(items[at]) == slot and _is_known(t, items[at]):
            return True
    return False


@compiled
def _corrects(t: Any, items: Any, number: int) -> bool:
    """Tell whether a denial gives the right value; `legacy`: not to or from no preference."""
    if number != 2 or slot_of(items[0]) != slot_of(items[1]):
        return False
    lost = value_of(items[0]) == DONTCARE or value_of(items[1]) == DONTCARE
    return not (t.legacy and lost)


@compiled
def _ask(t: Any, items: Any, number: int, score: float, bare: bool) -> bool:
    """Ask for slots, those without a value or those with one; tell whether there are any."""
    some = False
    for at in range(number):
        slot = slot_of(items[at])
        if bare:
            asked = value_of(items[at]) == NO_VALUE
        else:
            asked = _is_known(t, items[at]) and slot != t.this
        if not asked:
            continue
        some = True
        before = False
        for earlier in range(at):
            item = items[earlier]
            if slot_of(item) == slot and (value_of(item) == NO_VALUE) == bare:
                before = True
        if not before:
            t.heard_requested[slot] = max(t.heard_requested[slot], 0.0) + score
    return some


@compiled
def _add(t: Any, slot: int, value: int, score: float) -> None:
    number = t.heard[slot]
    for index in range(number):
        if t.heard_value[slot, index] == value:
            t.heard_score[slot, index] += score
            return
    t.heard_value[slot, number], t.heard_score[slot, number] = value, score
    t.heard[slot] = number + 1


@compiled
def _method(d: Any, act: int, informs: bool, name: bool, asks: bool) -> int:
    if act == REQALTS:
        return _BY_ALTERNATIVES
    if act == BYE:
        return _FINISHED
    if informs:
        return BY_NAME if name else _BY_CONSTRAINTS
    return BY_NAME if asks and d.offered_before else NO_METHOD


@compiled
def _discourse_act(act: int) -> int:
    if act == REPEAT:
        return _REPEATED
    if act == THANKYOU:
        return _THANKED
    if act == ACK:
        return _ACKNOWLEDGED
    if act == HELLO:
        return _GREETED
    return _SAID_BYE if act == BYE else _NOTHING
