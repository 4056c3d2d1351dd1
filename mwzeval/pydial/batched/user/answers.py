"""The simulated user in the record of a dialogue: it takes in a system act, and answers.

The rules, in their order and with their draws, are those of `dialogue/user.py`.
"""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.kernel.rng import choose, happens, which
from mwzeval.pydial.batched.layout import (
    ACK,
    AFFIRM,
    BYE,
    CONFIRM,
    DENY,
    DONTCARE,
    FIRST_VALUE,
    HELLO,
    INFORM,
    NEGATE,
    NO_VALUE,
    NULL,
    PARAMETERS,
    REPEAT,
    REQALTS,
    REQMORE,
    REQUEST,
    SELECT,
    THANKYOU,
)
from mwzeval.pydial.batched.user.agenda import (
    coded,
    drop_told,
    extend,
    is_negated,
    leave,
    pop,
    push,
    push_item,
    raise_informs,
    slot_of,
    top_act,
    value_of,
)
from mwzeval.pydial.batched.user.checks import agrees
from mwzeval.pydial.batched.user.goals import (
    completed,
    constrains,
    next_unfilled,
    recommended,
    replace,
    use,
    wanted,
)
from mwzeval.pydial.batched.user.offers import hear_inform
from mwzeval.pydial.dialogue.user import LEAVES_WHEN_DONE

_REPEAT, _NULL_RESPONSE = PARAMETERS["repeat"], PARAMETERS["null_response"]
_GREETING = PARAMETERS["greeting"]
_COMB_AFFIRM_WITH_AGENDA_ITEM = PARAMETERS["comb_affirm_with_agenda_item"]
_NO_AFTER_REQMORE = PARAMETERS["no_after_reqmore"]
_YES_AFTER_REQMORE = PARAMETERS["yes_after_reqmore"]
_NEW_REQUEST_RESPONSE_1 = PARAMETERS["new_request_response_1"]
_NEW_REQUEST_RESPONSE_2 = PARAMETERS["new_request_response_2"]
_AFFIRM_COMBINATION = PARAMETERS["affirm_combination"]
_INFORM_COMBINATION = PARAMETERS["inform_combination"]
_NO_SLOT_WITH_DONTCARE = PARAMETERS["no_slot_with_dontcare"]
_ADD_VENUE_NAME_TO_REQUEST = PARAMETERS["add_venue_name_to_request"]


@compiled
def says_the_same(a: Any, a_items: int, b: Any, b_items: int) -> bool:
    """Tell whether items are the same up to their order; repetitions count once."""
    if a_items != b_items:
        return False
    for one in range(2):
        for at in range(a_items):
            item = b[at] if one else a[at]
            found = False
            for other in range(a_items):
                if (a[other] if one else b[other]) == item:
                    found = True
                    break
            if not found:
                return False
    return True


@compiled
def answer(t: Any, d: Any) -> None:
    """Let the user hear what the system says now, and say something."""
    _hear(t, d)
    _reply(t, d)


@compiled
def _hear(t: Any, d: Any) -> None:
    now, before = d.now, 1 - d.now
    act, act_before = d.system_act[now], d.system_act[before]
    items, number = d.system_item[now], d.system_items[now]
    said_nothing = act == NULL
    if act == REPEAT and act_before == REPEAT and d.again_act == REPEAT:
        d.patience = 0
    elif said_nothing or (
        act == act_before
        and d.again_act != REPEAT
        and says_the_same(items, number, d.system_item[before], d.system_items[before])
    ):
        d.patience -= 1
    if d.patience < 1:
        leave(d)
        return
    if d.agenda == 0 and act != REQMORE and completed(d) and happens(d, LEAVES_WHEN_DONE):
        leave(d)
        return
    if d.patience > 1 and act != REPEAT and not said_nothing:
        if d.parameters[_REPEAT] and happens(d, d.parameters[_REPEAT]):
            push(d, REPEAT)
            return
        if d.parameters[_NULL_RESPONSE] and happens(d, d.parameters[_NULL_RESPONSE]):
            push(d, NULL)
            return
    if act == INFORM:
        hear_inform(t, d, items, number)
    elif act == REQUEST:
        _hear_request(t, d, slot_of(items[0]))
    elif act == CONFIRM:
        _hear_confirm(t, d, items, number)
    elif act == SELECT:
        _hear_select(d, slot_of(items[0]))
    elif act == REQMORE:
        _hear_reqmore(t, d)
    elif act == HELLO:
        if happens(d, d.parameters[_GREETING]):
            push(d, HELLO)
    elif act == BYE:
        leave(d)
    else:
        push(d, d.again_act)
        for at in range(d.again_items):
            extend(d, d.again_item[at])


@compiled
def _hear_reqmore(t: Any, d: Any) -> None:
    entity_type = coded(t.type, t.entity_type, False)
    unfilled = next_unfilled(d, 0)
    top = top_act(d)
    if d.agenda > 1:
        if top == INFORM:
            begin = d.agenda_end[d.agenda - 2]
            for at in range(begin, d.agenda_end[d.agenda - 1]):
                if d.agenda_item[at] == entity_type:
                    return
            if happens(d, d.parameters[_COMB_AFFIRM_WITH_AGENDA_ITEM]):
                d.agenda_act[d.agenda - 1] = AFFIRM
    elif unfilled < 0:
        if happens(d, d.parameters[_NO_AFTER_REQMORE]):
            push(d, NEGATE)
        elif top != INFORM and top != CONFIRM:
            leave(d)
    elif recommended(d) != NO_VALUE:
        while unfilled >= 0:
            push_item(d, REQUEST, coded(d.request_slot[unfilled], NO_VALUE, False))
            unfilled = next_unfilled(d, unfilled + 1)
    elif happens(d, d.parameters[_YES_AFTER_REQMORE]):
        push(d, AFFIRM)
    else:
        push_item(d, INFORM, entity_type)
        for at in range(d.constraints):
            if value_of(d.constraint[at]) != DONTCARE:
                extend(d, d.constraint[at])


