"""The error model in the record of a dialogue: what the system hears of a user act.

The rules, in their order and with their draws, are those of `dialogue/error_model.py`.
"""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.kernel.rng import choose, gauss, random, weighted, which
from mwzeval.pydial.batched.kernel.sums import rounded, summed
from mwzeval.pydial.batched.layout import (
    AFFIRM,
    BYE,
    CONFIRM,
    CORRECT,
    DONTCARE,
    FIRST_VALUE,
    INCORRECT,
    INFORM,
    NEGATE,
    NO_VALUE,
    NULL,
    REQALTS,
    REQUEST,
    ZERO,
)
from mwzeval.pydial.batched.user.agenda import coded, is_negated, slot_of, value_of
from mwzeval.pydial.batched.user.answers import says_the_same
from mwzeval.pydial.dialogue.error_model import (
    ACT,
    HIGHEST,
    LOWEST,
    PROBABILITY_OF_ACT,
    PROBABILITY_OF_SLOT,
    REDRAWS,
    SLOT,
    TRIES,
    VALUE,
)

RANKS = 6
"""Ranks that have confidences; the last is that of what remains."""


@compiled
def transmit(t: Any, d: Any) -> None:
    """Make the list of hypotheses of what the user said, with confidences that sum to 1."""
    if t.perfect:
        _copy_true_act(d, ZERO)
        d.score[0] = 1.0
        d.hypotheses = 1
        return
    position = _make_list(t, d)
    number = d.hypotheses
    looks_correct = position == 0 or (t.legacy and position < 0)
    kind = CORRECT if looks_correct else INCORRECT
    for rank in range(number):
        d.score[rank] = _clipped(gauss(d, t.means[kind, rank], t.deviations[kind, rank]))
    rest = 0.0
    for rank in range(number, RANKS):
        rest += _clipped(gauss(d, t.means[kind, rank], t.rest_deviations[kind, rank]))
    total = summed(d.score, number) + rest
    null = -1
    for rank in range(number):
        if d.heard_act[rank] == NULL and d.heard_items[rank] == 0:
            null = rank
            break
    if null < 0:
        d.heard_act[number], d.heard_items[number] = NULL, 0
        d.score[number] = rest
        d.hypotheses = number + 1
    else:
        d.score[null] += rest
    for rank in range(d.hypotheses):
        d.score[rank] /= total


@compiled
def _clipped(score: float) -> float:
    if score <= LOWEST:
        return LOWEST
    return HIGHEST if score >= HIGHEST else rounded(score)


@compiled
def _copy_true_act(d: Any, rank: int) -> None:
    d.heard_act[rank], d.heard_items[rank] = d.said_act, d.said_items
    for at in range(d.said_items):
        d.heard_item[rank, at] = d.said_item[at]


@compiled
def _make_list(t: Any, d: Any) -> int:
    """Make the list of acts; return where the true one is in it, -1 if it is absent."""
    position = 0
    if random(d) >= t.rate:
        length = weighted(d, t.lengths[CORRECT], t.length_number[CORRECT]) + 1
    else:
        length = weighted(d, t.lengths[INCORRECT], t.length_number[INCORRECT]) + 1
        position = weighted(d, t.positions, t.position_number)
        if position >= length:
            position = -1
    d.hypotheses = 0
    for rank in range(length):
        at = d.hypotheses
        if rank == position:
            _copy_true_act(d, at)
            d.hypotheses = at + 1
            continue
        for _ in range(REDRAWS):
            if _mishear(t, d, at) and not _is_listed(d, at):
                d.hypotheses = at + 1
                break
    return position


@compiled
def _is_listed(d: Any, last: int) -> bool:
    for rank in range(last):
        if d.heard_act[rank] == d.heard_act[last] and says_the_same(
            d.heard_item[rank], d.heard_items[rank], d.heard_item[last], d.heard_items[last]
        ):
            return True
    return False


