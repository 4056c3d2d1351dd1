"""The simulated user, which processes system acts and answers with acts from its agenda.

Source: Casanueva et al. (2017), section 4; Schatzmann et al. (2007); PyDial 1.4.
"""

from __future__ import annotations

from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.codes import coded, is_negated, slot_of, value_of
from mwzeval.pydial.simulator.goals import (
    accept_name,
    completed,
    confirm_instead,
    constrains,
    constraint_on,
    drop_informs,
    extend,
    forget,
    forget_answers,
    leave,
    next_unfilled,
    pop,
    push,
    push_item,
    raise_informs,
    recommended,
    refuse_name,
    replace,
    set_request,
    top_act,
    use,
)
from mwzeval.pydial.simulator.layout import Dialogue, Items, Shared
from mwzeval.pydial.simulator.native import choose, happens, which


def accepts(constraint: int, said: int) -> bool:
    """Return whether a constraint of the user accepts what the system said about the same slot."""
    same = value_of(constraint) == value_of(said)
    if is_negated(constraint):
        return is_negated(said) or not (same or value_of(said) == c.DONTCARE)
    if value_of(constraint) == c.DONTCARE:
        return not is_negated(said)
    return same != is_negated(said)


def _satisfied(d: Dialogue, items: Items, number: int, slot: int) -> bool:
    for at in range(number):
        if slot_of(items[at]) != slot:
            continue
        for index in range(d.constraints):
            constraint = d.constraint[index]
            if slot_of(constraint) == slot and not accepts(constraint, items[at]):
                return False
    return True


def _unsaid(d: Dialogue, items: Items, number: int, which_one: int) -> int:
    """Return a constraint that the act omits, by index. For index -1, return the number of them."""
    found = 0
    for index in range(d.constraints):
        constraint = d.constraint[index]
        if value_of(constraint) != c.DONTCARE and not _mentioned(d, items, number, constraint):
            if found == which_one:
                return coded(slot_of(constraint), value_of(constraint), False)
            found += 1
    return found


def _mentioned(d: Dialogue, items: Items, number: int, constraint: int) -> bool:
    """Return whether an act has the constraint, or a value other than an excluded value."""
    slot, first = slot_of(constraint), c.NO_VALUE
    for at in range(number):
        if items[at] == constraint:
            return True
        if first == c.NO_VALUE and slot_of(items[at]) == slot and not is_negated(items[at]):
            first = value_of(items[at])
    if first == c.NO_VALUE:
        return False
    for index in range(d.constraints):
        other = d.constraint[index]
        if slot_of(other) == slot and is_negated(other) and value_of(other) != first:
            return True
    return False


def agrees(t: Shared, d: Dialogue, items: Items, number: int, asked: bool) -> bool:
    """Return whether the user accepts a system act; if not, push a reaction on the agenda.

    `asked` is True if the system asked the user for confirmation. If `asked` is False, the user may
    ask the system to confirm a constraint that the act omits.
    """
    nothing_matches = answers = False
    for at in range(number):
        slot = slot_of(items[at])
        if slot == t.name and value_of(items[at]) == c.NONE and not is_negated(items[at]):
            nothing_matches = True
        if t.is_answer[slot]:
            answers = True
    unsaid = 0 if nothing_matches else _unsaid(d, items, number, -1)
    checks_own = False
    for at in range(number):
        slot = slot_of(items[at])
        if t.is_unchecked[slot]:
            continue
        correct = False
        if constrains(d, slot):
            satisfied = _satisfied(d, items, number, slot)
            if not satisfied and constraint_on(d, slot, True) != c.NO_VALUE:
                if nothing_matches and slot == t.name:
                    forget(d, slot, True)
                else:
                    correct = True
            if slot == t.name and not answers and not correct:
                continue  # the user always accepts another offer
            value = constraint_on(d, slot, False)
            if value != c.NO_VALUE and not satisfied:
                correct = correct or (slot != t.name if nothing_matches else value != c.DONTCARE)
        elif t.is_asked_by_user[slot]:
            continue
        if correct:
            _correct(t, d, items, number, at, unsaid)
            return False
        if unsaid > 0 and not checks_own and not asked:
            if happens(d, d.parameter[c.CONFIRM_RANDOM_CONSTRAINT]):
                push_item(d, c.CONFIRM, _unsaid(d, items, number, choose(d, unsaid)))
                checks_own = True
        elif nothing_matches:
            d.nothing_matches = True
    if checks_own:
        for at in range(number):
            if not is_negated(items[at]):
                # In the original, any item becomes a request. The request must be answered again
                # after the user refuses an offer.
                set_request(d, slot_of(items[at]), value_of(items[at]), not t.legacy)
    return not checks_own


