"""A `TaskRunner` whose dialogues are played by compiled code: the same ones, sooner."""

from __future__ import annotations

from copy import copy

import numpy as np

from mwzeval.pydial.dialogue.domain import Domain
from mwzeval.pydial.policies.learner import ActionPolicy, Learner
from mwzeval.pydial.runs.episodes import CARRIED_OVER, KEPT, TEST, Episode, TaskRunner
from mwzeval.pydial.simulator.many import ManyDialogues, PlaceRng
from mwzeval.pydial.tasks import Goodbye, Task


class CompiledTaskRunner(TaskRunner):
    """A task for neural policies; arguments are those of `TaskRunner`."""

    def __init__(
        self,
        domain: Domain,
        task: Task,
        *,
        legacy: bool = False,
        confusion_seed: int = 0,
        goodbye: Goodbye = "policy",
        looks_again: bool = False,
    ) -> None:
        """Prepare and compile. Raises `DependencyError` without numba."""
        super().__init__(
            domain,
            task,
            "neural",
            legacy=legacy,
            confusion_seed=confusion_seed,
            goodbye=goodbye,
            looks_again=looks_again,
        )
        self._batch = ManyDialogues(self.process, 1)
        self._batch.load()

    def for_tests(self) -> CompiledTaskRunner:
        """Return a stage that begins as this one is, and leaves no trace in it."""
        other = copy(self)
        other._batch = self._batch.sibling(1)
        for name in CARRIED_OVER:
            other._batch.dialogues[name] = self._batch.dialogues[name]
        return other

    def _play(
        self, policy: ActionPolicy, learner: Learner | None, phase: int, seed: int, index: int
    ) -> Episode:
        if phase == TEST and index < KEPT:  # with what is said, which is not compiled
            d, dialogues = self.process.simulation.d, self._batch.dialogues
            for name in CARRIED_OVER:
                setattr(d, name, bool(dialogues[name][0]))
            episode = super()._play(policy, learner, phase, seed, index)
            for name in CARRIED_OVER:
                dialogues[name] = getattr(d, name)
            return episode
        batch, rng = self._batch, PlaceRng(self._batch, 0)
        batch.seed([0], [np.random.default_rng((seed, phase, index))], forget=False)
        batch.begin(np.ones(1, dtype=np.bool_))
        if learner is not None:
            learner.begin()
        dialogue = batch.dialogues[0]
        total = 0.0
        while not dialogue["ended"]:
            state, mask = batch.vectors[0], batch.masks[0].copy()
            action = policy.act(state, mask, rng, learner is not None)
            batch.step(np.array([action]))
            reward = float(batch.rewards[0])
            total += reward
            if learner is not None:
                learner.record(state, mask, action, reward)
        if learner is not None:
            learner.end()
        success, exchanges = bool(dialogue["success"]), int(dialogue["exchange"])
        return Episode(self.process.simulation.task.name, seed, index, success, exchanges, total)
