"""Any policy as the system in a dialogue: one that says acts, and one that chooses actions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.pydial.dialogue.database import Domain
from mwzeval.pydial.dialogue.rng import Draws
from mwzeval.pydial.dialogue.simulation import Result, Simulation
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.policies.learner import Chooser
from mwzeval.pydial.policies.presets import HANDCRAFTED, preset_named
from mwzeval.pydial.runs.checkpoints import fitting, read_checkpoint
from mwzeval.pydial.runs.episodes import ActPolicy
from mwzeval.pydial.runs.training import Stage
from mwzeval.pydial.tasks import Task, task_named

BUILT_IN = (HANDCRAFTED, RandomPolicy.name)


class SeatedSystem(Protocol):
    """A policy at its place in a simulation."""

    @property
    def simulation(self) -> Simulation:
        """Where it is."""
        ...

    def begin(self, draws: Draws) -> None:
        """Start a dialogue, up to the first act of the user."""
        ...

    def step(self) -> Result:
        """Say something, hear the answer, and return what came of it."""
        ...


class SpeakingSystem:
    """A policy that says acts of its own making."""

    def __init__(self, simulation: Simulation, policy: ActPolicy) -> None:
        self.simulation = simulation
        self._policy = policy

    def begin(self, draws: Draws) -> None:
        """Start a dialogue."""
        self.simulation.begin(draws)

    def step(self) -> Result:
        """Say what the policy says."""
        simulation = self.simulation
        return simulation.answer(self._policy.act(simulation.belief, simulation.draws))


class ChoosingSystem:
    """A policy that chooses summary actions."""

    def __init__(self, stage: Stage, policy: Chooser) -> None:
        self.simulation = stage.process.simulation
        self._stage = stage
        self._policy = policy
        self._vector: Any = None

    def begin(self, draws: Draws) -> None:
        """Start a dialogue."""
        self._vector, _ = self._stage.process.begin(draws)

    def step(self) -> Result:
        """Do what the policy chooses."""
        process = self._stage.process
        state = self._vector if self._stage.view == "neural" else process.kernel_vector()
        action = self._policy.act(state, process.mask, self.simulation.draws)
        taken = process.step(action)
        self._vector = taken.observation
        ended = taken.ended
        return Result(
            taken.reward,
            ended,
            ended and bool(taken.info["success"]),
            ended and bool(taken.info["out_of_time"]),
        )


def seated(
    policy: str | Path,
    domain: Domain,
    task: Task,
    *,
    legacy: bool = False,
    confusion_seed: int = 0,
) -> SeatedSystem:
    """Return "handcrafted", "random", or the policy in a checkpoint file, at its place in a task.

    A checkpoint may come from another environment of the same domain. Raises `UsageError` for a
    name that is neither, `InputError` for a file that is no checkpoint for this domain.
    """
    name = str(policy)
    if name == HANDCRAFTED:
        simulation = Simulation(domain, task, legacy=legacy, confusion_seed=confusion_seed)
        speaker = HandcraftedPolicy(domain, legacy=legacy, most_informed=task.max_informed_slots)
        return SpeakingSystem(simulation, speaker)
    if name == RandomPolicy.name:
        stage = Stage(domain, task, "neural", legacy=legacy, confusion_seed=confusion_seed)
        return ChoosingSystem(stage, RandomPolicy())
    if not Path(name).exists():
        raise UsageError(
            f'no policy "{shorten(name)}"{did_you_mean(name, BUILT_IN)} ({", ".join(BUILT_IN)}, or '
            "the checkpoint of one that has learned: runs/CR-3/dqn/seed-0/model-004000.npz)"
        )
    advice = "Take another file, or train the policy again (`mwzeval pydial run`)"
    with fitting(name, advice):
        checkpoint = read_checkpoint(name)
    origin = checkpoint.origin
    if task_named(origin.task).domain != task.domain:
        message = (
            f"a checkpoint of task {origin.task}, which is not about the domain of {task.name}"
        )
        raise InputError([Problem("other-checkpoint", message, file=name)])
    preset = preset_named(origin.policy)
    stage = Stage(domain, task, preset.view, legacy=legacy, confusion_seed=confusion_seed)
    with fitting(name, advice):
        learner = preset.learner(stage.size, stage.actions, seed=origin.seed, legacy=origin.legacy)
        learner.remember(checkpoint.memory, whole=False)
    return ChoosingSystem(stage, learner)