def _correct(t: Shared, d: Dialogue, items: Items, number: int, at: int, unsaid: int) -> None:
    """Push the correction of an item, or goodbye if patience is exhausted."""
    lost = 1 - d.patience / d.max_patience
    if happens(d, lost * lost):
        leave(d)
        return
    if slot_of(items[at]) == t.type:
        push_item(d, c.INFORM, coded(t.type, t.entity_type, False))
    elif unsaid > 0 and happens(d, d.parameter[c.OVERRULE_CORRECTION]):
        push_item(d, c.CONFIRM, _unsaid(d, items, number, choose(d, unsaid)))
    else:
        _push_correction(d, items[at])
    forget_answers(d)


def _push_correction(d: Dialogue, said: int) -> None:
    slot = slot_of(said)
    unwanted = constraint_on(d, slot, True)
    if unwanted != c.NO_VALUE:
        push_item(d, c.INFORM, coded(slot, unwanted, True))
        return
    value = constraint_on(d, slot, False)
    right = coded(slot, value if value != c.NO_VALUE else c.DONTCARE, False)
    way = which(d, d.parameter[c.CORRECTING_ACT_1], d.parameter[c.CORRECTING_ACT_2])
    if way == c.FIRST:
        push_item(d, c.NEGATE, right)
    elif way == c.SECOND:
        push_item(d, c.DENY, coded(slot, value_of(said), False))
        extend(d, right)
    else:
        push_item(d, c.INFORM, right)


def hear_inform(t: Shared, d: Dialogue, items: Items, number: int) -> None:
    """Push the user's reaction to acts such as `inform(name="x",…)` or `inform(name=none,…)`."""
    offered = excluded = 0
    nothing_matches = must_relax = False
    for at in range(number):
        value = value_of(items[at])
        if slot_of(items[at]) != t.name or value == c.NO_VALUE:
            continue
        if is_negated(items[at]):
            nothing_matches = must_relax = False
            excluded += 1
        elif value == c.NONE:
            nothing_matches = must_relax = True
        else:
            must_relax = False
            offered = value
    if offered != c.NO_VALUE and recommended(d) != c.NO_VALUE and offered != recommended(d):
        forget_answers(d)
    if not agrees(t, d, items, number, False):
        return
    change = nothing_matches
    if not change:
        reaction = c.NEITHER
        if d.first_offer_pending:
            d.first_offer_pending = False
            first = d.parameter[c.REQUEST_ALTERNATIVES_1]
            reaction = which(d, first, d.parameter[c.REQUEST_ALTERNATIVES_2])
        if reaction == c.FIRST:
            refuse_name(t, d, offered)
            push(d, c.REQALTS)
            return
        if reaction == c.SECOND:
            change = True
        else:
            accept_name(t, d, offered)
    if change and d.constraints > 0:
        _change_goal(t, d, items, number, offered, nothing_matches)
        return
    selected = c.NO_VALUE
    if excluded > 0 and not change:
        selected = _give_in(t, d, items, number, excluded)
    if must_relax:
        if happens(d, d.parameter[c.BYE_OR_START_OVER]):
            leave(d)
        else:
            push_item(d, c.INFORM, coded(t.type, t.entity_type, False))
        return
    for at in range(number):
        if not is_negated(items[at]):
            set_request(d, slot_of(items[at]), value_of(items[at]), True)
    if selected != c.NO_VALUE:
        set_request(d, t.name, selected, True)
    _ask_on(t, d, selected)


def _is_changed(t: Shared, item: int) -> bool:
    """Return whether the user can change the constraint on the slot of an item."""
    slot, value = slot_of(item), value_of(item)
    return t.is_constraint[slot] and value >= c.FIRST_VALUE and value != t.type_word[slot]


def _slot_to_change(t: Shared, d: Dialogue, items: Items, number: int) -> int:
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


