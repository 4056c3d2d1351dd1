"""How users take offers and answers, in the record of a dialogue.

The rules, in their order and with their draws, are those of `dialogue/offers.py`.
"""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.kernel.rng import choose, happens, which
from mwzeval.pydial.batched.layout import (
    ACK,
    DONTCARE,
    FIRST_VALUE,
    INFORM,
    NO_VALUE,
    NONE,
    PARAMETERS,
    REQALTS,
    REQUEST,
    THANKYOU,
    ZERO,
)
from mwzeval.pydial.batched.user.agenda import (
    coded,
    confirm_instead,
    drop_told,
    extend,
    is_negated,
    leave,
    push,
    push_item,
    slot_of,
    value_of,
)
from mwzeval.pydial.batched.user.checks import accepts, agrees
from mwzeval.pydial.batched.user.goals import (
    accept_name,
    forget,
    forget_answers,
    next_unfilled,
    recommended,
    refuse_name,
    replace,
    set_request,
    use,
)

_REQUEST_ALTERNATIVES_1 = PARAMETERS["request_alternatives_1"]
_REQUEST_ALTERNATIVES_2 = PARAMETERS["request_alternatives_2"]
_CONSTRAINT_RELAX = PARAMETERS["constraint_relax"]
_TELL_ABOUT_CHANGE = PARAMETERS["tell_about_change"]
_BYE_OR_START_OVER = PARAMETERS["bye_or_start_over"]
_INFORM_TO_CONFIRM = PARAMETERS["inform_to_confirm"]
_THANK_ACK_1, _THANK_ACK_2 = PARAMETERS["thank_ack_1"], PARAMETERS["thank_ack_2"]
_DEAL_WITH_PENDING = PARAMETERS["deal_with_pending"]
_ADD_SLOT_TO_REQUEST = PARAMETERS["add_slot_to_request"]


@compiled
def hear_inform(t: Any, d: Any, items: Any, number: int) -> None:
    """Push the reaction to `inform(name="x",…)`, `inform(name=none,…)` and the like."""
    offered = excluded = ZERO
    nothing_matches = must_relax = False
    for at in range(number):
        value = value_of(items[at])
        if slot_of(items[at]) != t.name or value == NO_VALUE:
            continue
        if is_negated(items[at]):
            nothing_matches = must_relax = False
            excluded += 1
        elif value == NONE:
            nothing_matches = must_relax = True
        else:
            must_relax = False
            offered = value
    if offered != NO_VALUE and recommended(d) != NO_VALUE and offered != recommended(d):
        forget_answers(d)
    if not agrees(t, d, items, number, False):
        return
    change = nothing_matches
    if not change:
        reaction = 2
        if d.first_offer_pending:
            d.first_offer_pending = False
            first = d.parameters[_REQUEST_ALTERNATIVES_1]
            reaction = which(d, first, d.parameters[_REQUEST_ALTERNATIVES_2])
        if reaction == 0:
            refuse_name(t, d, offered)
            push(d, REQALTS)
            return
        if reaction == 1:
            change = True
        else:
            accept_name(t, d, offered)
    if change and d.constraints > 0:
        _change_goal(t, d, items, number, offered, nothing_matches)
        return
    selected = NO_VALUE
    if excluded > 0 and not change:
        selected = _give_in(t, d, items, number, excluded)
    if must_relax:
        if happens(d, d.parameters[_BYE_OR_START_OVER]):
            leave(d)
        else:
            push_item(d, INFORM, coded(t.type, t.entity_type, False))
        return
    for at in range(number):
        if not is_negated(items[at]):
            set_request(d, slot_of(items[at]), value_of(items[at]), True)
    if selected != NO_VALUE:
        set_request(d, t.name, selected, True)
    _ask_on(t, d, selected)


@compiled
def _is_changed(t: Any, item: int) -> bool:
    """Tell whether the constraint on the slot of an item may be changed because it was said."""
    slot, value = slot_of(item), value_of(item)
    return t.is_constraint[slot] and value >= FIRST_VALUE and value != t.type_word[slot]