@compiled
def _hear_request(t: Any, d: Any, slot: int) -> None:
    unfilled = next_unfilled(d, 0)
    if recommended(d) != NO_VALUE and unfilled >= 0:
        push_item(d, REQUEST, coded(t.name, recommended(d), False))
        extend(d, coded(d.request_slot[unfilled], NO_VALUE, False))
    elif t.is_asked_by_user[slot]:
        push(d, NEGATE)
    elif raise_informs(d, slot):
        pass
    elif constrains(d, slot):
        push(d, INFORM)
        for at in range(d.constraints):
            if slot_of(d.constraint[at]) == slot:
                extend(d, d.constraint[at])
    else:
        first = d.parameters[_NEW_REQUEST_RESPONSE_1]
        way = which(d, first, d.parameters[_NEW_REQUEST_RESPONSE_2])
        if way == 0 and d.constraints > 0:
            other = d.constraint[choose(d, d.constraints)]
            push_item(d, INFORM, coded(slot_of(other), value_of(other), False))
        elif way == 0:
            replace(d, slot, DONTCARE)
            push_item(d, INFORM, coded(t.this, DONTCARE, False))
        elif way == 1:
            use(t, d, slot, DONTCARE)
            push_item(d, INFORM, coded(t.this, DONTCARE, False))
        else:
            replace(d, slot, DONTCARE)
            use(t, d, slot, DONTCARE)
            push_item(d, INFORM, coded(slot, DONTCARE, False))


@compiled
def _hear_confirm(t: Any, d: Any, items: Any, number: int) -> None:
    if not agrees(t, d, items, number, True):
        return
    for at in range(number):
        slot = slot_of(items[at])
        if value_of(items[at]) != DONTCARE and not constrains(d, slot):
            push_item(d, NEGATE, coded(slot, DONTCARE, False))
            return
    if top_act(d) == INFORM and happens(d, d.parameters[_AFFIRM_COMBINATION]):
        d.agenda_act[d.agenda - 1] = AFFIRM
    else:
        push(d, AFFIRM)


@compiled
def _hear_select(d: Any, slot: int) -> None:
    if not constrains(d, slot):
        replace(d, slot, DONTCARE)
    value = wanted(d, slot, False)
    if value != NO_VALUE:
        push_item(d, INFORM, coded(slot, value, False))
    else:
        push_item(d, INFORM, coded(slot, wanted(d, slot, True), True))


@compiled
def _reply(t: Any, d: Any) -> None:
    """Let the user say what is on top of its agenda."""
    act = top_act(d) if d.agenda > 0 else BYE
    d.said_items = 0
    if d.agenda > 0:
        pop(d)
    items = d.said_item
    for at in range(d.said_items):
        if is_negated(items[at]):
            act = REQALTS
            d.said_items = 0
            break
    if act == INFORM or act == CONFIRM or act == AFFIRM or act == NEGATE:
        for at in range(d.said_items):
            drop_told(d, slot_of(items[at]))
    d.said_act = act
    as_it_is = act == THANKYOU or act == REPEAT or act == ACK or act == DENY or act == CONFIRM
    said_again = not as_it_is and d.system_act[d.now] != REQMORE
    if said_again:
        _combine(t, d)
    if t.legacy and act == REQUEST:
        _distort(t, d)
    if said_again:
        d.again_act = d.said_act
        d.again_items = d.said_items
        for at in range(d.said_items):
            d.again_item[at] = items[at]


@compiled
def _combine(t: Any, d: Any) -> None:
    """Leave out or add something by chance."""
    act = d.said_act
    if act == INFORM:
        asked = d.system_act[d.now] == REQUEST or d.system_act[d.now] == SELECT
        if (
            asked
            and d.said_items > 0
            and value_of(d.said_item[0]) == DONTCARE
            and happens(d, d.parameters[_NO_SLOT_WITH_DONTCARE])
        ):
            d.said_item[0] = coded(t.this, DONTCARE, False)
    elif act == REQUEST and d.said_items == 1:
        if recommended(d) != NO_VALUE and happens(d, d.parameters[_ADD_VENUE_NAME_TO_REQUEST]):
            d.said_item[1] = coded(t.name, recommended(d), False)
            d.said_items = 2
    if act == INFORM or act == NEGATE or act == HELLO or act == AFFIRM:
        while top_act(d) == INFORM or (act == HELLO and top_act(d) == REQUEST):
            if not happens(d, d.parameters[_INFORM_COMBINATION]):
                break
            pop(d)


@compiled
def _distort(t: Any, d: Any) -> None:
    """Say nothing in place of asking for a name, confirm in place of asking what is near."""
    items, kept, near, names = d.said_item, 0, False, 0
    for at in range(d.said_items):
        names += items[at] == coded(t.name, NO_VALUE, False)
        near = near or slot_of(items[at]) == t.near
    if names > 0:
        d.said_act = INFORM
        for at in range(d.said_items):
            if items[at] != coded(t.name, NO_VALUE, False):
                items[kept] = items[at]
                kept += 1
        d.said_items = kept
    elif near:
        value = wanted(d, t.near, False)
        if value != NO_VALUE and value != DONTCARE:
            slot = slot_of(items[0])
            d.said_act = CONFIRM
            items[0] = coded(slot, t.near_value[slot, value - FIRST_VALUE], False)
