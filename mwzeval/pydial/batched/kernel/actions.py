"""System acts in the record of a dialogue (`environments/actions.py`, `policies/handcrafted.py`).

An act is made where the next act of the system lies. Rules and draws are those of the scalar code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.kernel.rng import below, choose
from mwzeval.pydial.batched.kernel.rows import at_least_two, nth
from mwzeval.pydial.batched.kernel.summary import order, sort_as_dictionary, top_name
from mwzeval.pydial.batched.layout import (
    BYE,
    CONFIRM,
    DONTCARE,
    FIRST_VALUE,
    INFORM,
    NO_VALUE,
    NONE,
    NULL,
    REPEAT,
    REQMORE,
    REQUEST,
    SELECT,
    ZERO,
)
from mwzeval.pydial.batched.user.agenda import coded
from mwzeval.pydial.environments.actions import (
    ABOUT_SLOTS,
    ALTERNATIVES,
    GENERAL,
)
from mwzeval.pydial.environments.actions import BY_NAME as NAME_ACTION
from mwzeval.pydial.environments.actions import INFORM as INFORM_ACTION
from mwzeval.pydial.environments.features import CERTAIN

_KINDS = len(ABOUT_SLOTS)
_REQUEST, _CONFIRM = ABOUT_SLOTS.index("request"), ABOUT_SLOTS.index("confirm")
_INFORM, _BY_NAME, _BYE, _REPEAT, _REQMORE = (
    GENERAL.index(name) for name in (INFORM_ACTION, NAME_ACTION, "bye", "repeat", "reqmore")
)
_ALTERNATIVES = GENERAL.index(ALTERNATIVES)


@compiled
def say(d: Any, act: int) -> None:
    """Begin the next act of the system."""
    d.system_act[1 - d.now], d.system_items[1 - d.now] = act, 0


@compiled
def add(d: Any, slot: int, value: int, negated: bool) -> None:
    """Give the next act of the system one more item."""
    after = 1 - d.now
    d.system_item[after, d.system_items[after]] = coded(slot, value, negated)
    d.system_items[after] += 1


@compiled
def say_action(t: Any, d: Any, action: int) -> None:
    """Make the act that a summary action stands for."""
    about = 3 * t.constraints
    if action < about:
        slot, kind = t.constraint[action // _KINDS], action % _KINDS
        if kind == _REQUEST:
            say(d, REQUEST)
            add(d, slot, NO_VALUE, False)
        else:
            _ask_about(t, d, slot, 1 if kind == _CONFIRM else 2)
    elif action == about + _INFORM:
        offer_first(t, d, d.last_offered)
    elif action == about + _ALTERNATIVES:
        offer_another(t, d, d.offers)
    elif action == about + _BY_NAME:
        _answer_by_name(t, d)
    elif action == about + _BYE:
        say(d, BYE)
    elif action == about + _REQMORE:
        say(d, REQMORE)
    elif action == about + _REPEAT:
        say(d, REPEAT)
    else:
        say(d, NULL)
    if action == about + _ALTERNATIVES:
        d.alternative_awaited = t.looks_again and d.asked


@compiled
def _ask_about(t: Any, d: Any, slot: int, values: int) -> None:
    """Ask about the likeliest values; where there are less, about the first of the ontology."""
    say(d, CONFIRM if values == 1 else SELECT)
    best = d.best[slot] if d.best_mass[slot] > 0.0 else NO_VALUE
    second = d.second[slot] if d.second_mass[slot] > 0.0 else NO_VALUE
    number = 0
    if best != NO_VALUE:
        add(d, slot, best, False)
        number += 1
    if second != NO_VALUE and number < values:
        add(d, slot, second, False)
        number += 1
    index = 0
    while number < values:
        value = FIRST_VALUE + index if index < t.numbers[slot] else DONTCARE
        if value != best:
            add(d, slot, value, False)
            number += 1
        index += 1


@compiled
def offer_first(t: Any, d: Any, rather: int) -> None:
    """Offer the first match, or that named `rather`; or tell that there is none."""
    if d.number == 0:
        _say_nothing_found(t, d)
        return
    if rather != NO_VALUE:
        named = t.first[t.name] + rather
        for word in range(t.words):
            t.some[word] = d.rows[word] & t.having[named, word]
        entity = nth(t.some, t.words, ZERO)
        if entity >= 0:
            _offer(t, d, entity)
            return
    for word in range(t.words):
        t.some[word] = d.rows[word]
    _offer(t, d, _first(t, d))


@compiled
def offer_another(t: Any, d: Any, excluded: int) -> None:
    """Offer the first match but for some offers made; or tell that there is none."""
    if d.number == 0:
        _say_nothing_found(t, d)
        return
    left = np.uint64(0)
    for word in range(t.words):
        rows = d.rows[word]
        for index in range(excluded):
            rows &= ~t.having[t.first[t.name] + d.offer[index], word]
        t.some[word] = rows
        left |= rows
    if left:
        _offer(t, d, _first(t, d))
        return
    say(d, INFORM)
    add(d, t.name, NONE, False)
    for index in range(d.number):
        entity = nth(d.rows, t.words, index)
        add(d, t.name, np.int64(t.value[entity, t.name]), True)
    for index in range(_sample(t, d, d.listed_slot, d.count)):
        slot = t.sampled[index]
        add(d, slot, d.best[slot], False)


@compiled
def _first(t: Any, d: Any) -> int:
    """Return the first of `some` entities; where nothing is asked of them, any."""
    number = ZERO
    if at_least_two(t.some, t.words):
        for index in range(d.count):
            if d.best[d.accepted_slot[index]] != DONTCARE:
                return nth(t.some, t.words, ZERO)
        while nth(t.some, t.words, number) >= 0:
            number += 1
        return nth(t.some, t.words, choose(d, number))
    return nth(t.some, t.words, ZERO)


@compiled
def _sample(t: Any, d: Any, slots: Any, number: int) -> int:
    """Keep as many slots as are told at once, in their order; return how many those are."""
    for index in range(number):
        t.sampled[index] = slots[index]
    if number <= t.most:
        return number
    pool = t.swapped
    for index in range(number):
        pool[index] = index
        t.is_kept[index] = False
    for index in range(t.most):
        if number <= t.pool:
            at = below(d, number - index)
            t.is_kept[pool[at]] = True
            pool[at] = pool[number - index - 1]
        else:
            at = below(d, number)
            while t.is_kept[at]:
                at = below(d, number)
            t.is_kept[at] = True
    kept = 0
    for index in range(number):
        if t.is_kept[index]:
            t.sampled[kept] = slots[index]
            kept += 1
    return kept


@compiled
def _offer(t: Any, d: Any, entity: int) -> None:
    number = _sample(t, d, d.listed_slot, d.count)
    for index in range(number, 0, -1):
        t.sampled[index] = t.sampled[index - 1]
    t.sampled[0] = t.name
    if t.legacy:
        sort_as_dictionary(t, t.sampled, number + 1)
    say(d, INFORM)
    for index in range(number + 1):
        slot = t.sampled[index]
        value = np.int64(t.value[entity, slot])
        if t.told[t.first[slot] + value]:
            add(d, slot, value, False)


@compiled
def _say_nothing_found(t: Any, d: Any) -> None:
    say(d, INFORM)
    add(d, t.name, NONE, False)
    for index in range(d.count):
        slot = d.listed_slot[index]
        if d.best[slot] != DONTCARE:
            add(d, slot, d.best[slot], False)


@compiled
def is_asked(t: Any, d: Any) -> bool:
    """Tell whether the user probably asks for something."""
    for index in range(t.requestables):
        if d.requested[t.requestable[index]] > CERTAIN:
            return True
    return False


@compiled
def say_answer(t: Any, d: Any, entity: int) -> None:
    """Tell what is asked about an entity; something of it where nothing is asked."""
    asked, number = t.asked, ZERO
    for index in range(t.requestables):
        slot = t.requestable[index]
        if d.requested[slot] > CERTAIN:
            asked[number] = slot
            number += 1
    if number > 0:
        order(t, asked, number)
    else:
        drawn = choose(d, t.requestables - 1)
        for index in range(drawn + 1):
            if t.requestable[index] == t.name:
                drawn += 1
        asked[0] = t.requestable[drawn]
        number = 1
    others = ZERO
    for index in range(number):
        if asked[index] != t.name:
            asked[others] = asked[index]
            others += 1
    told = _sample(t, d, asked, others)
    say(d, INFORM)
    add(d, t.name, np.int64(t.value[entity, t.name]), False)
    for index in range(told):
        slot = t.sampled[index]
        value = np.int64(t.value[entity, slot])
        add(d, slot, value if value != NO_VALUE else NONE, False)


@compiled
def _answer_by_name(t: Any, d: Any) -> None:
    name = top_name(t, d)
    if name == NO_VALUE:
        name = d.last_offered
    entity = t.named[name]
    if entity >= 0:
        say_answer(t, d, entity)
    elif name != NO_VALUE:
        say(d, INFORM)
        add(d, t.name, NONE, False)
        add(d, t.name, name, False)
    else:
        say_answer(t, d, choose(d, t.entities))
