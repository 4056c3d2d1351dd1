"""Whether users let values of a system act pass, and how they correct them.

The rules, in their order and with their draws, are those of `dialogue/offers.py`.
"""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.kernel.rng import choose, happens, which
from mwzeval.pydial.batched.layout import (
    CONFIRM,
    DENY,
    DONTCARE,
    INFORM,
    NEGATE,
    NO_VALUE,
    NONE,
    PARAMETERS,
)
from mwzeval.pydial.batched.user.agenda import (
    coded,
    extend,
    is_negated,
    leave,
    push_item,
    slot_of,
    value_of,
)
from mwzeval.pydial.batched.user.goals import (
    constrains,
    forget,
    forget_answers,
    set_request,
    wanted,
)

_CONFIRM_RANDOM_CONSTRAINT = PARAMETERS["confirm_random_constraint"]
_OVERRULE_CORRECTION = PARAMETERS["overrule_correction"]
_CORRECTING_ACT_1 = PARAMETERS["correcting_act_1"]
_CORRECTING_ACT_2 = PARAMETERS["correcting_act_2"]


@compiled
def accepts(constraint: int, said: int) -> bool:
    """Tell whether a constraint accepts what was said of the same slot."""
    same = value_of(constraint) == value_of(said)
    if is_negated(constraint):
        return is_negated(said) or not (same or value_of(said) == DONTCARE)
    if value_of(constraint) == DONTCARE:
        return not is_negated(said)
    return same != is_negated(said)


@compiled
def _satisfied(d: Any, items: Any, number: int, slot: int) -> bool:
    for at in range(number):
        if slot_of(items[at]) != slot:
            continue
        for index in range(d.constraints):
            constraint = d.constraint[index]
            if slot_of(constraint) == slot and not accepts(constraint, items[at]):
                return False
    return True


@compiled
def _unsaid(d: Any, items: Any, number: int, which_one: int) -> int:
    """Return a constraint that the user may check by its number from 0; with -1 how many."""
    found = 0
    for index in range(d.constraints):
        constraint = d.constraint[index]
        if value_of(constraint) != DONTCARE and not _mentioned(d, items, number, constraint):
            if found == which_one:
                return coded(slot_of(constraint), value_of(constraint), False)
            found += 1
    return found


@compiled
def _mentioned(d: Any, items: Any, number: int, constraint: int) -> bool:
    """Tell whether an act mentions a constraint: it says so, or that a slot has another value."""
    slot, first = slot_of(constraint), NO_VALUE
    for at in range(number):
        if items[at] == constraint:
            return True
        if first == NO_VALUE and slot_of(items[at]) == slot and not is_negated(items[at]):
            first = value_of(items[at])
    if first == NO_VALUE:
        return False
    for index in range(d.constraints):
        other = d.constraint[index]
        if slot_of(other) == slot and is_negated(other) and value_of(other) != first:
            return True
    return False


@compiled
def agrees(t: Any, d: Any, items: Any, number: int, asked: bool) -> bool:
    """Tell whether the user lets an act of the system pass; if not, the agenda has the reaction."""
    nothing_matches = answers = False
    for at in range(number):
        slot = slot_of(items[at])
        if slot == t.name and value_of(items[at]) == NONE and not is_negated(items[at]):
            nothing_matches = True
        if t.is_answer[slot]:
            answers = True
    unsaid = 0 if nothing_matches else _unsaid(d, items, number, -1)
    checks_own = False
    for at in range(number):
        slot = slot_of(items[at])
        correct = False
        if constrains(d, slot):
            satisfied = _satisfied(d, items, number, slot)
            if not satisfied and wanted(d, slot, True) != NO_VALUE:
                if nothing_matches and slot == t.name:
                    forget(d, slot, True)
                else:
                    correct = True
            if slot == t.name and not answers and not correct:
                continue
            value = wanted(d, slot, False)
            if value != NO_VALUE and not satisfied:
                correct = correct or (slot != t.name if nothing_matches else value != DONTCARE)
        elif t.is_asked_by_user[slot]:
            continue
        if correct:
            _correct(t, d, items, number, at, unsaid)
            return False
        if unsaid > 0 and not checks_own and not asked:
            if happens(d, d.parameters[_CONFIRM_RANDOM_CONSTRAINT]):
                push_item(d, CONFIRM, _unsaid(d, items, number, choose(d, unsaid)))
                checks_own = True
        elif nothing_matches:
            d.told_nothing_matches = True
    if checks_own:
        for at in range(number):
            if not is_negated(items[at]):
                set_request(d, slot_of(items[at]), value_of(items[at]), not t.legacy)
    return not checks_own


@compiled
def _correct(t: Any, d: Any, items: Any, number: int, at: int, unsaid: int) -> None:
    """Push the correction of an item, or goodbye when patience is at its end."""
    lost = 1 - d.patience / d.max_patience
    if happens(d, lost * lost):
        leave(d)
        return
    if unsaid > 0 and happens(d, d.parameters[_OVERRULE_CORRECTION]):
        push_item(d, CONFIRM, _unsaid(d, items, number, choose(d, unsaid)))
    else:
        _push_correction(d, items[at])
    forget_answers(d)


@compiled
def _push_correction(d: Any, said: int) -> None:
    slot = slot_of(said)
    unwanted = wanted(d, slot, True)
    if unwanted != NO_VALUE:
        push_item(d, INFORM, coded(slot, unwanted, True))
        return
    value = wanted(d, slot, False)
    right = coded(slot, value if value != NO_VALUE else DONTCARE, False)
    way = which(d, d.parameters[_CORRECTING_ACT_1], d.parameters[_CORRECTING_ACT_2])
    if way == 0:
        push_item(d, NEGATE, right)
    elif way == 1:
        push_item(d, DENY, coded(slot, value_of(said), False))
        extend(d, right)
    else:
        push_item(d, INFORM, right)
