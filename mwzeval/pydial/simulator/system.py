"""The system's side of a dialogue: summaries of the belief, observation vectors, action masks, and
the acts of summary actions.

Source: Casanueva et al. (2017), sections 3 and 4; the sizes of vectors (Table 2) and the conditions
of masks are those of the published program.

Where the order of slots is arbitrary, `legacy` uses the order of the published program. The program
ran on Python 2, whose dictionaries are ordered by hash. The iteration order is the same in every
run, so it is part of the benchmark: it determines which of several equally probable slots comes
first.
"""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.domain import Ontology
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.codes import coded
from mwzeval.pydial.simulator.layout import MATCHES, Dialogue, Shared
from mwzeval.pydial.simulator.native import (
    at_least_two,
    below,
    choose,
    copy_rows,
    count,
    differ,
    drop,
    fill,
    narrow,
    nth,
    put,
    recall,
    remember,
    summed,
    u64,
)

ABOUT_SLOTS = ("request", "confirm", "select")
GENERAL = (
    *("inform", "inform_byname", "inform_alternatives", "bye", "repeat", "reqmore", "restart"),
)
"""The summary actions: three per slot, followed by these."""
REQUEST, CONFIRM, SELECT = range(3)
INFORM, INFORM_BY_NAME, INFORM_ALTERNATIVES, BYE, REPEAT, REQMORE = range(6)
CERTAIN = 0.5
"""A slot or discourse act counts as requested or performed above this probability."""
FEW = 4
SMALLEST = 8
"""The minimum size of the hash tables of Python 2's dictionaries."""


def action_names(ontology: Ontology) -> tuple[str, ...]:
    """Return the names of the summary actions, in the order of their indices."""
    about = [f"{kind}_{slot}" for slot in ontology.constraint_slots for kind in ABOUT_SLOTS]
    return (*about, *GENERAL)


def sort_alphabetically(t: Shared, slots: Any, number: int) -> None:
    """Sort the first `number` slots of a list alphabetically."""
    for end in range(1, number):
        slot, at = slots[end], end
        while at > 0 and t.rank[slots[at - 1]] > t.rank[slot]:
            slots[at] = slots[at - 1]
            at -= 1
        slots[at] = slot


def _put(t: Shared, table: Any, size: int, slot: int) -> None:
    perturbed = t.hash[slot]
    place, mask = perturbed, u64(size - 1)
    while table[int(place & mask)] >= 0:
        place = u64(5) * place + perturbed + u64(1)
        perturbed >>= u64(5)
    table[int(place & mask)] = slot


def sort_as_dictionary(t: Shared, slots: Any, number: int) -> None:
    """Sort slots as in the iteration over a Python 2 dictionary that was filled in this order."""
    size = SMALLEST
    table = t.table
    fill(table, -1)
    for index in range(number):
        _put(t, table, size, slots[index])
        if (index + 1) * 3 >= size * 2:
            old = size
            size = SMALLEST
            while size <= (index + 1) * 4:
                size *= 2
            # The old table is moved behind the new one and then read in its order.
            for at in range(old):
                table[size + at] = table[at]
            for at in range(size):
                table[at] = -1
            for at in range(size, size + old):
                if table[at] >= 0:
                    _put(t, table, size, table[at])
    kept = 0
    for at in range(size):
        if table[at] >= 0:
            slots[kept] = table[at]
            kept += 1


def order(t: Shared, slots: Any, number: int) -> None:
    """Sort slots in the order that is used by default."""
    sort_alphabetically(t, slots, number)
    if t.legacy:
        sort_as_dictionary(t, slots, number)


def summarize(t: Shared, d: Dialogue) -> None:
    """Summarize the belief: find the accepted slots and the properties of the matching entities."""
    number, listed = 0, d.listed_slot
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
    if not recall(t, d):
        _match(t, d)
        remember(t, d)


def _match(t: Shared, d: Dialogue) -> None:
    """Find the matches of the accepted slots, and whether other slots distinguish them."""
    rows, number, accepted = d.rows, d.count, d.accepted_slot
    copy_rows(t.everything, rows)
    found = t.entities
    apart = _tells_apart(t, d, 0, found)
    for k in range(max(number, MATCHES)):
        if k < number:
            slot = accepted[k]
            if d.best[slot] != c.DONTCARE:
                narrow(rows, t.having[t.first[slot] + d.best[slot]])
                found = count(rows)
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


def _tells_apart(t: Shared, d: Dialogue, accepted: int, found: int) -> bool:
    """Return whether another slot distinguishes the matching entities."""
    if found < 2:
        return False
    for index in range(t.tellings):
        slot = t.telling[index]
        indifferent = False
        for at in range(accepted):
            if d.accepted_slot[at] == slot and d.best[slot] == c.DONTCARE:
                indifferent = True
        if not indifferent and differ(d.rows, t.alike, slot):
            return True
    return False


