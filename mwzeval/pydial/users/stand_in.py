"""Users in the place of the simulated one: they have the goals that it would have had."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from mwzeval.pydial.dialogue.acts import NONE, Act
from mwzeval.pydial.dialogue.domain import NAME, Domain
from mwzeval.pydial.dialogue.goals import Goal


@dataclass(slots=True)
class UserState:
    """What a user begins with; `rng` is the generator of the dialogue."""

    domain: Domain
    goal: Goal
    rng: Random


class User:
    """A user in one dialogue."""

    __slots__ = ("state",)

    def __init__(self, state: UserState) -> None:
        self.state = state

    @property
    def goal(self) -> Goal:
        """The goal as it is now, by which success is judged."""
        return self.state.goal

    def answer(self, system: Act) -> Act:
        """Return the user's act in answer to the system's. After `bye()` the dialogue is over."""
        raise NotImplementedError


def update_goal(goal: Goal, system: Act) -> None:
    """Note what a system act tells; another offer opens all requests again."""
    if system.name != "inform":
        return
    told = [item for item in system.items if not item.negated and item.value is not None]
    names = [item.value for item in told if item.slot == NAME]
    if NONE in names:
        return
    if names and names[-1] != goal.recommended:
        for slot in goal.requests:
            goal.requests[slot] = None
    for item in told:
        if item.slot in goal.requests:
            goal.requests[item.slot] = item.value
