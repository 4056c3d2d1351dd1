"""A user's goal in the record of a dialogue, and how it is drawn (`dialogue/goals.py`)."""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.kernel.rng import choose, random
from mwzeval.pydial.batched.kernel.rows import at_least_two, count
from mwzeval.pydial.batched.layout import (
    BYE,
    DONTCARE,
    FIRST_VALUE,
    INFORM,
    NO_VALUE,
    PARAMETERS,
    ZERO,
)
from mwzeval.pydial.batched.user.agenda import (
    coded,
    is_negated,
    push,
    push_item,
    slot_of,
    value_of,
)
from mwzeval.pydial.dialogue.goals import (
    FEWEST_MATCHES,
    FURTHER_REQUESTS,
    MOST_MATCHES,
    TRIES,
)

_PARAMETERS = len(PARAMETERS)


@compiled
def constrains(d: Any, slot: int) -> bool:
    """Tell whether there is a constraint on a slot."""
    for at in range(d.constraints):
        if slot_of(d.constraint[at]) == slot:
            return True
    return False


@compiled
def wanted(d: Any, slot: int, negated: bool) -> int:
    """Return the first value that a slot is (not) to have, `NO_VALUE` if there is none."""
    for at in range(d.constraints):
        item = d.constraint[at]
        if slot_of(item) == slot and is_negated(item) == negated:
            return value_of(item)
    return NO_VALUE


@compiled
def add_constraint(d: Any, item: int) -> None:
    """Put a constraint at the end."""
    d.constraint[d.constraints] = item
    d.constraints += 1


@compiled
def replace(d: Any, slot: int, value: int) -> None:
    """Put `slot=value` at the end in place of what the slot was to be; `!=` stays."""
    kept = 0
    for at in range(d.constraints):
        item = d.constraint[at]
        if slot_of(item) != slot or is_negated(item):
            d.constraint[kept] = item
            kept += 1
    d.constraints = kept
    add_constraint(d, coded(slot, value, False))


@compiled
def forget(d: Any, slot: int, only_negated: bool) -> None:
    """Drop the constraints on a slot, or only what it is not to be."""
    kept = 0
    for at in range(d.constraints):
        item = d.constraint[at]
        if slot_of(item) != slot or (only_negated and not is_negated(item)):
            d.constraint[kept] = item
            kept += 1
    d.constraints = kept


@compiled
def use(t: Any, d: Any, slot: int, value: int) -> None:
    """Remember that a constraint had this value."""
    d.used[t.first[slot] + value] = True
    d.used_slot[slot] = True


@compiled
def accept_name(t: Any, d: Any, name: int) -> None:
    """Want this entity from now on, unless it is none or one that is not wanted."""
    if name == NO_VALUE:
        return
    refused = coded(t.name, name, True)
    for at in range(d.constraints):
        if d.constraint[at] == refused:
            return
    replace(d, t.name, name)


@compiled
def refuse_name(t: Any, d: Any, name: int) -> None:
    """Not want this entity, unless one is wanted by name."""
    if name != NO_VALUE and wanted(d, t.name, False) == NO_VALUE:
        add_constraint(d, coded(t.name, name, True))


@compiled
def set_request(d: Any, slot: int, value: int, only_known: bool) -> None:
    """Remember the answer to a request; without `only_known` it may become one."""
    for at in range(d.requests):
        if d.request_slot[at] == slot:
            d.request_value[at] = value
            return
    if not only_known:
        d.request_slot[d.requests] = slot
        d.request_value[d.requests] = value
        d.requests += 1


@compiled
def forget_answers(d: Any) -> None:
    """Make all requests open again."""
    for at in range(d.requests):
        d.request_value[at] = NO_VALUE


@compiled
def recommended(d: Any) -> int:
    """Return the name that the system has recommended last, `NO_VALUE` before it does."""
    return d.request_value[0]


@compiled
def next_unfilled(d: Any, begin: int) -> int:
    """Return where the next request without an answer is, -1 where there is none."""
    for at in range(begin, d.requests):
        if d.request_value[at] == NO_VALUE:
            return at
    return -1


@compiled
def completed(d: Any) -> bool:
    """Tell whether the user has nothing more to ask for."""
    return d.constraints == 0 or d.told_nothing_matches or next_unfilled(d, 0) < 0


@compiled
def achieved(t: Any, d: Any) -> bool:
    """Tell whether the user has got what is wanted now."""
    if next_unfilled(d, 0) >= 0:
        return False
    name = recommended(d)
    for at in range(d.constraints):
        item = d.constraint[at]
        value = value_of(item)
        if slot_of(item) == t.name and value != DONTCARE and is_negated(item) == (value == name):
            return False
    named = t.first[t.name] + name
    for word in range(t.words):
        rows = t.having[named, word]
        for at in range(d.constraints):
            slot, value = slot_of(d.constraint[at]), value_of(d.constraint[at])
            if slot != t.name and value != DONTCARE:
                rows &= t.having[t.first[slot] + value, word]
        if rows:
            return True
    return False


@compiled
def _draw_constraints(t: Any, d: Any) -> bool:
    """Draw slots and values once; tell whether two or three entities match."""
    order = choose(d, t.orders)
    words, rows = t.words, d.rows
    for word in range(words):
        rows[word] = t.everything[word]
    for index in range(t.picked):
        slot = t.order[order, index]
        # The last of the values is "dontcare".
        drawn = choose(d, t.numbers[slot] + 1)
        if drawn < t.numbers[slot]:
            value = FIRST_VALUE + drawn
            having = t.first[slot] + value
            for word in range(words):
                rows[word] &= t.having[having, word]
        else:
            value = DONTCARE
        if not at_least_two(rows, words):
            return False
        d.constraint[index] = coded(slot, value, False)
    return FEWEST_MATCHES <= count(rows, words) <= MOST_MATCHES


@compiled
def _draw_requests(t: Any, d: Any) -> None:
    """Ask for the name, and up to two slots more that only users ask for."""
    further = choose(d, FURTHER_REQUESTS + 1)
    rest, number = d.said_item, ZERO
    for index in range(t.requestables):
        slot = t.requestable[index]
        if t.is_asked_by_user[slot]:
            rest[number] = slot
            number += 1
    d.requests = 0
    set_request(d, t.name, NO_VALUE, False)
    for _ in range(min(further, number)):
        at = choose(d, number)
        set_request(d, rest[at], NO_VALUE, False)
        number -= 1
        rest[at] = rest[number]


@compiled
def draw_user(t: Any, d: Any) -> bool:
    """Draw parameters, patience and goal of a user; tell whether there is such a goal."""
    for index in range(_PARAMETERS):
        width = t.width[index]
        d.parameters[index] = t.low[index] + random(d) * width if width else t.low[index]
    d.patience = d.max_patience = t.patience[choose(d, t.patiences)]
    found = False
    for _ in range(TRIES):
        if _draw_constraints(t, d):
            found = True
            break
    if not found:
        return False
    d.constraints = t.picked
    _draw_requests(t, d)
    d.used[:] = 0
    d.used_slot[:] = 0
    d.agenda = 0
    push(d, BYE)
    for index in range(t.picked - 1, -1, -1):
        item = d.constraint[index]
        use(t, d, slot_of(item), value_of(item))
        push_item(d, INFORM, item)
    push_item(d, INFORM, coded(t.type, t.entity_type, False))
    d.first_offer_pending = True
    d.told_nothing_matches = False
    return True
