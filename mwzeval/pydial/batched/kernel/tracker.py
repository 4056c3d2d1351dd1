"""The focus tracker in the record of a dialogue (`dialogue/tracker.py`, `dialogue/belief.py`)."""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.kernel.meaning import interpret
from mwzeval.pydial.batched.kernel.sums import summed
from mwzeval.pydial.batched.layout import CONFIRM, INFORM, NO_VALUE, NONE, REQUEST, SELECT
from mwzeval.pydial.batched.user.agenda import is_negated, slot_of, value_of
from mwzeval.pydial.dialogue.domain import METHODS
from mwzeval.pydial.dialogue.tracker import NO_METHOD

_METHODS = len(METHODS)


@compiled
def begin_belief(t: Any, d: Any) -> None:
    """Start a dialogue: nothing is known, nothing was said."""
    for index in range(t.informables):
        _forget(d, t.informable[index])
    d.methods[:] = 0.0
    d.methods[NO_METHOD] = 1.0
    d.discourse[:] = 0.0
    d.requested[:] = 0.0
    d.last_offered = NO_VALUE
    d.offers = 0
    d.nothing_found = d.offered = False
    if not t.legacy:
        d.offered_before = False


@compiled
def _forget(d: Any, slot: int) -> None:
    d.believed[slot] = 0
    d.none[slot] = 1.0
    d.best[slot] = d.second[slot] = NO_VALUE
    d.best_mass[slot] = d.second_mass[slot] = 0.0
    d.accepted[slot] = False


@compiled
def track(t: Any, d: Any) -> bool:
    """Take in what the user may have said; tell whether that changed the belief of a slot."""
    act, items = d.system_act[d.now], d.system_item[d.now]
    number = d.system_items[d.now]
    this = confirmed = -1
    if act == REQUEST:
        this = slot_of(items[0])
    elif act == SELECT and not t.legacy:
        this = slot_of(items[number - 1])
    elif act == CONFIRM:
        confirmed = items[0]
        if not t.legacy:
            this = slot_of(confirmed)
    _remember(t, d, act, items, number)
    for index in range(t.informables):
        t.heard[t.informable[index]] = 0
    t.heard_methods[:] = 0.0
    t.heard_requested[:] = -1.0
    d.discourse[:] = 0.0
    total = summed(d.score, d.hypotheses)
    if total == 0.0:
        total = 1.0
    for rank in range(d.hypotheses):
        interpret(t, d, rank, this, confirmed, d.score[rank] / total)
    changed = False
    for index in range(t.informables):
        slot = t.informable[index]
        if t.heard[slot] > 0:
            _update_slot(t, d, slot)
            changed = True
    _update_methods(t, d)
    _update_requested(t, d, act, items, number)
    return changed


@compiled
def _remember(t: Any, d: Any, act: int, items: Any, number: int) -> None:
    """Remember what the system offered, or that it found nothing."""
    d.nothing_found = d.offered = False
    if act != INFORM:
        return
    offered = NO_VALUE
    for at in range(number):
        if slot_of(items[at]) == t.name and not is_negated(items[at]):
            offered = value_of(items[at])
            if offered == NONE:
                d.nothing_found = True
    if d.nothing_found:
        d.offers = 0
    elif offered != NO_VALUE:
        d.offered = True
        d.last_offered = offered
        d.offer[d.offers] = offered
        d.offers += 1
        d.offered_before = True


@compiled
def _update_slot(t: Any, d: Any, slot: int) -> None:
    """Let new evidence about a slot replace older evidence in proportion to its mass."""
    first, count = t.first[slot], d.believed[slot]
    values, mass = d.value, d.mass
    total = summed(t.heard_score[slot], t.heard[slot])
    old = count > 0
    if old:
        kept = 1.0 - total
        if kept > 0.0:
            for at in range(first, first + count):
                mass[at] *= kept
        else:
            count = 0
    for index in range(t.heard[slot]):
        value, score = t.heard_value[slot, index], t.heard_score[slot, index]
        found = False
        for at in range(first, first + count):
            if values[at] == value:
                mass[at] += score
                found = True
                break
        if not found:
            values[first + count], mass[first + count] = value, score
            count += 1
    d.believed[slot] = count
    if old:
        total = summed(mass[first : first + count], count)
    if total > 1.0:
        for at in range(first, first + count):
            mass[at] /= total
        total = 1.0
    d.none[slot] = 1.0 - total
    _rank(t, d, slot, first, count)


@compiled
def _rank(t: Any, d: Any, slot: int, first: int, count: int) -> None:
    best = second = NO_VALUE
    highest = next_highest = 0.0
    for at in range(first, first + count):
        mass = d.mass[at]
        if mass > highest:
            second, next_highest = best, highest
            best, highest = d.value[at], mass
        elif mass > next_highest:
            second, next_highest = d.value[at], mass
    d.best[slot], d.best_mass[slot] = best, highest
    d.second[slot], d.second_mass[slot] = second, next_highest
    d.accepted[slot] = highest > d.none[slot] and highest > t.threshold[slot]


@compiled
def _update_methods(t: Any, d: Any) -> None:
    heard, methods = t.heard_methods, d.methods
    if heard[NO_METHOD] == 1.0:
        return
    kept = min(1.0, max(0.0, heard[NO_METHOD]))
    none = methods[NO_METHOD]
    for index in range(_METHODS):
        methods[index] = kept * methods[index] + heard[index]
    if t.legacy:
        methods[NO_METHOD] = none
        total = summed(methods, _METHODS)
        if total > 1.0:
            for index in range(_METHODS):
                methods[index] /= total
    else:
        methods[NO_METHOD] = max(0.0, 1.0 - summed(methods[NO_METHOD + 1 :], _METHODS - 1))


@compiled
def _update_requested(t: Any, d: Any, act: int, items: Any, number: int) -> None:
    if act == INFORM and not d.nothing_found:
        for at in range(number):
            slot, value = slot_of(items[at]), value_of(items[at])
            if slot != t.name and value != NO_VALUE and value != NONE:
                d.requested[slot] = 0.0
    for index in range(t.requestables):
        slot = t.requestable[index]
        score = t.heard_requested[slot]
        if score >= 0.0:
            d.requested[slot] = min(1.0, d.requested[slot] + score)