def _new_value(t: Shared, d: Dialogue, slot: int) -> int:
    """Return a value that the slot has not had in the goal, or "dontcare" if there is none."""
    if not d.used_slot[slot]:
        return c.DONTCARE
    first, unused = t.first[slot] + c.FIRST_VALUE, 0
    for at in range(first, first + t.numbers[slot]):
        unused += not d.used[at]
    if unused == 0:
        return c.DONTCARE
    drawn = choose(d, unused)
    for index in range(t.numbers[slot]):
        if not d.used[first + index]:
            if drawn == 0:
                return c.FIRST_VALUE + index
            drawn -= 1
    return c.DONTCARE


def _change_goal(
    t: Items, d: Items, items: Items, number: int, offered: int, nothing_matches: bool
) -> None:
    """Relax or change a constraint, preferably one in the system act, and request alternatives."""
    slot = _slot_to_change(t, d, items, number)
    forget(d, t.name, False)
    value = c.DONTCARE
    if not happens(d, d.parameter[c.CONSTRAINT_RELAX]):
        value = _new_value(t, d, slot)
        use(t, d, slot, value)
    replace(d, slot, value)
    if nothing_matches or happens(d, d.parameter[c.TELL_ABOUT_CHANGE]):
        push_item(d, c.REQALTS, coded(slot, value, False))
        return
    push(d, c.REQALTS)
    if value == c.DONTCARE:
        refuse_name(t, d, offered)
    else:
        set_request(d, slot, c.NO_VALUE, False)


def _fits(t: Shared, d: Dialogue, name: int) -> bool:
    said = coded(t.name, name, False)
    for index in range(d.constraints):
        if slot_of(d.constraint[index]) == t.name and not accepts(d.constraint[index], said):
            return False
    return True


def _give_in(t: Shared, d: Dialogue, items: Items, number: int, excluded: int) -> int:
    """Return a random entity among those that the system lists as the only matches."""
    fitting = 0
    for at in range(number):
        item = items[at]
        if slot_of(item) == t.name and is_negated(item):
            fitting += _fits(t, d, value_of(item))
    names = d.system_item[1 - d.now]  # memory of the previous system act, which is not needed again
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
        d.user_item[index] = d.constraint[index]
    for index in range(before):
        slot = slot_of(d.user_item[index])
        mentioned = False
        for at in range(number):
            if slot_of(items[at]) == slot:
                mentioned = True
                break
        if not mentioned:
            replace(d, slot, c.DONTCARE)
            drop_informs(d, slot)
    return names[choose(d, some)]


def _ask_on(t: Shared, d: Dialogue, selected: int) -> None:
    """Push thanks, or the next request."""
    if happens(d, d.parameter[c.INFORM_TO_CONFIRM]):
        confirm_instead(d)
    thanks = which(d, d.parameter[c.THANK_ACK_1], d.parameter[c.THANK_ACK_2])
    if thanks != c.NEITHER:
        push(d, c.THANKYOU if thanks == c.FIRST else c.ACK)
        return
    if d.agenda > 1 and happens(d, d.parameter[c.DEAL_WITH_PENDING]):
        return
    unfilled = next_unfilled(d, 0)
    if unfilled < 0:
        return
    push(d, c.REQUEST)
    if selected != c.NO_VALUE:
        extend(d, coded(t.name, selected, False))
    extend(d, coded(d.request_slot[unfilled], c.NO_VALUE, False))
    while True:
        unfilled = next_unfilled(d, unfilled + 1)
        if unfilled < 0 or not happens(d, d.parameter[c.ADD_SLOT_TO_REQUEST]):
            return
        extend(d, coded(d.request_slot[unfilled], c.NO_VALUE, False))


_LEAVES_WHEN_DONE = 0.85


def says_the_same(a: Items, a_items: int, b: Items, b_items: int) -> bool:
    """Return whether items are equal, ignoring order and repetitions."""
    if a_items != b_items:
        return False
    for side in range(2):
        for at in range(a_items):
            item = b[at] if side else a[at]
            found = False
            for other in range(a_items):
                if (a[other] if side else b[other]) == item:
                    found = True
                    break
            if not found:
                return False
    return True


