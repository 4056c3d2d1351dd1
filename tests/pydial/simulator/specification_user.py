"""How a simulated user of the original takes a system act and answers it.

Written down from the specification alone (4.4, 4.5, 4.7), sentence by sentence, for tests to
compare with. Asking to repeat and saying nothing (4.4, step 5) have probability 0 and are left out.
"""

from __future__ import annotations

from collections.abc import Callable

from mwzeval.pydial.acts import DONTCARE, Act, Item
from tests.pydial.simulator.outcomes import Script
from tests.pydial.simulator.specification_goal import NAME, TYPE, SpecifiedUser, check
from tests.pydial.simulator.specification_inform import hear_inform


def hear(user: SpecifiedUser, act: Act, rng: Script) -> None:
    """Put the reaction to a system act on the agenda (4.4)."""
    previous = user.last_heard
    if user.last_said.name == previous.name == act.name == "repeat":
        user.patience = 0
    elif act.name in ("null", "badact") or (
        _equal(act, previous) and user.last_said.name != "repeat"
    ):
        user.patience -= 1
    user.last_heard = act
    if user.patience < 1:
        user.clear_and_push_bye()
        return
    completed = not user.constraints or user.nothing_matches or not user.unfilled()
    if completed and not user.agenda and act.name != "reqmore" and rng.happens(0.85):
        user.clear_and_push_bye()
        return
    _RULES[act.name](user, act, rng)


def _equal(one: Act, other: Act) -> bool:
    return (
        one.name == other.name
        and len(one.items) == len(other.items)
        and set(one.items) == set(other.items)
    )


def _hello(user: SpecifiedUser, act: Act, rng: Script) -> None:
    if rng.happens(user.parameters.greeting):
        user.push("hello")


def _bye(user: SpecifiedUser, act: Act, rng: Script) -> None:
    user.clear_and_push_bye()


def _again(user: SpecifiedUser, act: Act, rng: Script) -> None:
    user.agenda.append(user.last_said)


def _reqmore(user: SpecifiedUser, act: Act, rng: Script) -> None:
    parameters, type_item = user.parameters, Item(TYPE, user.type_word)
    if len(user.agenda) > 1:
        top = user.agenda[-1]
        if (
            type_item not in top.items
            and top.name == "inform"
            and rng.happens(parameters.comb_affirm_with_agenda_item)
        ):
            user.agenda.pop()
            user.push("affirm", *top.items)
    elif not user.unfilled():
        if rng.happens(parameters.no_after_reqmore):
            user.push("negate")
        elif not any(a.name in ("inform", "confirm") for a in user.agenda):
            user.clear_and_push_bye()
    elif user.requests[NAME] is not None:
        for slot in user.unfilled():
            user.push("request", Item(slot))
    elif rng.happens(parameters.yes_after_reqmore):
        user.push("affirm")
    else:
        user.push("inform", type_item, *(c for c in user.constraints if c.value != DONTCARE))


def _request(user: SpecifiedUser, act: Act, rng: Script) -> None:
    parameters, slot = user.parameters, act.items[0].slot
    unfilled = user.unfilled()
    if user.requests[NAME] is not None and unfilled:
        user.push("request", Item(NAME, user.requests[NAME]), Item(unfilled[0]))
        return
    if user.only_requested_by_user(slot):
        user.push("negate")
        return
    about = [a for a in user.agenda if a.name == "inform" and any(i.slot == slot for i in a.items)]
    if about:
        user.agenda = [a for a in user.agenda if a not in about] + about
        return
    if user.constraints_on(slot):
        user.push("inform", *user.constraints_on(slot))
        return
    way = rng.which(parameters.new_request_response_1, parameters.new_request_response_2)
    if way == 0 and user.constraints:
        other = rng.choose(user.constraints)
        user.push("inform", Item(other.slot, other.value))
    elif way == 0:
        user.push("inform", Item("", DONTCARE))
        user.put(slot, DONTCARE)
    elif way == 1:
        user.push("inform", Item("", DONTCARE))
        user.record(slot, DONTCARE)
    else:
        user.put(slot, DONTCARE)
        user.record(slot, DONTCARE)
        user.push("inform", Item(slot, DONTCARE))


def _confirm(user: SpecifiedUser, act: Act, rng: Script) -> None:
    if not check(user, act, rng, from_confirm=True):
        return
    for slot, value, _ in act.items:
        if slot in ("count", "option", TYPE):
            continue
        if not user.constraints_on(slot) and value != DONTCARE:
            user.push("negate", Item(slot, DONTCARE))
            return
    items: tuple[Item, ...] = ()
    if (
        user.agenda
        and user.agenda[-1].name == "inform"
        and rng.happens(user.parameters.affirm_combination)
    ):
        items = user.agenda.pop().items
    user.push("affirm", *items)


def _select(user: SpecifiedUser, act: Act, rng: Script) -> None:
    slot = act.items[0].slot
    if not user.constraints_on(slot):
        user.put(slot, DONTCARE)
        user.push("inform", Item(slot, DONTCARE))
    else:
        user.push("inform", Item(slot, user.equal_value(slot)))


_RULES: dict[str, Callable[[SpecifiedUser, Act, Script], None]] = {
    "hello": _hello,
    "bye": _bye,
    "repeat": _again,
    "null": _again,
    "reqmore": _reqmore,
    "request": _request,
    "confirm": _confirm,
    "select": _select,
    "inform": hear_inform,
}


def respond(user: SpecifiedUser, rng: Script) -> Act:
    """Return what the user says (4.7)."""
    parameters = user.parameters
    if not user.agenda:  # 1
        user.push("bye")
    name, popped = user.agenda.pop()
    items = list(popped)
    if any(item.negated for item in items):  # 2
        name, items = "reqalts", []
    if name in ("inform", "confirm") or (name in ("affirm", "negate") and items):  # 3
        user.remove_told({item.slot for item in items})
    heard = user.last_heard.name
    plain = name in ("thankyou", "repeat", "ack", "deny", "confirm") or heard == "reqmore"
    if not plain:  # 4
        if (  # 5
            heard in ("request", "select")
            and name == "inform"
            and items
            and items[0].value == DONTCARE
            and rng.happens(parameters.no_slot_with_dontcare)
        ):
            items[0] = Item("", DONTCARE)
        recommended = user.requests[NAME]
        if (  # 6
            name == "request"
            and len(items) == 1
            and recommended is not None
            and rng.happens(parameters.add_venue_name_to_request)
        ):
            items.append(Item(NAME, recommended))
        if name in ("inform", "negate", "hello", "affirm"):  # 7
            while (
                user.agenda
                and user.agenda[-1].name in ("inform", *(("request",) if name == "hello" else ()))
                and rng.happens(parameters.inform_combination)
            ):
                items += user.agenda.pop().items
    if name == "request" and Item(NAME) in items:  # 8
        name, items = "inform", [item for item in items if item != Item(NAME)]
    items = [
        Item(TYPE, item.value, item.negated) if not item.slot and item.value != DONTCARE else item
        for item in items
    ]
    near = user.equal_value("near")  # 9
    if name == "request" and any(i.slot == "near" for i in items) and near not in (None, DONTCARE):
        name, items[0] = "confirm", Item(items[0].slot, near)
    said = Act(name, tuple(items))
    if not plain:
        user.last_said = said
    return said
