"""The focus tracker: new evidence replaces older evidence in proportion to its probability.

Source: the published program, as described in the specification of the benchmark. `legacy`
reproduces three errors of the published program. A value without a slot is only understood after a
request; after other acts, such a value still makes the method "byconstraints". The method "none"
has an outdated probability, and an offer is remembered across dialogues.
"""

from __future__ import annotations

from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.codes import coded, is_negated, slot_of, value_of
from mwzeval.pydial.simulator.layout import Dialogue, Items, Shared
from mwzeval.pydial.simulator.native import fill, summed


def begin_belief(t: Shared, d: Dialogue) -> None:
    """Reset the belief to an empty belief at the start of a dialogue."""
    for index in range(t.informables):
        _forget(d, t.informable[index])
    fill(d.methods, 0.0)
    d.methods[c.NO_METHOD] = 1.0
    fill(d.discourse, 0.0)
    fill(d.requested, 0.0)
    d.last_offered = c.NO_VALUE
    d.offers = 0
    d.nothing_found = d.offered = False
    if not t.legacy:
        d.offered_before = False


def _forget(d: Dialogue, slot: int) -> None:
    d.believed[slot] = 0
    d.none[slot] = 1.0
    d.best[slot] = d.second[slot] = c.NO_VALUE
    d.best_mass[slot] = d.second_mass[slot] = 0.0
    d.accepted[slot] = False


def track(t: Shared, d: Dialogue) -> bool:
    """Update the belief with the N-best list; return whether the belief about a slot changed."""
    act, items = d.system_act[d.now], d.system_item[d.now]
    number = d.system_items[d.now]
    this = confirmed = -1
    if number == 0:
        pass
    elif act == c.REQUEST:
        this = slot_of(items[0])
    elif act == c.SELECT and not t.legacy:
        this = slot_of(items[number - 1])
    elif act == c.CONFIRM and value_of(items[0]) != c.NO_VALUE:
        confirmed = coded(slot_of(items[0]), value_of(items[0]), False)
        if not t.legacy:
            this = slot_of(confirmed)
    _remember(t, d, act, items, number)
    fill(t.evidence, 0)
    fill(t.evidence_methods, 0.0)
    fill(t.evidence_requested, -1.0)
    fill(d.discourse, 0.0)
    total = summed(d.score, d.hypotheses)
    if total == 0.0:
        total = 1.0
    for rank in range(d.hypotheses):
        interpret(t, d, rank, this, confirmed, d.score[rank] / total)
    changed = False
    for index in range(t.informables):
        slot = t.informable[index]
        if t.evidence[slot] > 0:
            _update_slot(t, d, slot)
            changed = True
    _update_methods(t, d)
    _update_requested(t, d, act, items, number)
    return changed


def _remember(t: Shared, d: Dialogue, act: int, items: Items, number: int) -> None:
    """Store the system's offer, or the fact that it found nothing."""
    d.nothing_found = d.offered = False
    if act != c.INFORM:
        return
    offered = c.NO_VALUE
    for at in range(number):
        if slot_of(items[at]) == t.name and not is_negated(items[at]):
            offered = value_of(items[at])
            if offered == c.NONE:
                d.nothing_found = True
    if d.nothing_found:
        d.offers = 0
    elif offered != c.NO_VALUE:
        d.offered = True
        d.last_offered = offered
        d.offer[d.offers] = offered
        d.offers += 1
        d.offered_before = True


def _update_slot(t: Shared, d: Dialogue, slot: int) -> None:
    """Replace older evidence about a slot in proportion to the probability of new evidence."""
    first, count = t.first[slot], d.believed[slot]
    values, mass = d.value, d.mass
    total = summed(t.evidence_score[slot], t.evidence[slot])
    old = count > 0
    if old:
        kept = 1.0 - total
        if kept > 0.0:
            for at in range(first, first + count):
                mass[at] *= kept
        else:
            count = 0
    for index in range(t.evidence[slot]):
        value, score = t.evidence_value[slot][index], t.evidence_score[slot][index]
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


def _rank(t: Shared, d: Dialogue, slot: int, first: int, count: int) -> None:
    best = second = c.NO_VALUE
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


def _update_methods(t: Shared, d: Dialogue) -> None:
    heard, methods = t.evidence_methods, d.methods
    if heard[c.NO_METHOD] == 1.0:
        return
    kept = min(1.0, max(0.0, heard[c.NO_METHOD]))
    none = methods[c.NO_METHOD]
    for index in range(c.NUMBER_OF_METHODS):
        methods[index] = kept * methods[index] + heard[index]
    if t.legacy:
        methods[c.NO_METHOD] = none
        total = summed(methods, c.NUMBER_OF_METHODS)
        if total > 1.0:
            for index in range(c.NUMBER_OF_METHODS):
                methods[index] /= total
    else:
        methods[c.NO_METHOD] = max(
            0.0, 1.0 - summed(methods[c.NO_METHOD + 1 :], c.NUMBER_OF_METHODS - 1)
        )


def _update_requested(t: Shared, d: Dialogue, act: int, items: Items, number: int) -> None:
    if act == c.INFORM and not d.nothing_found:
        for at in range(number):
            slot, value = slot_of(items[at]), value_of(items[at])
            if slot != t.name and value != c.NO_VALUE and value != c.NONE:
                d.requested[slot] = 0.0
    for index in range(t.requestables):
        slot = t.requestable[index]
        score = t.evidence_requested[slot]
        if score >= 0.0:
            d.requested[slot] = min(1.0, d.requested[slot] + score)


