"""The user's goal, the random generation of goals, and the agenda, which is a stack of acts.

Source: Casanueva et al. (2017), section 4, and PyDial 1.4's goal generator.
"""

from __future__ import annotations

from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.codes import coded, is_negated, slot_of, value_of
from mwzeval.pydial.simulator.layout import Dialogue, Shared
from mwzeval.pydial.simulator.native import (
    at_least_two,
    choose,
    copy_rows,
    count,
    fill,
    narrow,
    random,
)

FURTHER_REQUESTS = 2
FEWEST_MATCHES, MOST_MATCHES = 2, 3
TRIES = 200_000
"""Maximum number of goals that are drawn to find an acceptable goal."""


def begin_of(d: Dialogue, index: int) -> int:
    """Return the index of the first item of an act on the agenda."""
    return d.agenda_end[index - 1] if index > 0 else 0


def push(d: Dialogue, act: int) -> None:
    """Push an act without items on the agenda."""
    d.agenda_act[d.agenda] = act
    d.agenda_end[d.agenda] = begin_of(d, d.agenda)
    d.agenda += 1


def extend(d: Dialogue, item: int) -> None:
    """Append an item to the top act of the agenda."""
    top = d.agenda - 1
    d.agenda_item[d.agenda_end[top]] = item
    d.agenda_end[top] += 1


def push_item(d: Dialogue, act: int, item: int) -> None:
    """Push an act with one item on the agenda."""
    push(d, act)
    extend(d, item)


def leave(d: Dialogue) -> None:
    """Replace all acts on the agenda by a goodbye."""
    d.agenda = 0
    push(d, c.BYE)


def top_act(d: Dialogue) -> int:
    """Return the name of the top act, or -1 if the agenda is empty."""
    return d.agenda_act[d.agenda - 1] if d.agenda > 0 else -1


def pop(d: Dialogue) -> None:
    """Remove the top act and append its items to the user act."""
    top = d.agenda - 1
    for at in range(begin_of(d, top), d.agenda_end[top]):
        d.user_item[d.user_items] = d.agenda_item[at]
        d.user_items += 1
    d.agenda = top


def _mentions(d: Dialogue, begin: int, end: int, slot: int) -> bool:
    for at in range(begin, end):
        if slot_of(d.agenda_item[at]) == slot:
            return True
    return False


def drop_informs(d: Dialogue, slot: int) -> None:
    """Remove inform, confirm and affirm acts that mention a slot."""
    kept = begin = 0
    for index in range(d.agenda):
        end = d.agenda_end[index]
        act = d.agenda_act[index]
        telling = act == c.INFORM or act == c.CONFIRM or act == c.AFFIRM
        if not (telling and _mentions(d, begin, end, slot)):
            _keep(d, act, begin, end, kept)
            kept += 1
        begin = end
    d.agenda = kept


def _keep(d: Dialogue, act: int, begin: int, end: int, kept: int) -> None:
    """Move an act down the stack, to the position `kept`."""
    at = begin_of(d, kept)
    for source in range(begin, end):
        d.agenda_item[at] = d.agenda_item[source]
        at += 1
    d.agenda_act[kept] = act
    d.agenda_end[kept] = at


def raise_informs(d: Dialogue, slot: int) -> bool:
    """Move the inform acts about a slot to the top; return whether there are any."""
    index, found = 0, 0
    for _ in range(d.agenda):
        begin, end = begin_of(d, index), d.agenda_end[index]
        if d.agenda_act[index] == c.INFORM and _mentions(d, begin, end, slot):
            _move_to_top(d, index, begin, end)
            found += 1
        else:
            index += 1
    return found > 0


