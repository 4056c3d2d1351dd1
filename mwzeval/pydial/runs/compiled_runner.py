"""A `TaskRunner` whose dialogues are played by compiled code: the same ones, sooner."""

from __future__ import annotations

from typing import Any

import numpy as np

from mwzeval.pydial.dialogue.domain import Domain
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.decision_process import (
    CARRIED_OVER,
    DecisionProcess,
    Transition,
    Vector,
)
from mwzeval.pydial.runs.episodes import TaskRunner
from mwzeval.pydial.simulator.many import ManyDialogues, PlaceRng
from mwzeval.pydial.simulator.view import View
from mwzeval.pydial.tasks import Task

ONE = np.ones(1, dtype=np.bool_)


class CompiledProcess(DecisionProcess):
    """One dialogue after the other of a process, in compiled code; it shares its settings."""

    def __init__(self, process: DecisionProcess, many: ManyDialogues) -> None:
        vars(self).update(vars(process))
        self._many = many

    @property
    def view(self) -> View:
        """The dialogue in words."""
        return self._many.view(0)

    def sibling(self) -> CompiledProcess:
        """Return the same process for other dialogues, which begin as those of this one do."""
        other = self._many.sibling(1)
        for name in CARRIED_OVER:
            other.dialogues[name] = self._many.dialogues[name]
        return CompiledProcess(self, other)

    def start(self, generator: np.random.Generator) -> tuple[Rng, Vector]:
        """Start a dialogue seeded from a NumPy generator; return its own, and what is observed."""
        self._many.seed([0], [generator], forget=False)
        self._many.begin(ONE)
        self.mask = self._many.masks[0].copy()
        return PlaceRng(self._many, 0), self._many.vectors[0]

    def step(self, action: Any) -> Transition:
        """Carry out an action."""
        many = self._many
        many.step(np.array([action]))
        self.mask = many.masks[0].copy()
        dialogue = many.dialogues[0]
        info = {"success": bool(dialogue["success"]), "exchange": int(dialogue["exchange"])}
        reward, ended = float(many.rewards[0]), bool(dialogue["ended"])
        return Transition(many.vectors[0], reward, ended, info)


class CompiledTaskRunner(TaskRunner):
    """A task for neural policies; arguments are those of `TaskRunner`."""

    def __init__(self, domain: Domain, task: Task, **options: Any) -> None:
        """Prepare and compile. Raises `DependencyError` without numba."""
        super().__init__(domain, task, "neural", **options)
        many = ManyDialogues(self.process, 1)
        many.load()
        self.process = CompiledProcess(self.process, many)
