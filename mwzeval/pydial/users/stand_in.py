"""Users in the place of the simulated one: they have the goals that it would have had."""

from __future__ import annotations

from collections.abc import Callable

from mwzeval.pydial.dialogue.acts import NONE, Act
from mwzeval.pydial.dialogue.domain import NAME
from mwzeval.pydial.dialogue.goals import Goal
from mwzeval.pydial.dialogue.rng import RandomSource
from mwzeval.pydial.dialogue.user import User, UserSimulator
from mwzeval.pydial.dialogue.user_parameters import UserState


class StandInUsers(UserSimulator):
    """Gives others the goals of the `agenda` users; the same draws make the same goals.

    `make` returns the user that stands in for one in this state.
    """

    def __init__(self, agenda: UserSimulator, make: Callable[[UserState], User]) -> None:
        vars(self).update(vars(agenda))  # which are prepared once for all dialogues
        self._make = make

    def begin(self, rng: RandomSource, goal: Goal | None = None) -> User:
        """Return who stands in for a user with this goal, or its own."""
        return self._make(super().begin(rng, goal).state)


def update_goal(goal: Goal, system: Act) -> None:
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