def interpret(t: Shared, d: Dialogue, rank: int, this: int, confirmed: int, score: float) -> None:
    """Interpret a hypothesis, and add its score to the evidence for each of its items.

    `this` is the slot to which values without a slot refer. `confirmed` is the item that the system
    asked the user to confirm. `this` and `confirmed` may be -1 (none).
    """
    row, act = _in_context(t, d, rank, this, confirmed)
    items = d.hypothesis_item[row]
    number = 1 if row == c.HYPOTHESES else d.hypothesis_items[rank]
    asks = informs = name = about_this = False
    first = 0
    if act == c.DENY:
        first = 1 if _corrects(t, items, number) else number
    elif act == c.CONFIRM:
        asks = _ask(t, items, number, score, False)
        first = number
    elif act == c.NULL or act >= c.BADACT:
        first = number
    elif act == c.REQUEST:
        asks = _ask(t, items, number, score, True)
    for at in range(first, number):
        slot = slot_of(items[at])
        if not _is_known(t, items[at]) or _told(t, items, first, at, slot):
            continue
        value = value_of(items[at])
        for later in range(at + 1, number):
            if slot_of(items[later]) == slot and _is_known(t, items[later]):
                value = value_of(items[later])
        if slot == t.this:
            about_this = True
        else:
            informs = True
            name = name or slot == t.name
            _add(t, slot, value, score)
    if about_this and this >= 0 and t.is_informable[this]:
        # As in the original, a confirmed name without preference is not a search by name.
        informs = True
        if not _told(t, items, first, number, this):
            _add(t, this, c.DONTCARE, score)
    elif about_this:
        informs = bool(t.legacy) or informs
    if act == c.AFFIRM and confirmed >= 0:
        slot = slot_of(confirmed)
        # A hypothesis has at most one value of a slot.
        told = (about_this and slot == this) or _told(t, items, first, number, slot)
        if t.is_informable[slot] and not told:
            _add(t, slot, value_of(confirmed), score)
    t.evidence_methods[_method(d, act, informs, name, asks)] += score
    d.discourse[_discourse_act(act)] += score


def _in_context(t: Shared, d: Dialogue, rank: int, this: int, confirmed: int) -> tuple[int, int]:
    """Return the index of a hypothesis's items, and its act. A mere yes or no is interpreted."""
    act = int(d.hypothesis_act[rank])
    if d.hypothesis_items[rank] == 0 and (act == c.AFFIRM or act == c.NEGATE):
        value = c.NO_VALUE
        if confirmed >= 0 and d.system_items[d.now] == 1:
            this = slot_of(confirmed)
            value = value_of(confirmed) if act == c.AFFIRM else c.NO_VALUE
        elif this >= 0 and t.is_binary[this] and d.system_act[d.now] == c.REQUEST:
            value = t.yes[this] if act == c.AFFIRM else t.no[this]
        if value != c.NO_VALUE:
            d.hypothesis_item[c.HYPOTHESES][0] = coded(this, value, False)
            return c.HYPOTHESES, c.INFORM
    return rank, act


def _is_known(t: Shared, item: int) -> bool:
    slot = slot_of(item)
    if value_of(item) == c.NO_VALUE or is_negated(item):
        return False
    return slot == t.this or bool(t.is_informable[slot])


def _told(t: Shared, items: Items, first: int, number: int, slot: int) -> bool:
    """Return whether items give a slot a value."""
    for at in range(first, number):
        if slot_of(items[at]) == slot and _is_known(t, items[at]):
            return True
    return False


def _corrects(t: Shared, items: Items, number: int) -> bool:
    """Return whether a denial also gives a new value (in `legacy`, without any "dontcare")."""
    if number != 2 or slot_of(items[0]) != slot_of(items[1]):
        return False
    lost = value_of(items[0]) == c.DONTCARE or value_of(items[1]) == c.DONTCARE
    return not (t.legacy and lost)


def _ask(t: Shared, items: Items, number: int, score: float, bare: bool) -> bool:
    """Add evidence for requests with or (if `bare`) without a value; return whether any exist."""
    some = False
    for at in range(number):
        slot = slot_of(items[at])
        if bare:
            asked = value_of(items[at]) == c.NO_VALUE
        else:
            asked = _is_known(t, items[at]) and slot != t.this
        if not asked:
            continue
        some = True
        before = False
        for earlier in range(at):
            item = items[earlier]
            if slot_of(item) == slot and (value_of(item) == c.NO_VALUE) == bare:
                before = True
        if not before:
            t.evidence_requested[slot] = max(t.evidence_requested[slot], 0.0) + score
    return some


def _add(t: Shared, slot: int, value: int, score: float) -> None:
    number = t.evidence[slot]
    for index in range(number):
        if t.evidence_value[slot][index] == value:
            t.evidence_score[slot][index] += score
            return
    t.evidence_value[slot][number], t.evidence_score[slot][number] = value, score
    t.evidence[slot] = number + 1


def _method(d: Dialogue, act: int, informs: bool, name: bool, asks: bool) -> int:
    if act == c.REQALTS:
        return c.BY_ALTERNATIVES
    if act == c.BYE:
        return c.FINISHED
    if informs:
        return c.BY_NAME if name else c.BY_CONSTRAINTS
    if act == c.RESTART:
        return c.RESTARTED
    return c.BY_NAME if asks and d.offered_before else c.NO_METHOD


def _discourse_act(act: int) -> int:
    if act == c.SILENCE:
        return c.SILENT
    if act == c.REPEAT:
        return c.REPEATED
    if act == c.THANKYOU:
        return c.THANKED
    if act == c.ACK:
        return c.ACKNOWLEDGED
    if act == c.HELLO:
        return c.GREETED
    return c.SAID_BYE if act == c.BYE else c.NO_DISCOURSE_ACT