def answer(t: Shared, d: Dialogue) -> None:
    """Let the simulated user process the last system act and choose a user act."""
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
    else:  # after any other act, the user repeats its last act
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
    elif slot == t.type:  # the original crashes here
        push_item(d, c.INFORM, coded(t.type, t.entity_type, False))
    elif constrains(d, slot):
        push(d, c.INFORM)
        for at in range(d.constraints):
            if slot_of(d.constraint[at]) == slot:
                extend(d, d.constraint[at])
    else:
        first = d.parameter[c.NEW_REQUEST_RESPONSE_1]
        way = which(d, first, d.parameter[c.NEW_REQUEST_RESPONSE_2])
        if way == c.FIRST and d.constraints > 0:
            other = d.constraint[choose(d, d.constraints)]
            push_item(d, c.INFORM, coded(slot_of(other), value_of(other), False))
        elif way == c.FIRST:
            replace(d, slot, c.DONTCARE)
            push_item(d, c.INFORM, coded(t.this, c.DONTCARE, False))
        elif way == c.SECOND:
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
    value = constraint_on(d, slot, False)
    if value != c.NO_VALUE:
        push_item(d, c.INFORM, coded(slot, value, False))
    else:
        push_item(d, c.INFORM, coded(slot, constraint_on(d, slot, True), True))


def _reply(t: Shared, d: Dialogue) -> None:
    """Let the user answer with the top act of its agenda."""
    act = top_act(d) if d.agenda > 0 else c.BYE
    d.user_items = 0
    if d.agenda > 0:
        pop(d)
    items = d.user_item
    for at in range(d.user_items):
        if is_negated(items[at]):
            act = c.REQALTS
            d.user_items = 0
            break
    if act == c.INFORM or act == c.CONFIRM or act == c.AFFIRM or act == c.NEGATE:
        for at in range(d.user_items):
            drop_informs(d, slot_of(items[at]))
    d.user_act = act
    as_it_is = (
        act == c.THANKYOU or act == c.REPEAT or act == c.ACK or act == c.DENY or act == c.CONFIRM
    )
    said_again = not as_it_is and d.system_act[d.now] != c.REQMORE
    if said_again:
        _combine(t, d)
    if t.legacy and act == c.REQUEST:
        _distort(t, d)
    if said_again:
        d.again_act = d.user_act
        d.again_items = d.user_items
        for at in range(d.user_items):
            d.again_item[at] = items[at]


def _combine(t: Shared, d: Dialogue) -> None:
    """Omit or add items at random."""
    act = d.user_act
    if act == c.INFORM:
        asked = d.system_act[d.now] == c.REQUEST or d.system_act[d.now] == c.SELECT
        if (
            asked
            and d.user_items > 0
            and value_of(d.user_item[0]) == c.DONTCARE
            and happens(d, d.parameter[c.NO_SLOT_WITH_DONTCARE])
        ):
            d.user_item[0] = coded(t.this, c.DONTCARE, False)
    elif act == c.REQUEST and d.user_items == 1:
        if recommended(d) != c.NO_VALUE and happens(d, d.parameter[c.ADD_VENUE_NAME_TO_REQUEST]):
            d.user_item[1] = coded(t.name, recommended(d), False)
            d.user_items = 2
    if act == c.INFORM or act == c.NEGATE or act == c.HELLO or act == c.AFFIRM:
        while top_act(d) == c.INFORM or (act == c.HELLO and top_act(d) == c.REQUEST):
            if not happens(d, d.parameter[c.INFORM_COMBINATION]):
                break
            pop(d)


def _distort(t: Shared, d: Dialogue) -> None:
    """Turn a request for the name into an inform act, and one about `near` into a confirm act."""
    items, kept, near, names = d.user_item, 0, False, 0
    for at in range(d.user_items):
        names += items[at] == coded(t.name, c.NO_VALUE, False)
        near = near or slot_of(items[at]) == t.near
    if names > 0:
        d.user_act = c.INFORM
        for at in range(d.user_items):
            if items[at] != coded(t.name, c.NO_VALUE, False):
                items[kept] = items[at]
                kept += 1
        d.user_items = kept
    elif near:
        value = constraint_on(d, t.near, False)
        if value != c.NO_VALUE and value != c.DONTCARE:
            slot = slot_of(items[0])
            d.user_act = c.CONFIRM
            items[0] = coded(slot, t.near_value[slot][value - c.FIRST_VALUE], False)
