"""A user's agenda, a stack of acts in the record of a dialogue (`dialogue/goals.py`)."""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.layout import (
    AFFIRM,
    BYE,
    CONFIRM,
    DONTCARE,
    INFORM,
    NEGATED,
    SLOT_BIT,
    VALUE_BITS,
    ZERO,
    item_code,
)

coded = compiled(item_code)


@compiled
def slot_of(item: int) -> int:
    """Return the slot of an item."""
    return item >> SLOT_BIT


@compiled
def value_of(item: int) -> int:
    """Return the value of an item, `NO_VALUE` for one that has none."""
    return item & VALUE_BITS


@compiled
def is_negated(item: int) -> bool:
    """Tell whether an item is `slot!=value`."""
    return item & NEGATED != 0


@compiled
def begin_of(d: Any, index: int) -> int:
    """Return where the items of an act of the agenda begin."""
    return d.agenda_end[index - 1] if index > 0 else 0


@compiled
def push(d: Any, act: int) -> None:
    """Put an act without items on top."""
    d.agenda_act[d.agenda] = act
    d.agenda_end[d.agenda] = begin_of(d, d.agenda)
    d.agenda += 1


@compiled
def extend(d: Any, item: int) -> None:
    """Give the act on top one more item."""
    top = d.agenda - 1
    d.agenda_item[d.agenda_end[top]] = item
    d.agenda_end[top] += 1


@compiled
def push_item(d: Any, act: int, item: int) -> None:
    """Put an act with one item on top."""
    push(d, act)
    extend(d, item)


@compiled
def leave(d: Any) -> None:
    """Mean nothing but to say goodbye."""
    d.agenda = 0
    push(d, BYE)


@compiled
def top_act(d: Any) -> int:
    """Return the name of the act on top, -1 when there is none."""
    return d.agenda_act[d.agenda - 1] if d.agenda > 0 else -1


@compiled
def pop(d: Any) -> None:
    """Let the user say the act on top, beside what is said already."""
    top = d.agenda - 1
    for at in range(begin_of(d, top), d.agenda_end[top]):
        d.said_item[d.said_items] = d.agenda_item[at]
        d.said_items += 1
    d.agenda = top


@compiled
def _mentions(d: Any, begin: int, end: int, slot: int) -> bool:
    for at in range(begin, end):
        if slot_of(d.agenda_item[at]) == slot:
            return True
    return False


@compiled
def drop_told(d: Any, slot: int) -> None:
    """Remove informs, confirms and affirms that mention a slot."""
    kept = begin = ZERO
    for index in range(d.agenda):
        end = d.agenda_end[index]
        act = d.agenda_act[index]
        telling = act == INFORM or act == CONFIRM or act == AFFIRM
        if not (telling and _mentions(d, begin, end, slot)):
            _keep(d, act, begin, end, kept)
            kept += 1
        begin = end
    d.agenda = kept


@compiled
def _keep(d: Any, act: int, begin: int, end: int, kept: int) -> None:
    """Move an act down the stack, to where `kept` acts are below it."""
    at = begin_of(d, kept)
    for source in range(begin, end):
        d.agenda_item[at] = d.agenda_item[source]
        at += 1
    d.agenda_act[kept] = act
    d.agenda_end[kept] = at


@compiled
def raise_informs(d: Any, slot: int) -> bool:
    """Move the informs about a slot to the top; tell whether there are any."""
    index, found = ZERO, 0
    for _ in range(d.agenda):
        begin, end = begin_of(d, index), d.agenda_end[index]
        if d.agenda_act[index] == INFORM and _mentions(d, begin, end, slot):
            _move_to_top(d, index, begin, end)
            found += 1
        else:
            index += 1
    return found > 0


@compiled
def _move_to_top(d: Any, index: int, begin: int, end: int) -> None:
    # What the user said last has been heard; its place is free.
    length = end - begin
    for at in range(length):
        d.said_item[at] = d.agenda_item[begin + at]
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
        d.agenda_item[at + source] = d.said_item[source]
    d.agenda_end[top] = at + length


@compiled
def confirm_instead(d: Any) -> None:
    """Turn informs into questions, but for those of no preference."""
    for index in range(d.agenda):
        begin = begin_of(d, index)
        if (
            d.agenda_act[index] == INFORM
            and d.agenda_end[index] > begin
            and value_of(d.agenda_item[begin]) != DONTCARE
        ):
            d.agenda_act[index] = CONFIRM
