"""What a simulated user says of what it means to say: the top of the agenda, and maybe more.

Source: PyDial 1.4's agenda-based user, response from the agenda.
"""

from __future__ import annotations

from mwzeval.pydial.agenda import TYPE
from mwzeval.pydial.dialogue.acts import BYE, DONTCARE, REQALTS, Act, Item
from mwzeval.pydial.dialogue.ontology import NAME
from mwzeval.pydial.user_state import UserState

NEAR = "near"
SAID_AS_THEY_ARE = frozenset({"thankyou", "repeat", "ack", "deny", "confirm"})
GIVING = frozenset({"inform", "confirm"})
GIVING_WITH_ITEMS = frozenset({"affirm", "negate"})
COMBINED = frozenset({"inform", "negate", "hello", "affirm"})


def reply(user: UserState) -> Act:
    """Return what the user says, taken from its agenda."""
    agenda = user.agenda
    act = agenda.pop() if len(agenda) else BYE
    if any(item.negated for item in act.items):
        act = REQALTS
    if act.items and (act.name in GIVING or act.name in GIVING_WITH_ITEMS):
        agenda.drop_told({item.slot for item in act.items})
    if act.name not in SAID_AS_THEY_ARE and user.last_heard.name != "reqmore":
        act = user.last_said = _combined(user, act)
    return _normal(user, act)


def _combined(user: UserState, act: Act) -> Act:
    """Return the act with what is left out or added by chance."""
    agenda, parameters, chance = user.agenda, user.parameters, user.chance
    name, items = act
    if name == "inform":
        if (
            user.last_heard.name in ("request", "select")
            and items
            and items[0].value == DONTCARE
            and chance.happens(parameters.no_slot_with_dontcare)
        ):
            items = (Item("", DONTCARE), *items[1:])
    elif name == "request" and len(items) == 1:
        recommended = user.goal.recommended
        if recommended is not None and chance.happens(parameters.add_venue_name_to_request):
            items = (*items, Item(NAME, recommended))
    if name in COMBINED:
        added = ("inform", "request") if name == "hello" else ("inform",)
        while agenda.top is not None and agenda.top.name in added:
            if not chance.happens(parameters.inform_combination):
                break
            items += agenda.pop().items
    return act if items is act.items else Act(name, items)


def _normal(user: UserState, act: Act) -> Act:
    """Return the act as it is said.

    Legacy: who asks for the name says nothing, `inform()`, and asking for what is near becomes a
    question whether the first thing mentioned has the value that is wanted near.
    """
    name, items = act
    if not items:
        return act
    if user.legacy and name == "request":
        if Item(NAME) in items:
            name, items = "inform", tuple(item for item in items if item != (NAME, None, False))
        elif any(item.slot == NEAR for item in items):
            value = user.goal.wanted(NEAR)
            if value is not None and value != DONTCARE:
                name, items = "confirm", (Item(items[0].slot, value), *items[1:])
    if any(not item.slot and item.value != DONTCARE for item in items):
        items = tuple(
            item if item.slot or item.value == DONTCARE else item._replace(slot=TYPE)
            for item in items
        )
    return act if items is act.items else Act(name, items)
