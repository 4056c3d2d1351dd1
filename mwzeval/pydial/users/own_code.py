"""Users that are somebody's own code.

A user is a class, of which an object is made for each dialogue, with `answer(act)`, or a function
`respond(acts)`. It is told what the system says, `hello()` first, and returns an act or its text;
with `bye()` it ends the dialogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from inspect import isclass
from typing import Any

from mwzeval.conversation.agents import check_call, given, imported
from mwzeval.conversation.protocols import AnswerError, InfrastructureError
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.dialogue.acts import Act, Item
from mwzeval.pydial.dialogue.domain import NAME
from mwzeval.pydial.dialogue.goals import Goal
from mwzeval.pydial.tasks import Task
from mwzeval.pydial.users.human import spoken_act
from mwzeval.pydial.users.own_acts import checked_act
from mwzeval.pydial.users.stand_in import User, UserState, update_goal

OFFERED = ("goal", "domain", "task", "rng", "seed", "dialogue")
ANSWER = "answer"
A_USER = "a user is a class whose objects have answer(act), or a function respond(acts)"
EXAMPLE = "inform(area=north)"


@dataclass(frozen=True, slots=True)
class OwnUsers:
    """Somebody's own users, by the `name` that messages call them.

    Raises `UsageError` for what cannot be called like that.
    """

    name: str
    made: Callable[..., Any]

    def __post_init__(self) -> None:
        is_class = isclass(self.made)
        check_call(self.name, self.made, 0 if is_class else 1, OFFERED, A_USER)
        if is_class and not hasattr(self.made, ANSWER):
            raise UsageError(f'"{self.name}" has no {ANSWER}(act): {A_USER}')

    @classmethod
    def named(cls, name: str) -> OwnUsers:
        """Return the users `package.module:Name` or `file.py:Name`. Raises `UsageError`."""
        return cls(name, imported(name))

    def user(self, state: UserState, task: Task, planned: Planned, record: Record) -> OwnUser:
        """Return the user of a dialogue. Raises whatever it raises when it is made.

        Raises `InfrastructureError` where it cannot be made since a file of its is missing or
        damaged (`InputError`): then there is no dialogue to be scored.
        """
        goal = deepcopy(state.goal)
        values = goal, state.domain, task, state.rng, planned.number, planned.name
        more = given(self.made, dict(zip(OFFERED, values, strict=True)))
        if isclass(self.made):
            try:
                return OwnUser(state, goal, self.made(**more))
            except InputError as error:
                raise InfrastructureError(str(error)) from None
        return OwnUser(state, goal, _Responding(self.made, more))


class OwnUser(User):
    """A user of one's own in one dialogue, whose acts are checked.

    What it is told is noted in its goal, and in the copy that it has, `told`. If it has a `goal`
    other than that copy, this is what its success is judged by.
    """

    __slots__ = ("_told", "_user")

    def __init__(self, state: UserState, told: Goal, user: Any) -> None:
        super().__init__(state)
        self._told = told
        self._user = user

    def answer(self, system: Act) -> Act:
        """Return what the user says. Raises `AnswerError` for what users do not say."""
        update_goal(self.state.goal, system)
        update_goal(self._told, system)
        act = checked_act(self._user.answer(system), EXAMPLE)
        try:
            act = spoken_act(act, self.state.domain.ontology)
        except UsageError as error:
            raise AnswerError(str(error)) from None
        own = getattr(self._user, "goal", None)
        if isinstance(own, Goal) and own is not self._told:
            self.state.goal = _checked(own)
        return act


class _Responding:
    """A function of all acts so far as a user."""

    def __init__(self, respond: Callable[..., Any], more: Mapping[str, Any]) -> None:
        self._respond = respond
        self._more = more
        self._acts: list[Act] = []

    def answer(self, system: Act) -> Act:
        """Return what the function says; the acts are in turn those of system and user."""
        self._acts.append(system)
        act = checked_act(self._respond(list(self._acts), **self._more), EXAMPLE)
        self._acts.append(act)
        return act


def _checked(goal: Goal) -> Goal:
    """Return a copy of a goal of somebody's own making. Raises `AnswerError` if it is broken."""
    constraints, requests = goal.constraints, goal.requests
    fine = (
        isinstance(constraints, list)
        and all(isinstance(each, Item) and isinstance(each.value, str) for each in constraints)
        and isinstance(requests, dict)
        and NAME in requests
        and all(isinstance(slot, str) for slot in requests)
        and all(value is None or isinstance(value, str) for value in requests.values())
    )
    if not fine:
        raise AnswerError(
            f"the goal of a user has constraints, a list of items, and requests, among them {NAME}"
        )
    return Goal(list(constraints), dict(requests))
