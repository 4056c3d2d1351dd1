"""Test agents that were trained with other libraries, and log training with stable-baselines3.

stable-baselines3 is imported when it is first used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mwzeval.errors import UsageError, shorten
from mwzeval.files.writing import named_where_unwritable
from mwzeval.libraries import required
from mwzeval.pydial.decision_process import Mask, Vector
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.envs import domain_and_task, is_whole
from mwzeval.pydial.episode_files import write_episodes
from mwzeval.pydial.episodes import Episode, TaskRunner
from mwzeval.pydial.log import EVERY, Outcome, means_of
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.tasks import Task, goodbye_of

DIALOGUES = 500
"""The number of dialogues in a test, the same as in runs."""

Agent = Callable[[Vector, Mask], Any]
"""Returns an action index for an observation, shape (size,), and a boolean mask, shape (actions,).
The mask is True for allowed actions.
"""


@dataclass(frozen=True, slots=True)
class _AgentPolicy:
    agent: Agent

    def act(self, state: Vector, mask: Mask, rng: Rng, training: bool = False) -> Any:
        return self.agent(state, mask)  # `DecisionProcess.step` checks the action


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
    """Play the test dialogues of a task (such as "CR-1") for one seed with a trained agent.

    `mwzeval pydial run` plays the same test dialogues, so `compare` can pair the results. The seed
    determines the confusion table, so train the agent with `confusion_seed=seed`. Actions of the
    agent are carried out even if they are masked. If `file` is given, the dialogues are written to
    this episode file, which `evaluate --benchmark pydial` reads (missing folders are created).
    `policy` is the name of the agent in the episode file. `domain`, `data`, `legacy` and `goodbye`
    have the same meaning as in `make_environment`.

    Raises `UsageError` if a name, number or action is invalid, `DataError` or `InputError` if a
    domain cannot be read, `MwzevalError` if the episode file cannot be written, and all errors of
    the agent.
    """
    if not is_whole(seed, 0) or not is_whole(dialogues, 1):
        raise UsageError(
            "the seed must be 0 or more and the number of dialogues 1 or more, not "
            f"{shorten(repr(seed))} and {shorten(repr(dialogues))}"
        )
    domain, task = domain_and_task(task, domain=domain, data=data)
    who = goodbye_of(goodbye, legacy=legacy)
    runner = TaskRunner(domain, task, "neural", legacy=legacy, confusion_seed=seed, goodbye=who)
    tested = _AgentPolicy(agent)
    episodes = [runner.test(tested, seed, index) for index in range(dialogues)]
    if file is not None:
        about = {"task": task.name, "seed": int(seed), "legacy": legacy}
        if policy is not None:
            about["policy"] = policy
        with named_where_unwritable(file):
            Path(file).parent.mkdir(parents=True, exist_ok=True)
        write_episodes(Path(file), episodes, about)
    return episodes


def __getattr__(name: str) -> Any:
    if name == "DialogueCallback":
        return _dialogue_callback()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _dialogue_callback() -> Any:
    module = "stable_baselines3.common.callbacks"
    callbacks = required(module, None, "the callback needs stable-baselines3")

    class DialogueCallback(callbacks.BaseCallback):  # type: ignore[misc, name-defined]
        """Logs statistics of the training dialogues in the logger of stable-baselines3.

        `train/success` (percent), `train/reward` and `train/exchanges` (turns) are means over the
        last `window` finished dialogues, and `train/dialogues` is the number of finished dialogues.
        With `progress`, a bar shows the steps and these means if standard error is a terminal.
        Rewards are summed as the learner receives them.

        Raises `UsageError` if the window is below 1 or, during training, if the environments are
        not dialogue environments.
        """

        def __init__(self, *, window: int = EVERY, progress: bool = False) -> None:
            super().__init__()
            if window < 1:
                raise UsageError(f"the window must be 1 or more dialogues, not {window}")
            self.dialogues = 0
            self._outcomes: deque[Outcome] = deque(maxlen=window)
            self._rewards = np.zeros(0)
            self._progress = progress
            self._bar: Any = None

        def _on_training_start(self) -> None:
            if self.num_timesteps == 0 or len(self._rewards) != self.training_env.num_envs:
                self._rewards = np.zeros(self.training_env.num_envs)
            if self._progress:
                from tqdm import tqdm

                steps = self.locals["total_timesteps"]
                self._bar = tqdm(total=steps, initial=self.num_timesteps, unit="step", disable=None)

        def _on_step(self) -> bool:
            self._rewards += self.locals["rewards"]
            ended = np.flatnonzero(self.locals["dones"]).tolist()
            for place in ended:
                self._count(self.locals["infos"][place], float(self._rewards[place]))
                self._rewards[place] = 0.0
            if ended:
                means = means_of("train", self._outcomes)
                for name, mean in means.items():
                    self.logger.record(name, mean)
                self.logger.record("train/dialogues", self.dialogues)
                if self._bar is not None:
                    shown = {name.partition("/")[2]: f"{mean:.1f}" for name, mean in means.items()}
                    self._bar.set_postfix(shown, refresh=False)
            if self._bar is not None:
                self._bar.update(len(self._rewards))
            return True

        def _count(self, info: dict[str, Any], reward: float) -> None:
            if "exchange" not in info:
                raise UsageError(
                    "this is not an environment of mwzeval: train in an environment of mwzeval"
                )
            self.dialogues += 1
            self._outcomes.append((bool(info["success"]), int(info["exchange"]), reward))

        def _on_training_end(self) -> None:
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    return DialogueCallback
