"""How users take offers and answers: they correct, accept, ask on or change the goal.

Source: PyDial 1.4's agenda-based user, the rule for system informs and the corrections it makes.
"""

from __future__ import annotations

from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.codes import coded, is_negated, slot_of, value_of
from mwzeval.pydial.simulator.goals import (
    accept_name,
    confirm_instead,
    constrains,
    drop_told,
    extend,
    forget,
    forget_answers,
    leave,
    next_unfilled,
    push,
    push_item,
    recommended,
    refuse_name,
    replace,
    set_request,
    use,
    wanted,
)
from mwzeval.pydial.simulator.layout import Dialogue, Items, Shared
from mwzeval.pydial.simulator.native import choose, happens, which


def accepts(constraint: int, said: int) -> bool:
    """Tell whether a constraint accepts what was said of the same slot."""
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
    """Return a constraint that the user may check by its number from 0; with -1 how many."""
    found = 0
    for index in range(d.constraints):
        constraint = d.constraint[index]
        if value_of(constraint) != c.DONTCARE and not _mentioned(d, items, number, constraint):
            if found == which_one:
                return coded(slot_of(constraint), value_of(constraint), False)
            found += 1
    return found


def _mentioned(d: Dialogue, items: Items, number: int, constraint: int) -> bool:
    """Tell whether an act mentions a constraint: it says so, or that a slot has another value."""
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
    """Tell whether the user lets an act of the system pass; if not, the agenda has the reaction.

    `asked` tells that the system asked whether this is so; otherwise the user may check a
    constraint of its own that was not mentioned, and listens no further.
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
            if not satisfied and wanted(d, slot, True) != c.NO_VALUE:
                if nothing_matches and slot == t.name:
                    forget(d, slot, True)
                else:
                    correct = True
            if slot == t.name and not answers and not correct:
                continue  # another offer is always welcome
            value = wanted(d, slot, False)
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
            d.told_nothing_matches = True
    if checks_own:
        for at in range(number):
            if not is_negated(items[at]):
                # The original lets whatever was said become a request, which must be answered again
                # when an offer is refused.
                set_request(d, slot_of(items[at]), value_of(items[at]), not t.legacy)
    return not checks_own


def _correct(t: Shared, d: Dialogue, items: Items, number: int, at: int, unsaid: int) -> None:
    """Push the correction of an item, or goodbye when patience is at its end."""
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
    unwanted = wanted(d, slot, True)
    if unwanted != c.NO_VALUE:
        push_item(d, c.INFORM, coded(slot, unwanted, True))
        return
    value = wanted(d, slot, False)
    right = coded(slot, value if value != c.NO_VALUE else c.DONTCARE, False)
    way = which(d, d.parameter[c.CORRECTING_ACT_1], d.parameter[c.CORRECTING_ACT_2])
    if way == 0:
        push_item(d, c.NEGATE, right)
    elif way == 1:
        push_item(d, c.DENY, coded(slot, value_of(said), False))
        extend(d, right)
    else:
        push_item(d, c.INFORM, right)


def hear_inform(t: Shared, d: Dialogue, items: Items, number: int) -> None:
    """Push the reaction to `inform(name="x",…)`, `inform(name=none,…)` and the like."""
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
        reaction = 2
        if d.first_offer_pending:
            d.first_offer_pending = False
            first = d.parameter[c.REQUEST_ALTERNATIVES_1]
            reaction = which(d, first, d.parameter[c.REQUEST_ALTERNATIVES_2])
        if reaction == 0:
            refuse_name(t, d, offered)
            push(d, c.REQALTS)
            return
        if reaction == 1:
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
    """Tell whether the constraint on the slot of an item may be changed because it was said."""
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
    """Return a value that the slot was never to have; no preference where it has none."""
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
    """Relax or change a constraint, one of those mentioned if possible, and ask again."""
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
            replace(d, slot, c.DONTCARE)
            drop_told(d, slot)
    return names[choose(d, some)]


def _ask_on(t: Shared, d: Dialogue, selected: int) -> None:
    """Push thanks, or the question for what is still to be told."""
    if happens(d, d.parameter[c.INFORM_TO_CONFIRM]):
        confirm_instead(d)
    thanks = which(d, d.parameter[c.THANK_ACK_1], d.parameter[c.THANK_ACK_2])
    if thanks < 2:
        push(d, c.ACK if thanks else c.THANKYOU)
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