@compiled
def _mishear(t: Any, d: Any, rank: int) -> bool:
    """Put another act than the true one in the list; tell whether one was found."""
    deepest = VALUE
    if d.said_items == 0 or slot_of(d.said_item[0]) == t.this:
        deepest = ACT
    elif not t.legacy and value_of(d.said_item[0]) == NO_VALUE:
        deepest = SLOT
    for _ in range(TRIES):
        what = min(which(d, PROBABILITY_OF_ACT, PROBABILITY_OF_SLOT), deepest)
        if what == ACT:
            _mishear_act(t, d, rank)
        elif what == SLOT:
            _mishear_slots(t, d, rank)
        else:
            _mishear_value(t, d, rank)
        if d.heard_act[rank] != BYE and not (
            d.heard_act[rank] == d.said_act
            and says_the_same(d.heard_item[rank], d.heard_items[rank], d.said_item, d.said_items)
        ):
            return True
    return False


@compiled
def _mishear_act(t: Any, d: Any, rank: int) -> None:
    act = d.said_act
    act = t.act_words[act, weighted(d, t.act_sums[act], t.act_number[act])]
    d.heard_act[rank], d.heard_items[rank] = act, 0
    gives = act == INFORM or act == AFFIRM or act == NEGATE or act == CONFIRM or act == REQALTS
    if gives:
        slot = t.requestable[choose(d, t.requestables)]
        d.heard_item[rank, 0] = _any_value(t, d, slot)
        d.heard_items[rank] = 1
    elif act == REQUEST:
        d.heard_item[rank, 0] = coded(t.requestable[choose(d, t.requestables)], NO_VALUE, False)
        d.heard_items[rank] = 1


@compiled
def _mishear_slots(t: Any, d: Any, rank: int) -> None:
    _copy_true_act(d, rank)
    for at in range(d.said_items):
        slot = slot_of(d.said_item[at])
        if t.is_untouched[slot]:
            break
        number = t.slot_number[slot]
        if number > 0:
            other = t.slot_words[slot, weighted(d, t.slot_sums[slot], number)]
            if value_of(d.said_item[at]) == NO_VALUE:
                d.heard_item[rank, at] = coded(other, NO_VALUE, False)
            else:
                d.heard_item[rank, at] = _any_value(t, d, other)


@compiled
def _mishear_value(t: Any, d: Any, rank: int) -> None:
    _copy_true_act(d, rank)
    at = choose(d, d.said_items)
    item = d.said_item[at]
    slot, value = slot_of(item), value_of(item)
    if slot == t.this or slot == t.type or value == NO_VALUE:
        return
    near = t.first[slot] + value
    if t.value_number[near] > 0:
        drawn = weighted(d, t.value_sums[near], t.value_number[near])
        d.heard_item[rank, at] = coded(slot, t.value_words[near, drawn], is_negated(item))
        return
    values = t.numbers[slot] + 1 if t.is_informable[slot] else 0
    is_among = values > 0 and (
        value == DONTCARE or FIRST_VALUE <= value < FIRST_VALUE + t.numbers[slot]
    )
    others = values - 1 if is_among else values
    if others == 0:
        return
    drawn = choose(d, others)
    own = t.numbers[slot] if value == DONTCARE else value - FIRST_VALUE
    if is_among and drawn >= own:
        drawn += 1
    d.heard_item[rank, at] = coded(slot, _value(t, slot, drawn), is_negated(item))


@compiled
def _value(t: Any, slot: int, index: int) -> int:
    """Return a value of a slot by its index; the last is no preference."""
    return DONTCARE if index == t.numbers[slot] else FIRST_VALUE + index


@compiled
def _any_value(t: Any, d: Any, slot: int) -> int:
    """Return the slot with any value, without one if its values are not listed."""
    if not t.is_informable[slot]:
        return coded(slot, NO_VALUE, False)
    return coded(slot, _value(t, slot, choose(d, t.numbers[slot] + 1)), False)