def _move_to_top(d: Dialogue, index: int, begin: int, end: int) -> None:
    # The last user act has been processed, so its memory can be reused.
    length = end - begin
    for at in range(length):
        d.user_item[at] = d.agenda_item[begin + at]
    act = d.agenda_act[index]
    for above in range(index + 1, d.agenda):
        for at in range(begin_of(d, above), d.agenda_end[above]):
            d.agenda_item[at - length] = d.agenda_item[at]
    for above in range(index + 1, d.agenda):
        d.agenda_act[above - 1] = d.agenda_act[above]
        d.agenda_end[above - 1] = d.agenda_end[above] - length
    top = d.agenda - 1
    d.agenda_act[top] = act
    at = begin_of(d, top)
    for source in range(length):
        d.agenda_item[at + source] = d.user_item[source]
    d.agenda_end[top] = at + length


def confirm_instead(d: Dialogue) -> None:
    """Change inform acts to confirm acts, except for the value "dontcare"."""
    for index in range(d.agenda):
        begin = begin_of(d, index)
        if (
            d.agenda_act[index] == c.INFORM
            and d.agenda_end[index] > begin
            and value_of(d.agenda_item[begin]) != c.DONTCARE
        ):
            d.agenda_act[index] = c.CONFIRM


def constrains(d: Dialogue, slot: int) -> bool:
    """Return whether the goal has a constraint on a slot."""
    for at in range(d.constraints):
        if slot_of(d.constraint[at]) == slot:
            return True
    return False


def constraint_on(d: Dialogue, slot: int, negated: bool) -> int:
    """Return the first value of a slot that the goal requires (or excludes), or `c.NO_VALUE`."""
    for at in range(d.constraints):
        item = d.constraint[at]
        if slot_of(item) == slot and is_negated(item) == negated:
            return value_of(item)
    return c.NO_VALUE


def add_constraint(d: Dialogue, item: int) -> None:
    """Append a constraint to the goal."""
    d.constraint[d.constraints] = item
    d.constraints += 1


def replace(d: Dialogue, slot: int, value: int) -> None:
    """Remove the constraint on a slot and append `slot=value`; constraints with `!=` remain."""
    kept = 0
    for at in range(d.constraints):
        item = d.constraint[at]
        if slot_of(item) != slot or is_negated(item):
            d.constraint[kept] = item
            kept += 1
    d.constraints = kept
    add_constraint(d, coded(slot, value, False))


def forget(d: Dialogue, slot: int, only_negated: bool) -> None:
    """Remove all constraints on a slot, or only constraints with `!=`."""
    kept = 0
    for at in range(d.constraints):
        item = d.constraint[at]
        if slot_of(item) != slot or (only_negated and not is_negated(item)):
            d.constraint[kept] = item
            kept += 1
    d.constraints = kept


def use(t: Shared, d: Dialogue, slot: int, value: int) -> None:
    """Mark a value of a slot as used in a constraint."""
    d.used[t.first[slot] + value] = True
    d.used_slot[slot] = True


def accept_name(t: Shared, d: Dialogue, name: int) -> None:
    """Add a constraint on this name; without a name, or if the goal excludes it, do nothing."""
    if name == c.NO_VALUE:
        return
    refused = coded(t.name, name, True)
    for at in range(d.constraints):
        if d.constraint[at] == refused:
            return
    replace(d, t.name, name)


def refuse_name(t: Shared, d: Dialogue, name: int) -> None:
    """Add to the goal a constraint that excludes this name, unless the goal requires a name."""
    if name != c.NO_VALUE and constraint_on(d, t.name, False) == c.NO_VALUE:
        add_constraint(d, coded(t.name, name, True))


def set_request(d: Dialogue, slot: int, value: int, only_known: bool) -> None:
    """Store the answer to a request. A request is added if missing, unless `only_known` is true."""
    for at in range(d.requests):
        if d.request_slot[at] == slot:
            d.request_value[at] = value
            return
    if not only_known:
        d.request_slot[d.requests] = slot
        d.request_value[d.requests] = value
        d.requests += 1


def forget_answers(d: Dialogue) -> None:
    """Clear the answers to all requests."""
    for at in range(d.requests):
        d.request_value[at] = c.NO_VALUE


def recommended(d: Dialogue) -> int:
    """Return the last name that the system has recommended, or `c.NO_VALUE` if there is none."""
    return d.request_value[d.name_at]


