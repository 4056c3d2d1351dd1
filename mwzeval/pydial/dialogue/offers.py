"""How a simulated user takes an offer or an answer, which may change the goal.

Source: PyDial 1.4's agenda-based user, rule for system informs.
"""

from __future__ import annotations

from mwzeval.pydial.agenda import TYPE
from mwzeval.pydial.checks import accepts, agrees
from mwzeval.pydial.dialogue.acts import ACK, DONTCARE, NONE, REQALTS, THANKYOU, Act, Item
from mwzeval.pydial.dialogue.ontology import NAME
from mwzeval.pydial.user_state import UserState


def hear_inform(user: UserState, act: Act) -> None:
    """Push the reaction to `inform(name="x",…)`, `inform(name=none,…)` and the like."""
    goal, agenda, parameters, chance = user.goal, user.agenda, user.parameters, user.chance
    offered, excluded, nothing_matches, must_relax = _names(act)
    if offered is not None and goal.recommended is not None and offered != goal.recommended:
        goal.forget_answers()
    if not agrees(user, act):
        return
    change = nothing_matches
    if not change:
        reaction = 2
        if user.first_offer_pending:
            user.first_offer_pending = False
            reaction = chance.which(
                parameters.request_alternatives_1, parameters.request_alternatives_2
            )
        if reaction == 0:
            goal.refuse_name(offered)
            agenda.push(REQALTS)
            return
        if reaction == 1:
            change = True
        else:
            goal.accept_name(offered)
    if change and goal.constraints:
        _change_goal(user, act, offered, nothing_matches=nothing_matches)
        return
    selected = _give_in(user, act, excluded) if excluded and not change else None
    if must_relax:
        if chance.happens(parameters.bye_or_start_over):
            agenda.leave()
        else:
            agenda.push(Act("inform", (Item(TYPE, user.domain.ontology.entity_type),)))
        return
    for item in act.items:
        if not item.negated and item.slot in goal.requests:
            goal.requests[item.slot] = item.value
    if selected is not None:
        goal.requests[NAME] = selected
    _ask_on(user, selected)


def _names(act: Act) -> tuple[str | None, list[str], bool, bool]:
    """Return the name offered, the names excluded, whether nothing matches and must be relaxed."""
    offered = None
    excluded = []
    nothing_matches = must_relax = False
    for item in act.items:
        if item.slot != NAME or item.value is None:
            continue
        if item.negated:
            nothing_matches = must_relax = False
            excluded.append(item.value)
        elif item.value == NONE:
            nothing_matches = must_relax = True
        else:
            must_relax = False
            offered = item.value
    return offered, excluded, nothing_matches, must_relax


def _change_goal(user: UserState, act: Act, offered: str | None, *, nothing_matches: bool) -> None:
    """Relax or change a constraint, one of those mentioned if possible, and ask again."""
    goal, agenda, parameters, chance = user.goal, user.agenda, user.parameters, user.chance
    ontology = user.domain.ontology
    kept = (None, NONE, DONTCARE, ontology.entity_type)
    mentioned = [
        item.slot
        for item in act.items
        if item.slot in ontology.constraint_slots and item.value not in kept
    ]
    slot = chance.choose(mentioned or [item.slot for item in goal.constraints])
    goal.forget_names()
    value = DONTCARE
    if not chance.happens(parameters.constraint_relax) and slot in goal.used:
        unused = [v for v in ontology.informable.get(slot, ()) if v not in goal.used[slot]]
        if unused:
            value = chance.choose(unused)
    goal.use(slot, value)
    goal.replace(slot, value)
    if nothing_matches or chance.happens(parameters.tell_about_change):
        agenda.push(Act("reqalts", (Item(slot, value),)))
        return
    agenda.push(REQALTS)
    if value == DONTCARE:
        goal.refuse_name(offered)
    else:
        goal.requests[slot] = None


def _give_in(user: UserState, act: Act, excluded: list[str]) -> str:
    """Return the one chosen of the entities that the system says are all there are.

    Constraints that the system did not mention are given up.
    """
    goal = user.goal
    names = [item for item in goal.constraints if item.slot == NAME]
    fitting = [name for name in excluded if all(accepts(i, Item(NAME, name)) for i in names)]
    if not fitting:
        goal.forget_names()
    mentioned = {item.slot for item in act.items}
    for item in list(goal.constraints):
        if item.slot not in mentioned:
            goal.replace(item.slot, DONTCARE)
            user.agenda.drop_told((item.slot,))
    return user.chance.choose(fitting or excluded)


def _ask_on(user: UserState, selected: str | None) -> None:
    """Push thanks, or the question for what is still to be told."""
    goal, agenda, parameters, chance = user.goal, user.agenda, user.parameters, user.chance
    if chance.happens(parameters.inform_to_confirm):
        agenda.confirm_instead()
    thanks = chance.which(parameters.thank_ack_1, parameters.thank_ack_2)
    if thanks < 2:
        agenda.push((THANKYOU, ACK)[thanks])
        return
    if len(agenda) > 1 and chance.happens(parameters.deal_with_pending):
        return
    unfilled = goal.unfilled()
    if not unfilled:
        return
    asked = [Item(NAME, selected)] if selected is not None else []
    asked.append(Item(unfilled[0]))
    for slot in unfilled[1:]:
        if not chance.happens(parameters.add_slot_to_request):
            break
        asked.append(Item(slot))
    agenda.push(Act("request", tuple(asked)))