def method_of(t: Shared, d: Dialogue) -> int:
    """Return the most probable search method of the user, which is never "none"."""
    none = d.methods[c.NO_METHOD]
    if t.legacy:
        none = 1.0 - summed(d.methods, c.NUMBER_OF_METHODS)
    best, highest = c.NO_METHOD, none
    for index in range(c.NO_METHOD + 1, c.NUMBER_OF_METHODS):
        if d.methods[index] > highest:
            best, highest = index, d.methods[index]
    if best == c.NO_METHOD or ((best == c.FINISHED or best == c.RESTARTED) and highest <= CERTAIN):
        return c.BY_CONSTRAINTS
    return best


def has_thanked(d: Dialogue) -> bool:
    """Return whether the user probably thanked or acknowledged."""
    return d.discourse[c.THANKED] > CERTAIN or d.discourse[c.ACKNOWLEDGED] > CERTAIN


def top_name(t: Shared, d: Dialogue) -> int:
    """Return the most probable name, or `c.NO_VALUE` if "no name" is more probable."""
    return d.best[t.name] if d.best_mass[t.name] > d.none[t.name] else c.NO_VALUE


def write_vector(t: Shared, d: Dialogue, vector: Any) -> None:
    """Write the current belief into a vector that contains zeros."""
    for index in range(t.informables):
        slot = t.informable[index]
        place, first, number = t.value_place[slot], t.first[slot], t.numbers[slot]
        vector[place + number] = d.none[slot]
        for at in range(first, first + d.believed[slot]):
            value = d.value[at]
            if value == c.DONTCARE:
                vector[place + number + 1] = d.mass[at]
            elif c.FIRST_VALUE <= value < c.FIRST_VALUE + number:
                vector[place + value - c.FIRST_VALUE] = d.mass[at]
    put(vector, t.method_place, d.methods)
    for index in range(len(d.discourse)):
        if t.discourse_place[index] >= 0:
            vector[t.discourse_place[index]] = d.discourse[index]
    for index in range(t.requestables):
        slot = t.requestable[index]
        vector[t.requested_place[slot]] = d.requested[slot]
    vector[t.flag_place] = d.nothing_found
    vector[t.flag_place + 1] = d.offered
    put(vector, t.flag_place + 2, d.matches)


def write_mask(t: Shared, d: Dialogue, allowed: Any) -> None:
    """Write the action mask, which states for each summary action whether it is allowed."""
    method = method_of(t, d)
    d.asked = method == c.BY_ALTERNATIVES and not has_thanked(d)
    d.alternative_awaited = d.alternative_awaited or d.asked
    for index in range(t.constraints):
        slot = t.constraint[index]
        allowed[3 * index] = True
        allowed[3 * index + 1] = not t.masked or d.best_mass[slot] > 0.0
        allowed[3 * index + 2] = not t.masked or d.second_mass[slot] > 0.0
    at = 3 * t.constraints
    offered = d.last_offered != c.NO_VALUE
    if t.masked:
        settled = d.count >= t.enough or not d.discriminable
        named = offered or top_name(t, d) != c.NO_VALUE
        allowed[at] = method == c.BY_CONSTRAINTS and settled
        allowed[at + 1] = method == c.BY_NAME and named
        allowed[at + 2] = d.alternative_awaited and offered
    else:
        allowed[at] = allowed[at + 1] = allowed[at + 2] = True
    allowed[at + 3] = method == c.FINISHED if t.masked else t.bye_any_time
    allowed[at + 4] = False
    allowed[at + 5] = not t.masked or offered
    allowed[at + 6] = False


def say(d: Dialogue, act: int) -> None:
    """Start a new system act with the given name."""
    d.system_act[1 - d.now], d.system_items[1 - d.now] = act, 0


def add(d: Dialogue, slot: int, value: int, negated: bool) -> None:
    """Append an item to the next act of the system."""
    after = 1 - d.now
    d.system_item[after][d.system_items[after]] = coded(slot, value, negated)
    d.system_items[after] += 1


