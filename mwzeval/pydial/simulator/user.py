"""The simulated user: takes in a system act, and answers with an act from its agenda.

Source: Casanueva et al. (2017), section 4; Schatzmann et al. (2007); PyDial 1.4.
"""

from __future__ import annotations

from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.codes import coded, is_negated, slot_of, value_of
from mwzeval.pydial.simulator.goals import (
    completed,
    constrains,
    drop_told,
    extend,
    leave,
    next_unfilled,
    pop,
    push,
    push_item,
    raise_informs,
    recommended,
    replace,
    top_act,
    use,
    wanted,
)
from mwzeval.pydial.simulator.layout import Dialogue, Items, Shared
from mwzeval.pydial.simulator.native import choose, happens, which
from mwzeval.pydial.simulator.offers import agrees, hear_inform

_LEAVES_WHEN_DONE = 0.85


def says_the_same(a: Items, a_items: int, b: Items, b_items: int) -> bool:
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


def answer(t: Shared, d: Dialogue) -> None:
    """Let the user hear what the system says now, and say something."""
    _hear(t, d)
    _reply(t, d)


def _hear(t: Shared, d: Dialogue) -> None:
    now, before = d.now, 1 - d.now
    act, act_before = d.system_act[now], d.system_act[before]
    items, number = d.system_item[now], d.system_items[now]
    said_nothing = act == c.NULL or act == c.BADACT
    if act == c.REPEAT and act_before == c.REPEAT and d.again_act == c.REPEAT:
        d.patience = 0
    elif said_nothing or (
        act == act_before
        and d.again_act != c.REPEAT
        and says_the_same(items, number, d.system_item[before], d.system_items[before])
    ):
        d.patience -= 1
    if d.patience < 1:
        leave(d)
        return
    if d.agenda == 0 and act != c.REQMORE and completed(d) and happens(d, _LEAVES_WHEN_DONE):
        leave(d)
        return
    if d.patience > 1 and act != c.REPEAT and not said_nothing:
        if d.parameter[c.SAYS_REPEAT] and happens(d, d.parameter[c.SAYS_REPEAT]):
            push(d, c.REPEAT)
            return
        if d.parameter[c.NULL_RESPONSE] and happens(d, d.parameter[c.NULL_RESPONSE]):
            push(d, c.NULL)
            return
    if act == c.INFORM:
        hear_inform(t, d, items, number)
    elif act == c.REQUEST:
        if number > 0:
            _hear_request(t, d, slot_of(items[0]))
    elif act == c.CONFIRM:
        _hear_confirm(t, d, items, number)
    elif act == c.SELECT:
        if number > 0:
            _hear_select(d, slot_of(items[0]))
    elif act == c.REQMORE:
        _hear_reqmore(t, d)
    elif act == c.HELLO:
        if happens(d, d.parameter[c.GREETING]):
            push(d, c.HELLO)
    elif act == c.BYE:
        leave(d)
    else:  # what is not understood makes the user say the last again
        push(d, d.again_act)
        for at in range(d.again_items):
            extend(d, d.again_item[at])


def _hear_reqmore(t: Shared, d: Dialogue) -> None:
    entity_type = coded(t.type, t.entity_type, False)
    unfilled = next_unfilled(d, 0)
    top = top_act(d)
    if d.agenda > 1:
        if top == c.INFORM:
            begin = d.agenda_end[d.agenda - 2]
            for at in range(begin, d.agenda_end[d.agenda - 1]):
                if d.agenda_item[at] == entity_type:
                    return
            if happens(d, d.parameter[c.COMB_AFFIRM_WITH_AGENDA_ITEM]):
                d.agenda_act[d.agenda - 1] = c.AFFIRM
    elif unfilled < 0:
        if happens(d, d.parameter[c.NO_AFTER_REQMORE]):
            push(d, c.NEGATE)
        elif top != c.INFORM and top != c.CONFIRM:
            leave(d)
    elif recommended(d) != c.NO_VALUE:
        while unfilled >= 0:
            push_item(d, c.REQUEST, coded(d.request_slot[unfilled], c.NO_VALUE, False))
            unfilled = next_unfilled(d, unfilled + 1)
    elif happens(d, d.parameter[c.YES_AFTER_REQMORE]):
        push(d, c.AFFIRM)
    else:
        push_item(d, c.INFORM, entity_type)
        for at in range(d.constraints):
            if value_of(d.constraint[at]) != c.DONTCARE:
                extend(d, d.constraint[at])


