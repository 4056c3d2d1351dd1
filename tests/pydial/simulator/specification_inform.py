"""How a simulated user of the original takes an offer or an answer.

Written down from the specification alone (4.5, inform); the numbers are those of its steps.
"""

from __future__ import annotations

from mwzeval.pydial.acts import DONTCARE, NONE, Act, Item
from tests.pydial.simulator.outcomes import Script
from tests.pydial.simulator.specification_goal import (
    NAME,
    TYPE,
    SpecifiedUser,
    accepted_by,
    check,
)


def hear_inform(user: SpecifiedUser, act: Act, rng: Script) -> None:
    """Put the reaction to an inform on the agenda."""
    parameters = user.parameters
    relax = name_none = False
    venues: list[str] = []
    offered: str | None = None
    for slot, value, negated in act.items:  # 1
        if slot != NAME:
            continue
        if negated:
            relax = name_none = False
            venues.append(str(value))
        elif value == NONE:
            relax = name_none = True
        else:
            relax, offered = False, value
    recommended = user.requests[NAME]
    if offered is not None and recommended is not None and offered != recommended:  # 2
        user.reset_requests()
    if not check(user, act, rng, from_confirm=False):  # 3
        return
    change = name_none  # 4
    if not name_none and user.first_offer_pending:
        user.first_offer_pending = False
        way = rng.which(parameters.request_alternatives_1, parameters.request_alternatives_2)
        if way == 0:
            user.add_name_is_not(offered)
            user.push("reqalts")
            return
        if way == 1:
            change = True
        else:
            user.set_name(offered)
    elif not name_none:
        user.set_name(offered)
    if change and user.constraints:  # 5
        _change(user, act, offered, rng, name_none=name_none)
        return
    selected: str | None = None
    if not change and venues:  # 6
        selected = _selected(user, act, venues, rng)
    if relax:  # 7
        if rng.happens(parameters.bye_or_start_over):
            user.clear_and_push_bye()
        else:
            user.push("inform", Item(TYPE, user.type_word))
        return
    for slot, value, negated in act.items:  # 8
        if slot in user.requests and not negated:
            user.requests[slot] = value
    if selected is not None:
        user.requests[NAME] = selected
    if rng.happens(parameters.inform_to_confirm):  # 9
        user.agenda = [
            Act("confirm", a.items)
            if a.name == "inform" and a.items and a.items[0].value != DONTCARE
            else a
            for a in user.agenda
        ]
    way = rng.which(parameters.thank_ack_1, parameters.thank_ack_2)  # 10
    if way < 2:
        user.push("thankyou" if way == 0 else "ack")
        return
    if len(user.agenda) > 1 and rng.happens(parameters.deal_with_pending):  # 11
        return
    unfilled = user.unfilled()
    if unfilled:  # 12
        asked = [Item(unfilled[0])] if selected is None else [Item(NAME, selected)]
        if selected is not None:
            asked.append(Item(unfilled[0]))
        for slot in unfilled[1:]:
            if not rng.happens(parameters.add_slot_to_request):
                break
            asked.append(Item(slot))
        user.push("request", *asked)


def _change(
    user: SpecifiedUser, act: Act, offered: str | None, rng: Script, *, name_none: bool
) -> None:
    """Change the goal (step 5)."""
    ontology = user.domain.ontology
    slots = [
        item.slot
        for item in act.items
        if item.slot in ontology.constraint_slots
        and item.value not in (None, NONE, DONTCARE, user.type_word)
    ]
    slot = rng.choose(slots or [c.slot for c in user.constraints])
    user.remove_name_constraints()
    value = DONTCARE
    if not rng.happens(user.parameters.constraint_relax):
        if slot in user.used:
            unused = [v for v in ontology.informable.get(slot, ()) if v not in user.used[slot]]
            value = rng.choose(unused) if unused else DONTCARE
        user.record(slot, value)
    user.put(slot, value)
    if name_none or rng.happens(user.parameters.tell_about_change):
        user.push("reqalts", Item(slot, value))
        return
    user.push("reqalts")
    if value == DONTCARE:
        user.add_name_is_not(offered)
    else:
        user.requests[slot] = None


def _selected(user: SpecifiedUser, act: Act, venues: list[str], rng: Script) -> str:
    """Return the venue taken of those that there are (step 6)."""
    names = user.constraints_on(NAME)
    possible = [v for v in venues if all(accepted_by(c, Item(NAME, v)) for c in names)]
    if not possible:
        user.remove_name_constraints()
        possible = venues
    mentioned = {item.slot for item in act.items}
    for constraint in list(user.constraints):
        if constraint.slot not in mentioned:
            user.put(constraint.slot, DONTCARE)
            user.remove_told([constraint.slot])
    return rng.choose(possible)
