"""How a simulated user of the original processes a system act and answers it.

A slow implementation of the specification (4) as an oracle for tests, with the defects of the
original in `legacy`. Requests to repeat and silence (4.4, step 5) have probability 0 and are
omitted.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from mwzeval.pydial.acts import DONTCARE, NONE, Act, Item
from mwzeval.pydial.domain import Domain
from tests.pydial.simulator.outcomes import Script

NAME, TYPE = "name", "type"


@dataclass
class SpecifiedUser:
    """The state of a user in a dialogue; the last act of the agenda is its top."""

    domain: Domain
    parameters: Any
    legacy: bool
    constraints: list[Item]
    requests: dict[str, str | None]
    used: dict[str, set[str]]
    agenda: list[Act]
    patience: int
    max_patience: int
    nothing_matches: bool
    first_offer_pending: bool
    last_said: Act
    last_heard: Act
    rng: Any = None

    def twin(self, rng: Script) -> SpecifiedUser:
        """Return a copy of the user with another random source."""
        return replace(
            self,
            constraints=[*self.constraints],
            requests={**self.requests},
            used={slot: {*values} for slot, values in self.used.items()},
            agenda=[*self.agenda],
            rng=rng,
        )

    def happens(self, parameter: str) -> bool:
        return self.rng.happens(getattr(self.parameters, parameter))  # type: ignore[no-any-return]

    def which(self, parameter: str) -> int:
        """Draw 0 or 1 with the probabilities of the two parameters of this name, or else 2."""
        first, second = (getattr(self.parameters, f"{parameter}_{n}") for n in (1, 2))
        return self.rng.which(first, second)  # type: ignore[no-any-return]

    @property
    def type_word(self) -> str:
        return self.domain.ontology.entity_type

    def only_requested_by_user(self, slot: str) -> bool:
        ontology = self.domain.ontology
        return slot in ontology.requestable and slot not in ontology.constraint_slots

    def unfilled(self) -> list[str]:
        return [slot for slot, value in self.requests.items() if value is None]

    def constraints_on(self, slot: str) -> list[Item]:
        return [c for c in self.constraints if c.slot == slot]

    def value_of(self, slot: str, *, negated: bool = False) -> str | None:
        return next((c.value for c in self.constraints_on(slot) if c.negated == negated), None)

    def push(self, name: str, *items: Item) -> None:
        self.agenda.append(Act(name, items))

    def clear_and_push_bye(self) -> None:
        self.agenda = [Act("bye")]

    def put(self, slot: str, value: str) -> None:
        """Replace the "=" constraint of a slot; the new constraint is appended."""
        self.constraints = [c for c in self.constraints if c.slot != slot or c.negated]
        self.constraints.append(Item(slot, value))

    def record(self, slot: str, value: str) -> None:
        self.used.setdefault(slot, set()).add(value)

    def set_name(self, name: str | None) -> None:
        if name not in (None, NONE) and Item(NAME, name, True) not in self.constraints:
            self.put(NAME, str(name))

    def add_name_is_not(self, name: str | None) -> None:
        if name not in (None, NONE) and all(c.negated for c in self.constraints_on(NAME)):
            self.constraints.append(Item(NAME, name, True))

    def remove_name_constraints(self) -> None:
        self.constraints = [c for c in self.constraints if c.slot != NAME]

    def remove_told(self, slots: Collection[str]) -> None:
        """Remove from the agenda every inform, confirm and affirm that mentions a slot."""
        self.agenda = [
            act
            for act in self.agenda
            if act.name not in ("inform", "confirm", "affirm")
            or not any(item.slot in slots for item in act.items)
        ]


def hear(user: SpecifiedUser, act: Act) -> None:
    """Put the reaction to a system act on the agenda (4.4)."""
    previous = user.last_heard
    if user.last_said.name == previous.name == act.name == "repeat":
        user.patience = 0
    elif act.name in ("null", "badact") or (
        act.says_the_same(previous) and user.last_said.name != "repeat"
    ):
        user.patience -= 1
    user.last_heard = act
    completed = not user.constraints or user.nothing_matches or not user.unfilled()
    if user.patience < 1 or (
        completed and not user.agenda and act.name != "reqmore" and user.rng.happens(0.85)
    ):
        user.clear_and_push_bye()
        return
    match act.name:
        case "hello":
            if user.happens("greeting"):
                user.push("hello")
        case "bye":
            user.clear_and_push_bye()
        case "repeat" | "null":
            user.agenda.append(user.last_said)
        case "reqmore":
            _reqmore(user)
        case "request":
            _request(user, act.items[0].slot)
        case "confirm":
            _confirm(user, act)
        case "select":
            slot = act.items[0].slot
            if not user.constraints_on(slot):
                user.put(slot, DONTCARE)
            user.push("inform", Item(slot, user.value_of(slot)))
        case "inform":
            _inform(user, act)


def _reqmore(user: SpecifiedUser) -> None:
    type_item = Item(TYPE, user.type_word)
    if len(user.agenda) > 1:
        top = user.agenda[-1]
        if (
            type_item not in top.items
            and top.name == "inform"
            and user.happens("comb_affirm_with_agenda_item")
        ):
            user.agenda.pop()
            user.push("affirm", *top.items)
    elif not user.unfilled():
        if user.happens("no_after_reqmore"):
            user.push("negate")
        elif not any(a.name in ("inform", "confirm") for a in user.agenda):
            user.clear_and_push_bye()
    elif user.requests[NAME] is not None:
        for slot in user.unfilled():
            user.push("request", Item(slot))
    elif user.happens("yes_after_reqmore"):
        user.push("affirm")
    else:
        user.push("inform", type_item, *(c for c in user.constraints if c.value != DONTCARE))


def _request(user: SpecifiedUser, slot: str) -> None:
    unfilled = user.unfilled()
    about = [a for a in user.agenda if a.name == "inform" and any(i.slot == slot for i in a.items)]
    if user.requests[NAME] is not None and unfilled:
        user.push("request", Item(NAME, user.requests[NAME]), Item(unfilled[0]))
    elif user.only_requested_by_user(slot):
        user.push("negate")
    elif about:
        user.agenda = [a for a in user.agenda if a not in about] + about
    elif user.constraints_on(slot):
        user.push("inform", *user.constraints_on(slot))
    else:
        way = user.which("new_request_response")
        if way == 0 and user.constraints:
            other = user.rng.choose(user.constraints)
            user.push("inform", Item(other.slot, other.value))
            return
        user.push("inform", Item(slot if way == 2 else "", DONTCARE))
        if way != 1:
            user.put(slot, DONTCARE)
        if way != 0:
            user.record(slot, DONTCARE)


def _confirm(user: SpecifiedUser, act: Act) -> None:
    if not check(user, act, from_confirm=True):
        return
    for slot, value, _ in act.items:
        if slot in ("count", "option", TYPE):
            continue
        if not user.constraints_on(slot) and value != DONTCARE:
            user.push("negate", Item(slot, DONTCARE))
            return
    items: tuple[Item, ...] = ()
    if user.agenda and user.agenda[-1].name == "inform" and user.happens("affirm_combination"):
        items = user.agenda.pop().items
    user.push("affirm", *items)


def accepted_by(constraint: Item, said: Item) -> bool:
    """Return whether a constraint of the goal accepts an item about its slot (4.6)."""
    x, y = constraint.value, said.value
    if constraint.negated:
        return said.negated or y not in (x, DONTCARE)
    if x == DONTCARE:
        return not said.negated
    return (y == x) != said.negated


def check(user: SpecifiedUser, act: Act, *, from_confirm: bool) -> bool:
    """Return whether the values in an act are compatible with the goal (4.6)."""
    ontology = user.domain.ontology
    name_none = Item(NAME, NONE) in act.items
    informs_requested = any(
        item.slot in ontology.requestable and item.slot not in ontology.informable
        for item in act.items
    )
    random_confirm_pushed = False
    for item in act.items:
        slot, correct = item.slot, False
        constraints = user.constraints_on(slot)
        if slot in ("count", "option"):
            continue
        if user.only_requested_by_user(slot) and not constraints:
            continue
        if constraints:
            equal, unequal = user.value_of(slot), user.value_of(slot, negated=True)
            satisfied = all(
                accepted_by(c, said) for c in constraints for said in act.items if said.slot == slot
            )
            if unequal is not None and not satisfied:
                if name_none and slot == NAME:
                    user.constraints = [
                        c for c in user.constraints if c.slot != NAME or not c.negated
                    ]
                else:
                    correct = True
            if slot == NAME and not informs_requested and not correct:
                continue
            if equal is not None and not satisfied:
                correct |= slot != NAME if name_none else equal != DONTCARE
        candidates = [] if name_none else [c for c in user.constraints if may_ask(user, act, c)]
        if correct:
            _correct(user, item, candidates)
            return False
        if candidates and not random_confirm_pushed and not from_confirm:
            if user.happens("confirm_random_constraint"):
                user.push("confirm", plan(user, candidates))
                random_confirm_pushed = True
        elif name_none:
            user.nothing_matches = True
    if random_confirm_pushed:
        for slot, value, negated in act.items:
            if not negated and (user.legacy or slot in user.requests):
                user.requests[slot] = value
    return not random_confirm_pushed


def may_ask(user: SpecifiedUser, act: Act, constraint: Item) -> bool:
    """Return whether the user may inform a constraint instead of the act's value (4.6, PLAN).

    If an act has several values for a slot, the original uses only the first.
    """
    slot, value, _ = constraint
    values = [item.value for item in act.items if item.slot == slot and not item.negated]
    unequal = user.value_of(slot, negated=True)
    has_another_value = unequal is not None and bool(values) and values[0] != unequal
    return value != DONTCARE and constraint not in act.items and not has_another_value


def plan(user: SpecifiedUser, candidates: list[Item]) -> Item:
    """Draw a constraint to inform as `slot="value"`, even if it is negated."""
    return Item(*user.rng.choose(candidates)[:2])


def _correct(user: SpecifiedUser, item: Item, candidates: list[Item]) -> None:
    if user.rng.happens((1 - user.patience / user.max_patience) ** 2):
        user.clear_and_push_bye()
        return
    slot = item.slot
    if slot == TYPE:
        user.push("inform", Item(TYPE, user.type_word))
    elif candidates and user.happens("overrule_correction"):
        user.push("confirm", plan(user, candidates))
    elif (unequal := user.value_of(slot, negated=True)) is not None:
        user.push("inform", Item(slot, unequal, True))
    else:
        right = Item(slot, user.value_of(slot) or DONTCARE)
        way = user.which("correcting_act")
        wrong = [Item(slot, item.value)] if way == 1 else []
        user.push(("negate", "deny", "inform")[way], *wrong, right)
    user.requests = dict.fromkeys(user.requests)


def _inform(user: SpecifiedUser, act: Act) -> None:
    """Put the reaction to an inform on the agenda (4.5); comments number its steps."""
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
        user.requests = dict.fromkeys(user.requests)
    if not check(user, act, from_confirm=False):  # 3
        return
    change = name_none  # 4
    if not name_none and user.first_offer_pending:
        user.first_offer_pending = False
        way = user.which("request_alternatives")
        if way == 0:
            user.add_name_is_not(offered)
            user.push("reqalts")
            return
        change = way == 1
    if not change:
        user.set_name(offered)
    if change and user.constraints:  # 5
        _change(user, act, offered, name_none=name_none)
        return
    selected = _selected(user, act, venues) if venues and not change else None  # 6
    if relax:  # 7
        if user.happens("bye_or_start_over"):
            user.clear_and_push_bye()
        else:
            user.push("inform", Item(TYPE, user.type_word))
        return
    for slot, value, negated in act.items:  # 8
        if slot in user.requests and not negated:
            user.requests[slot] = value
    if selected is not None:
        user.requests[NAME] = selected
    if user.happens("inform_to_confirm"):  # 9
        user.agenda = [
            Act("confirm", a.items)
            if a.name == "inform" and a.items and a.items[0].value != DONTCARE
            else a
            for a in user.agenda
        ]
    way = user.which("thank_ack")  # 10
    if way < 2:
        user.push("thankyou" if way == 0 else "ack")
        return
    if len(user.agenda) > 1 and user.happens("deal_with_pending"):  # 11
        return
    unfilled = user.unfilled()
    if unfilled:  # 12
        asked = [Item(unfilled[0])] if selected is None else [Item(NAME, selected)]
        if selected is not None:
            asked.append(Item(unfilled[0]))
        for slot in unfilled[1:]:
            if not user.happens("add_slot_to_request"):
                break
            asked.append(Item(slot))
        user.push("request", *asked)


def _change(user: SpecifiedUser, act: Act, offered: str | None, *, name_none: bool) -> None:
    """Change the goal (step 5)."""
    ontology = user.domain.ontology
    slots = [
        item.slot
        for item in act.items
        if item.slot in ontology.constraint_slots
        and item.value not in (None, NONE, DONTCARE, user.type_word)
    ]
    slot = user.rng.choose(slots or [c.slot for c in user.constraints])
    user.remove_name_constraints()
    value = DONTCARE
    if not user.happens("constraint_relax"):
        if slot in user.used:
            unused = [v for v in ontology.informable.get(slot, ()) if v not in user.used[slot]]
            value = user.rng.choose(unused) if unused else DONTCARE
        user.record(slot, value)
    user.put(slot, value)
    if name_none or user.happens("tell_about_change"):
        user.push("reqalts", Item(slot, value))
        return
    user.push("reqalts")
    if value == DONTCARE:
        user.add_name_is_not(offered)
    else:
        user.requests[slot] = None


def _selected(user: SpecifiedUser, act: Act, venues: list[str]) -> str:
    """Return the venue that the user selects (step 6)."""
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
    return user.rng.choose(possible)  # type: ignore[no-any-return]


def respond(user: SpecifiedUser) -> Act:
    """Return the user's act (4.7)."""
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
            and user.happens("no_slot_with_dontcare")
        ):
            items[0] = Item("", DONTCARE)
        recommended = user.requests[NAME]
        if (  # 6
            name == "request"
            and len(items) == 1
            and recommended is not None
            and user.happens("add_venue_name_to_request")
        ):
            items.append(Item(NAME, recommended))
        if name in ("inform", "negate", "hello", "affirm"):  # 7
            while (
                user.agenda
                and user.agenda[-1].name in ("inform", *(("request",) if name == "hello" else ()))
                and user.happens("inform_combination")
            ):
                items += user.agenda.pop().items
    if user.legacy and name == "request" and Item(NAME) in items:  # 8
        name, items = "inform", [item for item in items if item != Item(NAME)]
    items = [
        Item(TYPE, item.value, item.negated) if not item.slot and item.value != DONTCARE else item
        for item in items
    ]
    near = user.value_of("near")  # 9
    if (
        user.legacy
        and name == "request"
        and any(item.slot == "near" for item in items)
        and near not in (None, DONTCARE)
    ):
        name, items[0] = "confirm", Item(items[0].slot, near)
    said = Act(name, tuple(items))
    if not plain:
        user.last_said = said
    return said
