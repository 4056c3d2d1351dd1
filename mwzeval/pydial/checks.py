"""Does what the system says agree with what the user wants? If not, the user corrects it.

Source: PyDial 1.4's agenda-based user, the part that pushes corrections.
"""

from __future__ import annotations

from collections.abc import Sequence

from mwzeval.pydial.agenda import TYPE
from mwzeval.pydial.dialogue.acts import DONTCARE, NONE, Act, Item
from mwzeval.pydial.dialogue.ontology import NAME
from mwzeval.pydial.user_state import UserState

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
    goal, chance, parameters = user.goal, user.chance, user.parameters
    ontology = user.domain.ontology
    nothing_matches = any(i.slot == NAME and i.value == NONE and not i.negated for i in act.items)
    answers = any(i.slot in ontology.answer_slots for i in act.items)
    said = set(act.items)
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
        # Constraints that the user may check instead.
        unsaid = (
            []
            if nothing_matches
            else [i for i in goal.constraints if i.value != DONTCARE and i not in said]
        )
        if correct:
            _correct(user, item, unsaid)
            return False
        if unsaid and not checks_own and not asked:
            if chance.happens(parameters.confirm_random_constraint):
                user.agenda.push(Act("confirm", (chance.choose(unsaid),)))
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


def _satisfied(constraints: Sequence[Item], items: Sequence[Item]) -> bool:
    slot = constraints[0].slot
    return all(accepts(c, item) for item in items if item.slot == slot for c in constraints)


def _correct(user: UserState, item: Item, unsaid: Sequence[Item]) -> None:
    """Push the correction of an item, or goodbye when patience is at its end."""
    chance, parameters, agenda = user.chance, user.parameters, user.agenda
    if chance.happens((1 - user.patience / user.max_patience) ** 2):
        agenda.leave()
        return
    if item.slot == TYPE:
        correction = Act("inform", (Item(TYPE, user.domain.ontology.entity_type),))
    elif unsaid and chance.happens(parameters.overrule_correction):
        correction = Act("confirm", (chance.choose(unsaid),))
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
    way = user.chance.which(user.parameters.correcting_act_1, user.parameters.correcting_act_2)
    if way == 0:
        return Act("negate", (right,))
    if way == 1:
        return Act("deny", (Item(slot, item.value), right))
    return Act("inform", (right,))
