"""Tests of agents that other libraries have trained, with the users of the tests of runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.errors import UsageError
from mwzeval.files.writing import named_where_unwritable
from mwzeval.pydial.dialogue.domain import Domain
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.decision_process import Mask, Vector
from mwzeval.pydial.environments.gymnasium_environments import domain_and_task
from mwzeval.pydial.runs.episode_files import write_episodes
from mwzeval.pydial.runs.episodes import Episode, TaskRunner
from mwzeval.pydial.tasks import Task, goodbye_of

DIALOGUES = 500
"""Of a test, as in runs."""

Agent = Callable[[Vector, Mask], Any]
"""Returns the number of an action, for an observation, shape (size,), and a mask, shape (actions,),
of bool. The mask is True where an action is allowed."""


@dataclass(frozen=True, slots=True)
class _AgentPolicy:
    agent: Agent

    def act(self, state: Vector, mask: Mask, rng: Rng, training: bool = False) -> int:
        return int(self.agent(state, mask))


def play_tests(
    agent: Agent,
    task: str | Task,
    *,
    seed: int = 0,
    dialogues: int = DIALOGUES,
    file: str | Path | None = None,
    policy: str | None = None,
    domain: Domain | None = None,
    data: str | Path | None = None,
    legacy: bool = False,
    goodbye: str | None = None,
) -> list[Episode]:
    """Return the test dialogues of a task ("CR-1") and a seed, with an agent that was trained.

    They are those that `mwzeval pydial run` tests its policies with: `compare` pairs them. What
    sounds alike in them is drawn from the seed, so train with `confusion_seed=seed`. Masked actions
    are carried out as in the benchmark. With `file` they are written as an episode file (folders
    are made), which `evaluate --benchmark pydial` scores; `policy` is the agent's name in it.
    `domain`, `data`, `legacy` and `goodbye` are those of `make_environment`.

    Raises `UsageError` for unknown names, senseless numbers and an action that is none, `DataError`
    and `InputError` for the files of a domain, `MwzevalError` where the file cannot be written, and
    what the agent raises.
    """
    if seed < 0 or dialogues < 1:
        raise UsageError(
            f"a seed is 0 or more, and a test has at least one dialogue, not {seed} and {dialogues}"
        )
    domain, task = domain_and_task(task, domain=domain, data=data)
    who = goodbye_of(goodbye, legacy=legacy)
    runner = TaskRunner(domain, task, "neural", legacy=legacy, confusion_seed=seed, goodbye=who)
    episodes = runner.tests(_AgentPolicy(agent), seed, dialogues)
    if file is not None:
        about = {"task": task.name, "seed": seed, "legacy": legacy}
        if policy is not None:
            about["policy"] = policy
        with named_where_unwritable(file):
            Path(file).parent.mkdir(parents=True, exist_ok=True)
        write_episodes(Path(file), episodes, about)
    return episodes
