"""The tasks of the environment: goals, and what a dialogue about one is worth."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf
from pydantic import PrivateAttr

from mwzeval.conversation.episode import Episode
from mwzeval.conversation.loop import USER_TURNS
from mwzeval.conversation.messages import Message
from mwzeval.conversation.tool_session import TOOL_ROUNDS
from mwzeval.conversation.trajectory import trajectory_of
from mwzeval.multiwoz.choices import AUTO
from mwzeval.multiwoz.frameworks.options import load
from mwzeval.multiwoz.live.episodes import Outcome
from mwzeval.multiwoz.live.settings.options import AGENDA, GOALS

KEY = "mwzeval"
"""Of the information of a trace: its dialogue, as a line of the file of a run."""


class MultiwozTasksetConfig(vf.TasksetConfig):
    """Which dialogues are held: the options of `mwzeval live`."""

    goals: str = GOALS
    corpus: str = AUTO
    user: str = AGENDA
    user_turns: int = USER_TURNS
    tool_rounds: int = TOOL_ROUNDS
    seed: int = 0
    data: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `Episodes`."""
        names = ("goals", "corpus", "user", "user_turns", "tool_rounds", "seed", "data")
        return {name: getattr(self, name) for name in names}


class MultiwozData(vf.TaskData):
    """A goal, by its name in `id`, and the options with which its dialogue is held."""

    options: dict[str, Any]


class MultiwozState(vf.State):
    """The dialogue of a rollout, while it is held."""

    _episode: Episode | None = PrivateAttr(default=None)
    _answer: Message | None = PrivateAttr(default=None)


class MultiwozTask(vf.Task[MultiwozData, MultiwozState, vf.TaskConfig]):
    """A user who wants something; the reward is whether it was reached."""

    @vf.reward
    async def task_success(self, trace: vf.Trace) -> float:
        """Return 1 when every domain of the goal was a success, else 0."""
        return float((await self._outcome(trace)).success)

    @vf.metric
    async def dialogue(self, trace: vf.Trace) -> dict[str, float]:
        """Return `inform`, `booking` (where something is to be booked), `user_turns`, …"""
        outcome = await self._outcome(trace)
        told = {
            "inform": outcome.inform,
            "booking": outcome.booking,
            "user_complete": outcome.complete,
            "user_turns": outcome.turns,
            "user_faults": outcome.user_faults,
            "agent_error": outcome.end == "agent_error",
        }
        return {name: float(value) for name, value in told.items() if value is not None}

    async def _outcome(self, trace: vf.Trace) -> Outcome:
        dialogue = trajectory_of(trace.info[KEY])
        return await asyncio.to_thread(load(self.data.options).outcome, dialogue)


class MultiwozTaskset(vf.Taskset[MultiwozTask, MultiwozTasksetConfig]):
    """The goals; the user opens each dialogue, so that tasks have no prompt."""

    def load(self) -> Iterator[MultiwozTask]:
        """Yield the tasks. Raises `UsageError` for unknown names, `DataError` for missing files."""
        options = self.config.options
        episodes = load(options)
        for goal in episodes.goals:
            data = MultiwozData(
                id=goal, name=goal, prompt=None, system_prompt=episodes.prompt, options=options
            )
            yield MultiwozTask(data, self.config.task)
