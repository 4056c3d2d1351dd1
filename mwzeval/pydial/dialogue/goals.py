"""The state of an agenda-based user: its goal, how goals are drawn, and its agenda.

Source: Casanueva et al. (2017), section 4, and PyDial 1.4's goal generator.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import TypeVar

from mwzeval.errors import DataError
from mwzeval.pydial.dialogue.acts import BYE, DONTCARE, Act, Item
from mwzeval.pydial.dialogue.domain import NAME, Domain, EntityTable
from mwzeval.pydial.dialogue.rng import RandomSource

_Member = TypeVar("_Member")
CONSTRAINTS = 3
FURTHER_REQUESTS = 2
FEWEST_MATCHES, MOST_MATCHES = 2, 3
TRIES = 200_000
"""So many draws without an acceptable goal mean that a domain has none worth the wait."""


@dataclass(slots=True)
class Goal:
    """A user's goal, which may change while the user talks.

    A constraint is an item: `area="north"`, `name!="x"`. `requests` maps each slot that the user
    wants to know to its value, None until it was told. `used` holds the values that constraints on
    a slot ever had. `told_nothing_matches` is set once the system has said so.
    """

    constraints: list[Item]
    requests: dict[str, str | None]
    used: dict[str, set[str]] = field(default_factory=dict)
    told_nothing_matches: bool = False

    @property
    def completed(self) -> bool:
        """Whether the user has nothing more to ask for."""
        return not self.constraints or self.told_nothing_matches or not self.unfilled()

    @property
    def recommended(self) -> str | None:
        """The name that the system has recommended last, None before it does."""
        return self.requests[NAME]

    def unfilled(self) -> list[str]:
        """Return the requested slots without an answer."""
        return [slot for slot, value in self.requests.items() if value is None]

    def constrains(self, slot: str) -> bool:
        """Tell whether there is a constraint on a slot."""
        return any(item.slot == slot for item in self.constraints)

    def wanted(self, slot: str) -> str | None:
        """Return the value that a slot is to have, None if there is none."""
        for item in self.constraints:
            if item.slot == slot and not item.negated:
                return item.value
        return None

    def unwanted(self, slot: str) -> str | None:
        """Return the (first) value that a slot must not have, None if there is none."""
        for item in self.constraints:
            if item.slot == slot and item.negated:
                return item.value
        return None

    def forget_answers(self) -> None:
        """Make all requests open again."""
        for slot in self.requests:
            self.requests[slot] = None

    def use(self, slot: str, value: str) -> None:
        """Remember that a constraint had this value."""
        self.used.setdefault(slot, set()).add(value)

    def replace(self, slot: str, value: str) -> None:
        """Put `slot=value` at the end in place of what the slot was to be; `!=` stays."""
        self.constraints = [i for i in self.constraints if i.slot != slot or i.negated]
        self.constraints.append(Item(slot, value))

    def accept_name(self, name: str | None) -> None:
        """Want this entity from now on, unless it is none or one that is not wanted."""
        if name is not None and Item(NAME, name, negated=True) not in self.constraints:
            self.replace(NAME, name)

    def refuse_name(self, name: str | None) -> None:
        """Not want this entity, unless one is wanted by name."""
        if name is not None and self.wanted(NAME) is None:
            self.constraints.append(Item(NAME, name, negated=True))

    def forget_names(self) -> None:
        """Drop all constraints on the name."""
        self.constraints = [item for item in self.constraints if item.slot != NAME]

    def achieved(self, table: EntityTable) -> bool:
        """Tell whether the user has got what is wanted now.

        All requests are answered, and the entity named is one that satisfies the goal as it is
        after all changes. Answers are not checked against the entity.
        """
        name = self.requests[NAME]
        if name is None or any(value is None for value in self.requests.values()):
            return False
        pairs = []
        for item in self.constraints:
            if item.slot != NAME:
                pairs.append((item.slot, str(item.value)))
            elif item.negated == (item.value == name) and item.value != DONTCARE:
                return False
        return bool(table.having(NAME, name) & table.matching(tuple(pairs)))


def no_goal(domain: str) -> DataError:
    """Return the error of a domain in which no goal was found."""
    return DataError(
        f"{domain}: no goal found in {TRIES:,} draws that {FEWEST_MATCHES} or "
        f"{MOST_MATCHES} entities satisfy; a domain needs more entities that share values"
    )


class GoalGenerator:
    """Draws goals that two or three entities satisfy."""

    def __init__(self, domain: Domain) -> None:
        ontology, table = domain.ontology, domain.table
        self._name = domain.name
        slots = [
            (
                slot,
                tuple(
                    (value, table.everything if value == DONTCARE else table.having(slot, value))
                    for value in ontology.values_and_dontcare[slot]
                ),
            )
            for slot in ontology.constraint_slots
        ]
        self._everything = table.everything
        self.orders = tuple(permutations(slots, min(CONSTRAINTS, len(slots))))
        self._requestable = ontology.only_requestable

    def draw(self, rng: RandomSource) -> Goal:
        """Return a goal: three constraints, the request for the name and up to two more.

        Slots and values ("dontcare" is one of them) are drawn until two or three entities match,
        which prefers slots with few values. Raises `DataError` if a domain has no such goals.
        """
        choose, orders, everything = rng.choose, self.orders, self._everything
        for _ in range(TRIES):
            rows = everything
            constraints = []
            for slot, values in choose(orders):
                value, having = choose(values)
                rows &= having
                # Cheaper than counting: most draws match nothing at all.
                if not rows & (rows - 1):
                    break
                constraints.append(Item(slot, value))
            else:
                if FEWEST_MATCHES <= rows.bit_count() <= MOST_MATCHES:
                    return self._goal(rng, constraints)
        raise no_goal(self._name)

    def _goal(self, rng: RandomSource, constraints: list[Item]) -> Goal:
        # `name` may be drawn again, and then adds nothing.
        further = _some(rng, self._requestable, rng.choose(range(FURTHER_REQUESTS + 1)))
        goal = Goal(constraints, dict.fromkeys((NAME, *further)))
        for slot, value, _ in constraints:
            goal.use(slot, str(value))
        return goal


def _some(rng: RandomSource, members: tuple[_Member, ...], count: int) -> list[_Member]:
    """Return so many different members in random order, or all if there are less."""
    rest = list(members)
    some = []
    for _ in range(min(count, len(rest))):
        at = int(rng.random() * len(rest))
        some.append(rest[at])
        rest[at] = rest[-1]
        rest.pop()
    return some


TYPE = "type"
"""The pseudo-slot of the kind of entity: `type="restaurant"`."""
TELLING = frozenset({"inform", "confirm", "affirm"})
"""Acts that give values away."""


class Agenda:
    """A stack of user acts; iterating begins at the top."""

    __slots__ = ("_acts",)

    def __init__(self, acts: Iterable[Act] = ()) -> None:
        """Stack the acts, the first on top."""
        self._acts = list(acts)
        self._acts.reverse()

    def __len__(self) -> int:
        return len(self._acts)

    def __iter__(self) -> Iterator[Act]:
        return reversed(self._acts)

    @property
    def top(self) -> Act | None:
        """The act to be said next, None when there is none."""
        return self._acts[-1] if self._acts else None

    def push(self, act: Act) -> None:
        """Put an act on top."""
        self._acts.append(act)

    def pop(self) -> Act:
        """Take the top act."""
        return self._acts.pop()

    def leave(self) -> None:
        """Mean nothing but to say goodbye."""
        self._acts = [BYE]

    def drop_told(self, slots: Container[str], names: Container[str] = TELLING) -> None:
        """Remove acts of these names that mention one of the slots."""
        self._acts = [
            act
            for act in self._acts
            if act.name not in names or not any(item.slot in slots for item in act.items)
        ]

    def raise_informs(self, slot: str) -> bool:
        """Move the informs about a slot to the top; tell whether there are any."""
        about = [
            act
            for act in self._acts
            if act.name == "inform" and any(item.slot == slot for item in act.items)
        ]
        if about:
            self.drop_told((slot,), ("inform",))
            self._acts += about
        return bool(about)

    def confirm_instead(self) -> None:
        """Turn informs into questions, but for those of no preference."""
        self._acts = [
            Act("confirm", act.items)
            if act.name == "inform" and act.items and act.items[0].value != DONTCARE
            else act
            for act in self._acts
        ]


def first_agenda(goal: Goal, entity_type: str) -> Agenda:
    """Return what a user begins with: the kind of entity, the constraints, goodbye."""
    informs = [Act("inform", (item,)) for item in (Item(TYPE, entity_type), *goal.constraints)]
    return Agenda([*informs, BYE])