@compiled
def _slot_to_change(t: Any, d: Any, items: Any, number: int) -> int:
    mentioned = 0
    for at in range(number):
        mentioned += _is_changed(t, items[at])
    if mentioned == 0:
        return slot_of(d.constraint[choose(d, d.constraints)])
    drawn = choose(d, mentioned)
    for at in range(number):
        if _is_changed(t, items[at]):
            if drawn == 0:
                return slot_of(items[at])
            drawn -= 1
    return -1


@compiled
def _new_value(t: Any, d: Any, slot: int) -> int:
    """Return a value that the slot was never to have; no preference where it has none."""
    if not d.used_slot[slot]:
        return DONTCARE
    first, unused = t.first[slot] + FIRST_VALUE, 0
    for at in range(first, first + t.numbers[slot]):
        unused += not d.used[at]
    if unused == 0:
        return DONTCARE
    drawn = choose(d, unused)
    for index in range(t.numbers[slot]):
        if not d.used[first + index]:
            if drawn == 0:
                return FIRST_VALUE + index
            drawn -= 1
    return DONTCARE


@compiled
def _change_goal(
    t: Any, d: Any, items: Any, number: int, offered: int, nothing_matches: bool
) -> None:
    """Relax or change a constraint, one of those mentioned if possible, and ask again."""
    slot = _slot_to_change(t, d, items, number)
    forget(d, t.name, False)
    value = DONTCARE
    if not happens(d, d.parameters[_CONSTRAINT_RELAX]):
        value = _new_value(t, d, slot)
        use(t, d, slot, value)
    replace(d, slot, value)
    if nothing_matches or happens(d, d.parameters[_TELL_ABOUT_CHANGE]):
        push_item(d, REQALTS, coded(slot, value, False))
        return
    push(d, REQALTS)
    if value == DONTCARE:
        refuse_name(t, d, offered)
    else:
        set_request(d, slot, NO_VALUE, False)


@compiled
def _fits(t: Any, d: Any, name: int) -> bool:
    said = coded(t.name, name, False)
    for index in range(d.constraints):
        if slot_of(d.constraint[index]) == t.name and not accepts(d.constraint[index], said):
            return False
    return True


@compiled
def _give_in(t: Any, d: Any, items: Any, number: int, excluded: int) -> int:
    """Return the one chosen of the entities that the system says are all there are."""
    fitting = 0
    for at in range(number):
        item = items[at]
        if slot_of(item) == t.name and is_negated(item):
            fitting += _fits(t, d, value_of(item))
    names = d.system_item[1 - d.now]  # what was said before is not needed any more
    some = 0
    for at in range(number):
        item = items[at]
        if (
            slot_of(item) == t.name
            and is_negated(item)
            and (fitting == 0 or _fits(t, d, value_of(item)))
        ):
            names[some] = value_of(item)
            some += 1
    if fitting == 0:
        forget(d, t.name, False)
    before = d.constraints
    for index in range(before):
        d.said_item[index] = d.constraint[index]
    for index in range(before):
        slot = slot_of(d.said_item[index])
        mentioned = False
        for at in range(number):
            if slot_of(items[at]) == slot:
                mentioned = True
                break
        if not mentioned:
            replace(d, slot, DONTCARE)
            drop_told(d, slot)
    return names[choose(d, some)]


@compiled
def _ask_on(t: Any, d: Any, selected: int) -> None:
    """Push thanks, or the question for what is still to be told."""
    if happens(d, d.parameters[_INFORM_TO_CONFIRM]):
        confirm_instead(d)
    thanks = which(d, d.parameters[_THANK_ACK_1], d.parameters[_THANK_ACK_2])
    if thanks < 2:
        push(d, ACK if thanks else THANKYOU)
        return
    if d.agenda > 1 and happens(d, d.parameters[_DEAL_WITH_PENDING]):
        return
    unfilled = next_unfilled(d, 0)
    if unfilled < 0:
        return
    push(d, REQUEST)
    if selected != NO_VALUE:
        extend(d, coded(t.name, selected, False))
    extend(d, coded(d.request_slot[unfilled], NO_VALUE, False))
    while True:
        unfilled = next_unfilled(d, unfilled + 1)
        if unfilled < 0 or not happens(d, d.parameters[_ADD_SLOT_TO_REQUEST]):
            return
        extend(d, coded(d.request_slot[unfilled], NO_VALUE, False))
