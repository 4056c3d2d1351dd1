"""`DialogueCallback` for stable-baselines3 and sb3-contrib, which are imported with it."""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import Any

import numpy as np

from mwzeval.errors import UsageError
from mwzeval.libraries import required
from mwzeval.pydial.training.log import EVERY, Outcome, means_of


def __getattr__(name: str) -> Any:
    if name == "DialogueCallback":
        return _dialogue_callback()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _dialogue_callback() -> Any:
    module = "stable_baselines3.common.callbacks"
    callbacks = required(module, None, "the callback needs stable-baselines3")

    class DialogueCallback(callbacks.BaseCallback):  # type: ignore[misc, name-defined]
        """Tells how the dialogues of training go, in the logger of stable-baselines3.

        `train/success` (percent), `train/reward` and `train/exchanges` are means of the last
        `window` dialogues that ended, `train/dialogues` is how many have. With `progress` a bar on
        standard error, if that is a terminal, shows the steps and these means. Rewards are added up
        as the learner gets them.

        Raises `UsageError` for a window below 1, and in training with environments that are none
        of dialogues.
        """

        def __init__(self, *, window: int = EVERY, progress: bool = False) -> None:
            super().__init__()
            if window < 1:
                raise UsageError(f"means are of 1 or more dialogues, not {window}")
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
                raise UsageError("these are no dialogues: train in an environment of mwzeval")
            self.dialogues += 1
            self._outcomes.append((bool(info["success"]), int(info["exchange"]), reward))

        def _on_training_end(self) -> None:
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    return DialogueCallback
