"""What a simulated user of the original knows, and how it checks what it hears.

Written down from the specification alone (4, 4.6), sentence by sentence, for tests to compare with:
slow and plain, with the quirks of the original. Of the program it knows the types of what is said.
"""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from dataclasses import dataclass
from typing import Any

from mwzeval.pydial.acts import DONTCARE, NONE, Act, Item
from mwzeval.pydial.domain import Domain
from tests.pydial.simulator.outcomes import Script

NAME, TYPE = "name", "type"


@dataclass
class SpecifiedUser:
    """All that is remembered of a dialogue; the top of the agenda is the last of the list."""

    domain: Domain
    parameters: Any
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

    def twin(self) -> SpecifiedUser:
        """Return another user in the same state."""
        other = copy(self)
        other.constraints = list(self.constraints)
        other.requests = dict(self.requests)
        other.used = {slot: set(values) for slot, values in self.used.items()}
        other.agenda = list(self.agenda)
        return other

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

    def equal_value(self, slot: str) -> str | None:
        return next((c.value for c in self.constraints_on(slot) if not c.negated), None)

    def unequal_value(self, slot: str) -> str | None:
        return next((c.value for c in self.constraints_on(slot) if c.negated), None)

    def push(self, name: str, *items: Item) -> None:
        self.agenda.append(Act(name, items))

    def clear_and_push_bye(self) -> None:
        self.agenda = [Act("bye")]

    def reset_requests(self) -> None:
        for slot in self.requests:
            self.requests[slot] = None

    def put(self, slot: str, value: str) -> None:
        """Replace the "=" constraint of a slot; the new one is appended at the end."""
        self.constraints = [c for c in self.constraints if c.slot != slot or c.negated]
        self.constraints.append(Item(slot, value))

    def record(self, slot: str, value: str) -> None:
        self.used.setdefault(slot, set()).add(value)

    def set_name(self, name: str | None) -> None:
        if name in (None, NONE) or Item(NAME, name, True) in self.constraints:
            return
        self.put(NAME, str(name))

    def add_name_is_not(self, name: str | None) -> None:
        if name in (None, NONE) or any(not c.negated for c in self.constraints_on(NAME)):
            return
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


def accepted_by(constraint: Item, said: Item) -> bool:
    """Tell whether a constraint of the goal accepts what was said of its slot (4.6)."""
    x, y = constraint.value, said.value
    if constraint.negated:
        return True if said.negated else y not in (x, DONTCARE)
    if x == DONTCARE:
        return not said.negated
    return y != x if said.negated else y == x


def check(user: SpecifiedUser, act: Act, rng: Script, *, from_confirm: bool) -> bool:
    """Tell whether the values in an act are compatible with the goal (4.6)."""
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
            equal, unequal = user.equal_value(slot), user.unequal_value(slot)
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
        candidates = (
            [] if name_none else [c for c in user.constraints if is_candidate(user, act, c)]
        )
        if correct:
            _correct(user, item, candidates, rng)
            return False
        if candidates and not random_confirm_pushed and not from_confirm:
            if rng.happens(user.parameters.confirm_random_constraint):
                user.push("confirm", plan(candidates, rng))
                random_confirm_pushed = True
        elif name_none:
            user.nothing_matches = True
    if random_confirm_pushed:
        for slot, value, negated in act.items:
            if not negated:
                user.requests[slot] = value
    return not random_confirm_pushed


def is_candidate(user: SpecifiedUser, act: Act, constraint: Item) -> bool:
    """Tell whether the user may ask for a constraint instead of what the act says (4.6, PLAN).

    Of the values that an act has for a slot, the original looks at the first.
    """
    slot, value, _ = constraint
    values = [item.value for item in act.items if item.slot == slot and not item.negated]
    unequal = user.unequal_value(slot)
    has_another_value = unequal is not None and bool(values) and values[0] != unequal
    return value != DONTCARE and constraint not in act.items and not has_another_value


def plan(candidates: list[Item], rng: Script) -> Item:
    """Return what is asked for: `slot="value"`, even of a value that is not wanted."""
    return Item(*rng.choose(candidates)[:2])


def _correct(user: SpecifiedUser, item: Item, candidates: list[Item], rng: Script) -> None:
    if rng.happens((1 - user.patience / user.max_patience) ** 2):
        user.clear_and_push_bye()
        return
    slot, parameters = item.slot, user.parameters
    if slot == TYPE:
        user.push("inform", Item(TYPE, user.type_word))
    elif candidates and rng.happens(parameters.overrule_correction):
        user.push("confirm", plan(candidates, rng))
    else:
        right = Item(slot, user.equal_value(slot) or DONTCARE)
        unequal = user.unequal_value(slot)
        if unequal is not None:
            user.push("inform", Item(slot, unequal, True))
        else:
            way = rng.which(parameters.correcting_act_1, parameters.correcting_act_2)
            if way == 0:
                user.push("negate", right)
            elif way == 1:
                user.push("deny", Item(slot, item.value), right)
            else:
                user.push("inform", right)
    user.reset_requests()
