"""A person in the place of the simulated user: a goal to pursue, acts that come from outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from mwzeval.pydial.dialogue.acts import (
    AFFIRM,
    BYE,
    DONTCARE,
    NEGATE,
    NONE,
    NULL,
    REPEAT,
    REQALTS,
    THANKYOU,
    Act,
    Item,
)
from mwzeval.pydial.dialogue.goals import Goal
from mwzeval.pydial.dialogue.ontology import NAME
from mwzeval.pydial.dialogue.rng import Chance
from mwzeval.pydial.dialogue.user import User, UserSimulator
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.user_state import UserState

Ask = Callable[[Goal, Act], Act]
"""Asks a person, given the goal and what the system said, for the next act."""


class Person(User):
    """One person in one dialogue, who is asked for `limit` acts at most."""

    __slots__ = ("_ask", "_left")

    def __init__(self, state: UserState, ask: Ask, limit: int) -> None:
        super().__init__(state)
        self._ask = ask
        self._left = limit

    def answer(self, system: Act) -> Act:
        """Return what the person says. What comes after the last exchange is not asked for."""
        hear(self.goal, system)
        if not self._left:
            return NULL
        self._left -= 1
        return self._ask(self.goal, system)


class People(UserSimulator):
    """Gives persons the goals that simulated users would have had, which then never change."""

    def __init__(
        self, domain: Domain, model: str, ask: Ask, limit: int, *, legacy: bool = False
    ) -> None:
        super().__init__(domain, model, legacy=legacy)
        self._ask = ask
        self._limit = limit

    def begin(self, chance: Chance) -> Person:
        """Return a person with a goal."""
        return Person(super().begin(chance).state, self._ask, self._limit)


def hear(goal: Goal, system: Act) -> None:
    """Note what a system act tells; another offer opens all requests again."""
    if system.name != "inform":
        return
    told = [item for item in system.items if not item.negated and item.value is not None]
    names = [item.value for item in told if item.slot == NAME]
    if NONE in names:
        return
    if names and names[-1] != goal.recommended:
        goal.forget_answers()
    for item in told:
        if item.slot in goal.requests:
            goal.requests[item.slot] = item.value


def menu(goal: Goal, system: Act, said: Collection[str]) -> tuple[Act, ...]:
    """Return what can be said now, the most sensible first; `said` are slots talked about before.

    That is to answer what was asked, to say what was not said yet, to ask what was not told yet.
    """
    return tuple(dict.fromkeys(_options(goal, system, said)))


def _options(goal: Goal, system: Act, said: Collection[str]) -> Iterator[Act]:
    wanted = {item.slot: item.value or DONTCARE for item in goal.constraints}
    yield from _answers(wanted, system)
    yield from (_inform(slot, value) for slot, value in wanted.items() if slot not in said)
    unfilled = goal.unfilled()
    if goal.recommended is not None:
        if not unfilled:
            yield BYE
        yield from (Act("request", (Item(slot),)) for slot in unfilled)
    yield from (_inform(slot, value) for slot, value in wanted.items())
    if len(wanted) > 1:
        yield Act("inform", tuple(Item(slot, value) for slot, value in wanted.items()))
    yield from (AFFIRM, NEGATE, REQALTS, THANKYOU, REPEAT, BYE)


def _answers(wanted: dict[str, str], system: Act) -> Iterator[Act]:
    """Yield what the system act asks for, or what has to be corrected in it."""
    if system.name in ("request", "select") and system.items:
        slot = system.items[0].slot
        yield _inform(slot, wanted.get(slot, DONTCARE))
    elif system.name == "confirm" and system.items:
        slot, value, _ = system.items[0]
        right = wanted.get(slot, DONTCARE)
        yield AFFIRM if value == right else Act("negate", (Item(slot, right),))
    elif system.name == "inform":
        # With the news that nothing matches the system says all that it took to be wanted.
        took = any(item.slot == NAME and item.value == NONE for item in system.items)
        for slot, value, negated in system.items:
            right = wanted.get(slot, DONTCARE)
            if slot != NAME and value != right and not negated and (took or right != DONTCARE):
                yield _inform(slot, right)


def _inform(slot: str, value: str) -> Act:
    return Act("inform", (Item(slot, value),))
