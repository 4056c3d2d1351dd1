"""The error model, which converts a user act to an N-best list of hypotheses with confidences.

Source: Casanueva et al. (2017), section 3; PyDial 1.4 with the statistics of DSTC2. Wrong
hypotheses contain acts, slots and values whose spelling is similar to the true words (by
Levenshtein distance).
"""

from __future__ import annotations

from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.codes import coded, is_negated, slot_of, value_of
from mwzeval.pydial.simulator.layout import Dialogue, Shared
from mwzeval.pydial.simulator.native import choose, gauss, random, rounded, summed, weighted, which
from mwzeval.pydial.simulator.user import says_the_same

ACT, SLOT, VALUE = range(3)
PROBABILITY_OF_ACT, PROBABILITY_OF_SLOT = 0.2, 0.3
TRIES = 25
LOWEST, HIGHEST = 0.01, 0.99
REDRAWS = 1000
"""Maximum number of attempts to draw a hypothesis that is not yet in the list."""


def transmit(t: Shared, d: Dialogue) -> None:
    """Create the N-best list for the user act, with confidences that sum to 1."""
    if t.perfect:
        _copy_true_act(d, 0)
        d.score[0] = 1.0
        d.hypotheses = 1
        return
    position = _make_list(t, d)
    number = d.hypotheses
    looks_correct = position == 0 or (t.legacy and position < 0)
    kind = c.CORRECT if looks_correct else c.INCORRECT
    for rank in range(number):
        d.score[rank] = _clipped(gauss(d, t.means[kind][rank], t.deviations[kind][rank]))
    rest = 0.0
    for rank in range(number, c.HYPOTHESES):
        rest += _clipped(gauss(d, t.means[kind][rank], t.rest_deviations[kind][rank]))
    total = summed(d.score, number) + rest
    null = -1
    for rank in range(number):
        if d.hypothesis_act[rank] == c.NULL and d.hypothesis_items[rank] == 0:
            null = rank
            break
    if null < 0:
        d.hypothesis_act[number], d.hypothesis_items[number] = c.NULL, 0
        d.score[number] = rest
        d.hypotheses = number + 1
    else:
        d.score[null] += rest
    for rank in range(d.hypotheses):
        d.score[rank] /= total


def _clipped(score: float) -> float:
    if score <= LOWEST:
        return LOWEST
    return HIGHEST if score >= HIGHEST else rounded(score)


def _copy_true_act(d: Dialogue, rank: int) -> None:
    d.hypothesis_act[rank], d.hypothesis_items[rank] = d.user_act, d.user_items
    for at in range(d.user_items):
        d.hypothesis_item[rank][at] = d.user_item[at]


def _make_list(t: Shared, d: Dialogue) -> int:
    """Create the hypotheses. Return the rank of the true act, or -1 if it is absent."""
    position = 0
    if random(d) >= t.rate:
        length = weighted(d, t.lengths[c.CORRECT], t.length_number[c.CORRECT]) + 1
    else:
        length = weighted(d, t.lengths[c.INCORRECT], t.length_number[c.INCORRECT]) + 1
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


def _is_listed(d: Dialogue, last: int) -> bool:
    for rank in range(last):
        if d.hypothesis_act[rank] == d.hypothesis_act[last] and says_the_same(
            d.hypothesis_item[rank],
            d.hypothesis_items[rank],
            d.hypothesis_item[last],
            d.hypothesis_items[last],
        ):
            return True
    return False


def _mishear(t: Shared, d: Dialogue, rank: int) -> bool:
    """Write a wrong act at a rank of the list; return whether a wrong act was found."""
    deepest = VALUE
    if d.user_items == 0 or slot_of(d.user_item[0]) == t.this:
        deepest = ACT
    elif not t.legacy and value_of(d.user_item[0]) == c.NO_VALUE:
        deepest = SLOT
    for _ in range(TRIES):
        what = min(which(d, PROBABILITY_OF_ACT, PROBABILITY_OF_SLOT), deepest)
        if what == ACT:
            _mishear_act(t, d, rank)
        elif what == SLOT:
            _mishear_slots(t, d, rank)
        else:
            _mishear_value(t, d, rank)
        if d.hypothesis_act[rank] != c.BYE and not (
            d.hypothesis_act[rank] == d.user_act
            and says_the_same(
                d.hypothesis_item[rank], d.hypothesis_items[rank], d.user_item, d.user_items
            )
        ):
            return True
    return False


def _mishear_act(t: Shared, d: Dialogue, rank: int) -> None:
    act = d.user_act
    if t.act_number[act] > 0:
        act = t.act_words[act][weighted(d, t.act_sums[act], t.act_number[act])]
    d.hypothesis_act[rank], d.hypothesis_items[rank] = act, 0
    gives = (
        act == c.INFORM
        or act == c.AFFIRM
        or act == c.NEGATE
        or act == c.CONFIRM
        or act == c.REQALTS
    )
    if gives:
        slot = t.requestable[choose(d, t.requestables)]
        d.hypothesis_item[rank][0] = _any_value(t, d, slot)
        d.hypothesis_items[rank] = 1
    elif act == c.REQUEST:
        slot = t.requestable[choose(d, t.requestables)]
        d.hypothesis_item[rank][0] = coded(slot, c.NO_VALUE, False)
        d.hypothesis_items[rank] = 1


def _mishear_slots(t: Shared, d: Dialogue, rank: int) -> None:
    _copy_true_act(d, rank)
    for at in range(d.user_items):
        slot = slot_of(d.user_item[at])
        if t.is_untouched[slot]:
            break
        number = t.slot_number[slot]
        if number > 0:
            other = t.slot_words[slot][weighted(d, t.slot_sums[slot], number)]
            if value_of(d.user_item[at]) == c.NO_VALUE:
                d.hypothesis_item[rank][at] = coded(other, c.NO_VALUE, False)
            else:
                d.hypothesis_item[rank][at] = _any_value(t, d, other)


def _mishear_value(t: Shared, d: Dialogue, rank: int) -> None:
    _copy_true_act(d, rank)
    at = choose(d, d.user_items)
    item = d.user_item[at]
    slot, value = slot_of(item), value_of(item)
    if slot == t.this or slot == t.type or value == c.NO_VALUE:
        return
    near = t.first[slot] + value
    if t.value_number[near] > 0:
        drawn = weighted(d, t.value_sums[near], t.value_number[near])
        d.hypothesis_item[rank][at] = coded(slot, t.value_words[near][drawn], is_negated(item))
        return
    values = t.numbers[slot] + 1 if t.is_informable[slot] else 0
    is_among = values > 0 and (
        value == c.DONTCARE or c.FIRST_VALUE <= value < c.FIRST_VALUE + t.numbers[slot]
    )
    others = values - 1 if is_among else values
    if others == 0:
        return
    drawn = choose(d, others)
    own = t.numbers[slot] if value == c.DONTCARE else value - c.FIRST_VALUE
    if is_among and drawn >= own:
        drawn += 1
    d.hypothesis_item[rank][at] = coded(slot, _value(t, slot, drawn), is_negated(item))


def _value(t: Shared, slot: int, index: int) -> int:
    """Return the value of a slot at an index; the last value is "dontcare"."""
    return c.DONTCARE if index == t.numbers[slot] else c.FIRST_VALUE + index


def _any_value(t: Shared, d: Dialogue, slot: int) -> int:
    """Return a slot with a random value, or without a value if the ontology lists none."""
    if not t.is_informable[slot]:
        return coded(slot, c.NO_VALUE, False)
    return coded(slot, _value(t, slot, choose(d, t.numbers[slot] + 1)), False)