def next_unfilled(d: Dialogue, begin: int) -> int:
    """Return the index of the next request without an answer, or -1 if all are answered."""
    for at in range(begin, d.requests):
        if d.request_value[at] == c.NO_VALUE:
            return at
    return -1


def completed(d: Dialogue) -> bool:
    """Return whether the user has no further requests."""
    return d.constraints == 0 or d.nothing_matches or next_unfilled(d, 0) < 0


def achieved(t: Shared, d: Dialogue) -> bool:
    """Return whether the user's current goal has been achieved."""
    if next_unfilled(d, 0) >= 0:
        return False
    name = recommended(d)
    for at in range(d.constraints):
        item = d.constraint[at]
        value = value_of(item)
        if slot_of(item) == t.name and value != c.DONTCARE and is_negated(item) == (value == name):
            return False
    copy_rows(t.having[t.first[t.name] + name], t.some)
    for at in range(d.constraints):
        slot, value = slot_of(d.constraint[at]), value_of(d.constraint[at])
        if slot != t.name and value != c.DONTCARE:
            narrow(t.some, t.having[t.first[slot] + value])
    return count(t.some) > 0


def _draw_constraints(t: Shared, d: Dialogue) -> bool:
    """Draw slots and values once, and return whether two or three entities match."""
    order = choose(d, t.orders)
    copy_rows(t.everything, d.rows)
    for index in range(t.picked):
        slot = t.order[order][index]
        # The last index is "dontcare".
        drawn = choose(d, t.numbers[slot] + 1)
        if drawn < t.numbers[slot]:
            value = c.FIRST_VALUE + drawn
            narrow(d.rows, t.having[t.first[slot] + value])
        else:
            value = c.DONTCARE
        # This check is faster than counting, and usually no entity matches.
        if not at_least_two(d.rows):
            return False
        d.constraint[index] = coded(slot, value, False)
    return FEWEST_MATCHES <= count(d.rows) <= MOST_MATCHES


def _draw_requests(t: Shared, d: Dialogue) -> None:
    """Add requests for the name and for up to two slots that only users can request."""
    further = choose(d, FURTHER_REQUESTS + 1)
    rest, number = d.user_item, 0
    for index in range(t.requestables):
        slot = t.requestable[index]
        if t.is_asked_by_user[slot]:
            rest[number] = slot
            number += 1
    d.requests = d.name_at = 0
    set_request(d, t.name, c.NO_VALUE, False)
    for _ in range(min(further, number)):
        at = choose(d, number)
        set_request(d, rest[at], c.NO_VALUE, False)
        number -= 1
        rest[at] = rest[number]


def draw_parameters(t: Shared, d: Dialogue) -> None:
    """Draw the user's patience and the probabilities of the user's behavior."""
    for index in range(len(d.parameter)):
        width = t.width[index]
        d.parameter[index] = t.low[index] + random(d) * width if width else t.low[index]
    d.patience = d.max_patience = t.patience[choose(d, t.patiences)]


def draw_goal(t: Shared, d: Dialogue) -> bool:
    """Draw a goal that two or three entities satisfy; return whether one was found.

    Slots and values (including "dontcare") are drawn again until two or three entities match, which
    favors slots with few values.
    """
    for _ in range(TRIES):
        if _draw_constraints(t, d):
            d.constraints = t.picked
            _draw_requests(t, d)
            return True
    return False


def prepare_user(t: Shared, d: Dialogue) -> None:
    """Push the initial agenda of a user with a goal: the type of entity and the constraints."""
    fill(d.used, 0)
    fill(d.used_slot, 0)
    d.agenda = 0
    push(d, c.BYE)
    for index in range(d.constraints - 1, -1, -1):
        item = d.constraint[index]
        use(t, d, slot_of(item), value_of(item))
        push_item(d, c.INFORM, item)
    push_item(d, c.INFORM, coded(t.type, t.entity_type, False))
    d.first_offer_pending = True
    d.nothing_matches = False
