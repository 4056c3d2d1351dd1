"""Dialogues of several tasks in turn, for one policy that learns from all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mwzeval.pydial.policies.learner import ActionPolicy, Learner
from mwzeval.pydial.runs.episodes import Episode, TaskRunner


class JointRunner:
    """Several tasks, which a policy meets in turn: dialogue i is one of task i mod their number.

    Each task has the dialogues that it has alone, with the same users in training and tests. `size`
    and `actions` are the largest, for which a policy has to have room.
    """

    def __init__(self, runners: Sequence[TaskRunner]) -> None:
        self.runners = tuple(runners)
        self.size = max(runner.size for runner in runners)
        self.actions = max(runner.actions for runner in runners)

    def for_tests(self) -> JointRunner:
        """Return a stage that begins as this one is, and leaves no trace in it."""
        return JointRunner([runner.for_tests() for runner in self.runners])

    def train(self, policy: Learner, seed: int, index: int) -> Episode:
        """Play a training dialogue, from which the policy learns."""
        number, turn = divmod(index, len(self.runners))
        return self.runners[turn].train(policy, seed, number)

    def test(self, policy: ActionPolicy, seed: int, index: int) -> Episode:
        """Play a test dialogue."""
        number, turn = divmod(index, len(self.runners))
        return self.runners[turn].test(policy, seed, number)

    def tests(self, policy: ActionPolicy, seed: int, number: int) -> list[Episode]:
        """Play the test dialogues before `number` of each task."""
        return [self.test(policy, seed, index) for index in range(number * len(self.runners))]

    def carried_over(self) -> dict[str, Any]:
        """Return what one dialogue leaves to the next of its task."""
        return {"tasks": [runner.carried_over() for runner in self.runners]}

    def carry_over(self, left: Mapping[str, Any]) -> None:
        """Go on after the dialogues that left this. Raises `ValueError` for that of other tasks."""
        for runner, of_task in zip(self.runners, left["tasks"], strict=True):
            runner.carry_over(of_task)