def _hear_request(t: Shared, d: Dialogue, slot: int) -> None:
    unfilled = next_unfilled(d, 0)
    if recommended(d) != c.NO_VALUE and unfilled >= 0:
        push_item(d, c.REQUEST, coded(t.name, recommended(d), False))
        extend(d, coded(d.request_slot[unfilled], c.NO_VALUE, False))
    elif t.is_asked_by_user[slot]:
        push(d, c.NEGATE)
    elif raise_informs(d, slot):
        pass
    elif slot == t.type:  # the original does not survive this
        push_item(d, c.INFORM, coded(t.type, t.entity_type, False))
    elif constrains(d, slot):
        push(d, c.INFORM)
        for at in range(d.constraints):
            if slot_of(d.constraint[at]) == slot:
                extend(d, d.constraint[at])
    else:
        first = d.parameter[c.NEW_REQUEST_RESPONSE_1]
        way = which(d, first, d.parameter[c.NEW_REQUEST_RESPONSE_2])
        if way == 0 and d.constraints > 0:
            other = d.constraint[choose(d, d.constraints)]
            push_item(d, c.INFORM, coded(slot_of(other), value_of(other), False))
        elif way == 0:
            replace(d, slot, c.DONTCARE)
            push_item(d, c.INFORM, coded(t.this, c.DONTCARE, False))
        elif way == 1:
            use(t, d, slot, c.DONTCARE)
            push_item(d, c.INFORM, coded(t.this, c.DONTCARE, False))
        else:
            replace(d, slot, c.DONTCARE)
            use(t, d, slot, c.DONTCARE)
            push_item(d, c.INFORM, coded(slot, c.DONTCARE, False))


def _hear_confirm(t: Shared, d: Dialogue, items: Items, number: int) -> None:
    if not agrees(t, d, items, number, True):
        return
    for at in range(number):
        slot = slot_of(items[at])
        if t.is_unchecked[slot] or slot == t.type:
            continue
        if value_of(items[at]) != c.DONTCARE and not constrains(d, slot):
            push_item(d, c.NEGATE, coded(slot, c.DONTCARE, False))
            return
    if top_act(d) == c.INFORM and happens(d, d.parameter[c.AFFIRM_COMBINATION]):
        d.agenda_act[d.agenda - 1] = c.AFFIRM
    else:
        push(d, c.AFFIRM)


def _hear_select(d: Dialogue, slot: int) -> None:
    if not constrains(d, slot):
        replace(d, slot, c.DONTCARE)
    value = wanted(d, slot, False)
    if value != c.NO_VALUE:
        push_item(d, c.INFORM, coded(slot, value, False))
    else:
        push_item(d, c.INFORM, coded(slot, wanted(d, slot, True), True))


def _reply(t: Shared, d: Dialogue) -> None:
    """Let the user say what is on top of its agenda."""
    act = top_act(d) if d.agenda > 0 else c.BYE
    d.said_items = 0
    if d.agenda > 0:
        pop(d)
    items = d.said_item
    for at in range(d.said_items):
        if is_negated(items[at]):
            act = c.REQALTS
            d.said_items = 0
            break
    if act == c.INFORM or act == c.CONFIRM or act == c.AFFIRM or act == c.NEGATE:
        for at in range(d.said_items):
            drop_told(d, slot_of(items[at]))
    d.said_act = act
    as_it_is = (
        act == c.THANKYOU or act == c.REPEAT or act == c.ACK or act == c.DENY or act == c.CONFIRM
    )
    said_again = not as_it_is and d.system_act[d.now] != c.REQMORE
    if said_again:
        _combine(t, d)
    if t.legacy and act == c.REQUEST:
        _distort(t, d)
    if said_again:
        d.again_act = d.said_act
        d.again_items = d.said_items
        for at in range(d.said_items):
            d.again_item[at] = items[at]


def _combine(t: Shared, d: Dialogue) -> None:
    """Leave out or add something by chance."""
    act = d.said_act
    if act == c.INFORM:
        asked = d.system_act[d.now] == c.REQUEST or d.system_act[d.now] == c.SELECT
        if (
            asked
            and d.said_items > 0
            and value_of(d.said_item[0]) == c.DONTCARE
            and happens(d, d.parameter[c.NO_SLOT_WITH_DONTCARE])
        ):
            d.said_item[0] = coded(t.this, c.DONTCARE, False)
    elif act == c.REQUEST and d.said_items == 1:
        if recommended(d) != c.NO_VALUE and happens(d, d.parameter[c.ADD_VENUE_NAME_TO_REQUEST]):
            d.said_item[1] = coded(t.name, recommended(d), False)
            d.said_items = 2
    if act == c.INFORM or act == c.NEGATE or act == c.HELLO or act == c.AFFIRM:
        while top_act(d) == c.INFORM or (act == c.HELLO and top_act(d) == c.REQUEST):
            if not happens(d, d.parameter[c.INFORM_COMBINATION]):
                break
            pop(d)


def _distort(t: Shared, d: Dialogue) -> None:
    """Say nothing in place of asking for a name, confirm in place of asking what is near."""
    items, kept, near, names = d.said_item, 0, False, 0
    for at in range(d.said_items):
        names += items[at] == coded(t.name, c.NO_VALUE, False)
        near = near or slot_of(items[at]) == t.near
    if names > 0:
        d.said_act = c.INFORM
        for at in range(d.said_items):
            if items[at] != coded(t.name, c.NO_VALUE, False):
                items[kept] = items[at]
                kept += 1
        d.said_items = kept
    elif near:
        value = wanted(d, t.near, False)
        if value != c.NO_VALUE and value != c.DONTCARE:
            slot = slot_of(items[0])
            d.said_act = c.CONFIRM
            items[0] = coded(slot, t.near_value[slot][value - c.FIRST_VALUE], False)
