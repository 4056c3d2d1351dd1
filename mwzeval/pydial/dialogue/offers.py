"""How a simulated user takes an offer or answer: it corrects, accepts, asks on or changes the goal.

Source: PyDial 1.4's agenda-based user, the rule for system informs and the corrections it makes.
"""

from __future__ import annotations

from collections.abc import Sequence

from mwzeval.pydial.dialogue.acts import ACK, DONTCARE, NONE, REQALTS, THANKYOU, Act, Item
from mwzeval.pydial.dialogue.domain import NAME
from mwzeval.pydial.dialogue.goals import TYPE, Goal
from mwzeval.pydial.dialogue.user_parameters import UserState

UNCHECKED = frozenset({"count", "option"})


def accepts(wanted: Item, said: Item) -> bool:
    """Tell whether a constraint accepts what was said of the same slot."""
    same = wanted.value == said.value
    if wanted.negated:
        return said.negated or not (same or said.value == DONTCARE)
    if wanted.value == DONTCARE:
        return not said.negated
    return same is not said.negated


def agrees(user: UserState, act: Act, *, asked: bool = False) -> bool:
    """Tell whether the user lets an act of the system pass; if not, the agenda has the reaction.

    `asked` tells that the system asked whether this is so; otherwise the user may check a
    constraint of its own that was not mentioned, and listens no further.
    """
    goal, rng, parameters = user.goal, user.rng, user.parameters
    ontology = user.domain.ontology
    nothing_matches = any(i.slot == NAME and i.value == NONE and not i.negated for i in act.items)
    answers = any(i.slot in ontology.answer_slots for i in act.items)
    unsaid = [] if nothing_matches else _unsaid(goal, act)
    checks_own = False
    for item in act.items:
        slot = item.slot
        if slot in UNCHECKED:
            continue
        correct = False
        constrained = [i for i in goal.constraints if i.slot == slot]
        if constrained:
            satisfied = _satisfied(constrained, act.items)
            if not satisfied and goal.unwanted(slot) is not None:
                if nothing_matches and slot == NAME:
                    goal.constraints = [
                        i for i in goal.constraints if i.slot != NAME or not i.negated
                    ]
                else:
                    correct = True
            if slot == NAME and not answers and not correct:
                continue  # another offer is always welcome
            wanted = goal.wanted(slot)
            if wanted is not None and not satisfied:
                correct |= slot != NAME if nothing_matches else wanted != DONTCARE
        elif slot in ontology.asked_by_user:
            continue
        if correct:
            _correct(user, item, unsaid)
            return False
        if unsaid and not checks_own and not asked:
            if rng.happens(parameters.confirm_random_constraint):
                user.agenda.push(Act("confirm", (rng.choose(unsaid),)))
                checks_own = True
        elif nothing_matches:
            goal.told_nothing_matches = True
    if checks_own:
        for item in act.items:
            # The original lets whatever was said become a request, which must be answered again
            # when an offer is refused.
            if not item.negated and (user.legacy or item.slot in goal.requests):
                goal.requests[item.slot] = item.value
    return not checks_own


def _unsaid(goal: Goal, act: Act) -> list[Item]:
    """Return what the user may ask about instead: constraints that the act does not mention.

    A slot that must not have one value is mentioned by any other, whatever else it must be. The
    user asks for a value that it does not want like for one that it does.
    """
    said = set(act.items)
    first = {item.slot: item.value for item in reversed(act.items) if not item.negated}
    mentioned = {
        i.slot for i in goal.constraints if i.negated and first.get(i.slot, i.value) != i.value
    }
    return [
        Item(i.slot, i.value)
        for i in goal.constraints
        if i.value != DONTCARE and i not in said and i.slot not in mentioned
    ]


def _satisfied(constraints: Sequence[Item], items: Sequence[Item]) -> bool:
    slot = constraints[0].slot
    return all(accepts(c, item) for item in items if item.slot == slot for c in constraints)


def _correct(user: UserState, item: Item, unsaid: Sequence[Item]) -> None:
    """Push the correction of an item, or goodbye when patience is at its end."""
    rng, parameters, agenda = user.rng, user.parameters, user.agenda
    if rng.happens((1 - user.patience / user.max_patience) ** 2):
        agenda.leave()
        return
    if item.slot == TYPE:
        correction = Act("inform", (Item(TYPE, user.domain.ontology.entity_type),))
    elif unsaid and rng.happens(parameters.overrule_correction):
        correction = Act("confirm", (rng.choose(unsaid),))
    else:
        correction = _correction(user, item)
    agenda.push(correction)
    user.goal.forget_answers()


def _correction(user: UserState, item: Item) -> Act:
    slot = item.slot
    unwanted = user.goal.unwanted(slot)
    if unwanted is not None:
        return Act("inform", (Item(slot, unwanted, negated=True),))
    right = Item(slot, user.goal.wanted(slot) or DONTCARE)
    way = user.rng.which(user.parameters.correcting_act_1, user.parameters.correcting_act_2)
    if way == 0:
        return Act("negate", (right,))
    if way == 1:
        return Act("deny", (Item(slot, item.value), right))
    return Act("inform", (right,))


def hear_inform(user: UserState, act: Act) -> None:
    """Push the reaction to `inform(name="x",…)`, `inform(name=none,…)` and the like."""
    goal, agenda, parameters, rng = user.goal, user.agenda, user.parameters, user.rng
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
            reaction = rng.which(
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
        if rng.happens(parameters.bye_or_start_over):
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
    goal, agenda, parameters, rng = user.goal, user.agenda, user.parameters, user.rng
    ontology = user.domain.ontology
    kept = (None, NONE, DONTCARE, ontology.entity_type)
    mentioned = [
        item.slot
        for item in act.items
        if item.slot in ontology.constraint_slots and item.value not in kept
    ]
    slot = rng.choose(mentioned or [item.slot for item in goal.constraints])
    goal.forget_names()
    value = DONTCARE
    if not rng.happens(parameters.constraint_relax):
        if slot in goal.used:
            unused = [v for v in ontology.informable.get(slot, ()) if v not in goal.used[slot]]
            if unused:
                value = rng.choose(unused)
        goal.use(slot, value)
    goal.replace(slot, value)
    if nothing_matches or rng.happens(parameters.tell_about_change):
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
    return user.rng.choose(fitting or excluded)


def _ask_on(user: UserState, selected: str | None) -> None:
    """Push thanks, or the question for what is still to be told."""
    goal, agenda, parameters, rng = user.goal, user.agenda, user.parameters, user.rng
    if rng.happens(parameters.inform_to_confirm):
        agenda.confirm_instead()
    thanks = rng.which(parameters.thank_ack_1, parameters.thank_ack_2)
    if thanks < 2:
        agenda.push((THANKYOU, ACK)[thanks])
        return
    if len(agenda) > 1 and rng.happens(parameters.deal_with_pending):
        return
    unfilled = goal.unfilled()
    if not unfilled:
        return
    asked = [Item(NAME, selected)] if selected is not None else []
    asked.append(Item(unfilled[0]))
    for slot in unfilled[1:]:
        if not rng.happens(parameters.add_slot_to_request):
            break
        asked.append(Item(slot))
    agenda.push(Act("request", tuple(asked)))