def say_action(t: Shared, d: Dialogue, action: int) -> None:
    """Create the system act of a summary action."""
    about = 3 * t.constraints
    if action < about:
        slot, kind = t.constraint[action // 3], action % 3
        if kind == REQUEST:
            say(d, c.REQUEST)
            add(d, slot, c.NO_VALUE, False)
        else:
            _ask_about(t, d, slot, 1 if kind == CONFIRM else 2)
    elif action == about + INFORM:
        offer_first(t, d, d.last_offered)
    elif action == about + INFORM_ALTERNATIVES:
        offer_another(t, d, d.offers)
    elif action == about + INFORM_BY_NAME:
        _answer_by_name(t, d)
    elif action == about + BYE:
        say(d, c.BYE)
    elif action == about + REQMORE:
        say(d, c.REQMORE)
    elif action == about + REPEAT:
        say(d, c.REPEAT)
    else:
        say(d, c.NULL)
    if action == about + INFORM_ALTERNATIVES:
        d.alternative_awaited = t.looks_again and d.asked


def _ask_about(t: Shared, d: Dialogue, slot: int, values: int) -> None:
    """Ask about the most probable values; if there are too few, add values of the ontology."""
    say(d, c.CONFIRM if values == 1 else c.SELECT)
    best = d.best[slot] if d.best_mass[slot] > 0.0 else c.NO_VALUE
    second = d.second[slot] if d.second_mass[slot] > 0.0 else c.NO_VALUE
    number = 0
    if best != c.NO_VALUE:
        add(d, slot, best, False)
        number += 1
    if second != c.NO_VALUE and number < values:
        add(d, slot, second, False)
        number += 1
    index = 0
    while number < values:
        value = c.FIRST_VALUE + index if index < t.numbers[slot] else c.DONTCARE
        if value != best:
            add(d, slot, value, False)
            number += 1
        index += 1


def offer_first(t: Shared, d: Dialogue, rather: int) -> None:
    """Offer the matching entity `rather` or else the first match; report if nothing matches."""
    if d.number == 0:
        _say_nothing_found(t, d)
        return
    copy_rows(d.rows, t.some)
    if rather != c.NO_VALUE:
        narrow(t.some, t.having[t.first[t.name] + rather])
        entity = nth(t.some, 0)
        if entity >= 0:
            _offer(t, d, entity)
            return
        copy_rows(d.rows, t.some)
    _offer(t, d, _first(t, d))


def offer_another(t: Shared, d: Dialogue, excluded: int) -> None:
    """Offer the first match except for `excluded` earlier offers, or inform that none is left."""
    if d.number == 0:
        _say_nothing_found(t, d)
        return
    copy_rows(d.rows, t.some)
    for index in range(excluded):
        drop(t.some, t.having[t.first[t.name] + d.offer[index]])
    if count(t.some) > 0:
        _offer(t, d, _first(t, d))
        return
    say(d, c.INFORM)
    add(d, t.name, c.NONE, False)
    for index in range(d.number):
        entity = nth(d.rows, index)
        add(d, t.name, t.value[entity][t.name], True)
    for index in range(_sample(t, d, d.listed_slot, d.count)):
        slot = t.sampled[index]
        add(d, slot, d.best[slot], False)


def _first(t: Shared, d: Dialogue) -> int:
    """Return the first of `some` entities or, without constraints, a random entity."""
    number = 0
    if at_least_two(t.some):
        for index in range(d.count):
            if d.best[d.accepted_slot[index]] != c.DONTCARE:
                return nth(t.some, 0)
        while nth(t.some, number) >= 0:
            number += 1
        return nth(t.some, choose(d, number))
    return nth(t.some, 0)


def _sample(t: Shared, d: Dialogue, slots: Any, number: int) -> int:
    """Choose at most `t.most` random slots without changing their order; return their number."""
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


def _offer(t: Shared, d: Dialogue, entity: int) -> None:
    number = _sample(t, d, d.listed_slot, d.count)
    for index in range(number, 0, -1):
        t.sampled[index] = t.sampled[index - 1]
    t.sampled[0] = t.name
    if t.legacy:
        sort_as_dictionary(t, t.sampled, number + 1)
    say(d, c.INFORM)
    for index in range(number + 1):
        slot = t.sampled[index]
        value = t.value[entity][slot]
        if t.available[t.first[slot] + value]:
            add(d, slot, value, False)


def _say_nothing_found(t: Shared, d: Dialogue) -> None:
    say(d, c.INFORM)
    add(d, t.name, c.NONE, False)
    for index in range(d.count):
        slot = d.listed_slot[index]
        if d.best[slot] != c.DONTCARE:
            add(d, slot, d.best[slot], False)


def is_asked(t: Shared, d: Dialogue) -> bool:
    """Return whether any slot is probably requested by the user."""
    for index in range(t.requestables):
        if d.requested[t.requestable[index]] > CERTAIN:
            return True
    return False


def say_answer(t: Shared, d: Dialogue, entity: int) -> None:
    """Inform about an entity's requested slots or, if nothing is requested, about a random slot."""
    asked, number = t.asked, 0
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
    others = 0
    for index in range(number):
        if asked[index] != t.name:
            asked[others] = asked[index]
            others += 1
    sampled = _sample(t, d, asked, others)
    say(d, c.INFORM)
    add(d, t.name, t.value[entity][t.name], False)
    for index in range(sampled):
        slot = t.sampled[index]
        value = t.value[entity][slot]
        add(d, slot, value if value != c.NO_VALUE else c.NONE, False)


def _answer_by_name(t: Shared, d: Dialogue) -> None:
    name = top_name(t, d)
    if name == c.NO_VALUE:
        name = d.last_offered
    entity = t.named[name]
    if entity >= 0:
        say_answer(t, d, entity)
    elif name != c.NO_VALUE:
        say(d, c.INFORM)
        add(d, t.name, c.NONE, False)
        add(d, t.name, name, False)
    else:
        say_answer(t, d, choose(d, t.entities))
