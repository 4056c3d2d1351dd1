"""Summaries of beliefs, vectors for neural policies and masks, in the record of a dialogue.

The rules are those of `environments/features.py` and `environments/actions.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.kernel.rows import count, lowest
from mwzeval.pydial.batched.kernel.sums import summed
from mwzeval.pydial.batched.layout import DISCOURSE_ACTS, DONTCARE, FIRST_VALUE, NO_VALUE, ZERO
from mwzeval.pydial.dialogue.domain import METHODS
from mwzeval.pydial.environments.features import CERTAIN, FEW, MATCHES, NO_METHOD, SMALLEST

_METHODS, _DISCOURSE_ACTS = len(METHODS), len(DISCOURSE_ACTS)
BY_CONSTRAINTS, BY_NAME, FINISHED, BY_ALTERNATIVES, _RESTART = (
    METHODS.index(method)
    for method in ("byconstraints", "byname", "finished", "byalternatives", "restart")
)
REPEATED, _THANKED, _ACKNOWLEDGED, SAID_BYE = (
    DISCOURSE_ACTS.index(act) for act in ("repeat", "thankyou", "ack", "bye")
)
_1, _5 = np.uint64(1), np.uint64(5)


@compiled
def sort_alphabetically(t: Any, slots: Any, number: int) -> None:
    """Sort the first of some slots from a to z."""
    for end in range(1, number):
        slot, at = slots[end], end
        while at > 0 and t.rank[slots[at - 1]] > t.rank[slot]:
            slots[at] = slots[at - 1]
            at -= 1
        slots[at] = slot


@compiled
def _put(t: Any, table: Any, size: int, slot: int) -> None:
    perturbed = t.hash[slot]
    place, mask = perturbed, np.uint64(size - 1)
    while table[np.int64(place & mask)] >= 0:
        place = _5 * place + perturbed + _1
        perturbed >>= _5
    table[np.int64(place & mask)] = slot


@compiled
def sort_as_dictionary(t: Any, slots: Any, number: int) -> None:
    """Sort slots as a Python 2 dictionary lists them that they are put in in this order."""
    size = SMALLEST
    table = t.table
    table[:size] = -1
    for index in range(number):
        _put(t, table, size, slots[index])
        if (index + 1) * 3 >= size * 2:
            old = size
            size = SMALLEST
            while size <= (index + 1) * 4:
                size *= 2
            # The old table is moved behind the new one, to be read in its order.
            for at in range(old):
                table[size + at] = table[at]
            table[:size] = -1
            for at in range(size, size + old):
                if table[at] >= 0:
                    _put(t, table, size, table[at])
    kept = 0
    for at in range(size):
        if table[at] >= 0:
            slots[kept] = table[at]
            kept += 1


@compiled
def order(t: Any, slots: Any, number: int) -> None:
    """Put slots in the order in which they are said where nothing else decides."""
    sort_alphabetically(t, slots, number)
    if t.legacy:
        sort_as_dictionary(t, slots, number)


@compiled
def summarize(t: Any, d: Any) -> None:
    """Find the accepted slots, and what the entities say about them."""
    number, listed = ZERO, d.listed_slot
    for index in range(t.constraints):
        slot = t.constraint[index]
        if d.accepted[slot]:
            listed[number] = slot
            number += 1
    order(t, listed, number)
    d.count = number
    accepted = d.accepted_slot
    for end in range(number):
        slot, at = listed[end], end
        while at > 0 and d.best_mass[accepted[at - 1]] < d.best_mass[slot]:
            accepted[at] = accepted[at - 1]
            at -= 1
        accepted[at] = slot
    rows, words = d.rows, t.words
    for word in range(words):
        rows[word] = t.everything[word]
    found = t.entities
    apart = _tells_apart(t, d, ZERO, found)
    for k in range(max(number, MATCHES)):
        if k < number:
            slot = accepted[k]
            if d.best[slot] != DONTCARE:
                having = t.first[slot] + d.best[slot]
                for word in range(words):
                    rows[word] &= t.having[having, word]
                found = count(rows, words)
            apart = _tells_apart(t, d, k + 1, found)
        if k < MATCHES:
            about = 5 * k
            d.matches[about] = found == 0
            d.matches[about + 1] = found == 1
            d.matches[about + 2] = 1 < found <= FEW
            d.matches[about + 3] = found > FEW
            d.matches[about + 4] = apart
    d.number = found
    d.discriminable = apart


@compiled
def _tells_apart(t: Any, d: Any, accepted: int, found: int) -> bool:
    """Tell whether another slot would tell the matching entities apart."""
    if found < 2:
        return False
    for index in range(t.tellings):
        slot = t.telling[index]
        indifferent = False
        for at in range(accepted):
            if d.accepted_slot[at] == slot and d.best[slot] == DONTCARE:
                indifferent = True
        if not indifferent and _differ(t, d, slot):
            return True
    return False


@compiled
def _differ(t: Any, d: Any, slot: int) -> bool:
    first = -1
    for word in range(t.words):
        bits = d.rows[word]
        while bits:
            value = t.alike[64 * word + lowest(bits), slot]
            if first < 0:
                first = value
            elif value != first:
                return True
            bits &= bits - _1
    return False


@compiled
def method_of(t: Any, d: Any) -> int:
    """Return how the user goes about it, never "none"."""
    none = d.methods[NO_METHOD]
    if t.legacy:
        none = 1.0 - summed(d.methods, _METHODS)
    best, highest = NO_METHOD, none
    for index in range(NO_METHOD + 1, _METHODS):
        if d.methods[index] > highest:
            best, highest = index, d.methods[index]
    if best == NO_METHOD or ((best == FINISHED or best == _RESTART) and highest <= CERTAIN):
        return BY_CONSTRAINTS
    return best


@compiled
def has_thanked(d: Any) -> bool:
    """Tell whether the user probably thanked or acknowledged."""
    return d.discourse[_THANKED] > CERTAIN or d.discourse[_ACKNOWLEDGED] > CERTAIN


@compiled
def top_name(t: Any, d: Any) -> int:
    """Return the likeliest name, `NO_VALUE` where no name is likelier than each."""
    return d.best[t.name] if d.best_mass[t.name] > d.none[t.name] else NO_VALUE


@compiled
def write_vector(t: Any, d: Any, vector: Any) -> None:
    """Write what is believed into a vector of zeros."""
    for index in range(t.informables):
        slot = t.informable[index]
        place, first, number = t.value_place[slot], t.first[slot], t.numbers[slot]
        vector[place + number] = d.none[slot]
        for at in range(first, first + d.believed[slot]):
            value = d.value[at]
            if value == DONTCARE:
                vector[place + number + 1] = d.mass[at]
            elif FIRST_VALUE <= value < FIRST_VALUE + number:
                vector[place + value - FIRST_VALUE] = d.mass[at]
    for index in range(_METHODS):
        vector[t.method_place + index] = d.methods[index]
    for index in range(_DISCOURSE_ACTS):
        if t.discourse_place[index] >= 0:
            vector[t.discourse_place[index]] = d.discourse[index]
    for index in range(t.requestables):
        slot = t.requestable[index]
        vector[t.requested_place[slot]] = d.requested[slot]
    vector[t.flag_place] = d.nothing_found
    vector[t.flag_place + 1] = d.offered
    for index in range(5 * MATCHES):
        vector[t.flag_place + 2 + index] = d.matches[index]


@compiled
def write_mask(t: Any, d: Any, allowed: Any) -> None:
    """Write for each action whether it is allowed."""
    method = method_of(t, d)
    d.asked = method == BY_ALTERNATIVES and not has_thanked(d)
    d.alternative_awaited = d.alternative_awaited or d.asked
    for index in range(t.constraints):
        slot = t.constraint[index]
        allowed[3 * index] = True
        allowed[3 * index + 1] = not t.masks_request or d.best_mass[slot] > 0.0
        allowed[3 * index + 2] = not t.masks_request or d.second_mass[slot] > 0.0
    at = 3 * t.constraints
    offered = d.last_offered != NO_VALUE
    if t.masks_inform:
        settled = d.count >= t.enough or not d.discriminable
        named = offered or top_name(t, d) != NO_VALUE
        allowed[at] = method == BY_CONSTRAINTS and settled
        allowed[at + 1] = method == BY_NAME and named
        allowed[at + 2] = d.alternative_awaited and offered
    else:
        allowed[at : at + 3] = True
    allowed[at + 3] = method == FINISHED if t.masks_bye else t.bye_any_time
    allowed[at + 4] = False
    allowed[at + 5] = not t.masks_request or offered
    allowed[at + 6] = False
