"""Live dialogues as an environment of verifiers, for `vf-eval mwzeval-multiwoz` and training.

`load_environment` creates the environment from options. The framework verifiers finds the three
classes in the module `mwzeval_multiwoz`, which has the name of the environment. See docs/agents.md.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mwzeval.libraries import required

required("verifiers.v1", "verifiers", "the environment needs verifiers")

import verifiers.v1 as vf
from openai import AsyncOpenAI
from pydantic import PrivateAttr
from verifiers.v1.dialects.chat import message_to_wire

from mwzeval.conversation.loop import USER_TURNS, Episode
from mwzeval.conversation.messages import ASSISTANT_ROLE, Message
from mwzeval.conversation.protocols import AGENT_ERROR
from mwzeval.conversation.trajectory import Trajectory, trajectory_of
from mwzeval.errors import UsageError
from mwzeval.files.reading import read_text
from mwzeval.multiwoz import AUTO
from mwzeval.multiwoz.frameworks import KEY, keep_dialogue, load, write_dialogues
from mwzeval.multiwoz.live.episodes import Outcome
from mwzeval.multiwoz.live.options import AGENDA, GOALS

__all__ = ["MultiwozEnv", "MultiwozHarness", "MultiwozTaskset", "load_environment", "write_run"]

NAME = "mwzeval-multiwoz"
"""The name under which verifiers finds the environment (module `mwzeval_multiwoz`)."""


class MultiwozTasksetConfig(vf.TasksetConfig):
    """The options of the dialogues, which are those of `mwzeval live`."""

    goals: str = GOALS
    corpus: str = AUTO
    user: str = AGENDA
    user_turns: int = USER_TURNS
    tool_rounds: int | None = None
    stress: str = ""
    seed: int = 0
    data: str | None = None


class MultiwozData(vf.TaskData):
    """A goal, whose name is the `id`, and the options of the dialogue about this goal."""

    options: dict[str, Any]


class MultiwozState(vf.State):
    """The state of a rollout, which contains the live dialogue."""

    _episode: Episode | None = PrivateAttr(default=None)
    _answer: Message | None = PrivateAttr(default=None)


class MultiwozTask(vf.Task[MultiwozData, MultiwozState, vf.TaskConfig]):
    """A task is a user with a goal, and the reward of the agent is task success."""

    @vf.reward
    async def task_success(self, trace: vf.Trace) -> float:
        """Return 1 if every domain of the goal succeeded, else 0."""
        return float((await self._outcome(trace)).success)

    @vf.metric
    async def dialogue(self, trace: vf.Trace) -> dict[str, float]:
        """Return `inform`, `booking` (if the goal has one), `user_turns` and other metrics."""
        outcome = await self._outcome(trace)
        values = {
            "inform": outcome.inform,
            "booking": outcome.booking,
            "user_complete": outcome.complete,
            "user_turns": outcome.turns,
            "user_faults": outcome.user_faults,
            "agent_error": outcome.end == AGENT_ERROR,
        }
        return {name: float(value) for name, value in values.items() if value is not None}

    async def _outcome(self, trace: vf.Trace) -> Outcome:
        dialogue = trajectory_of(trace.info[KEY])
        return await asyncio.to_thread(load(self.data.options).outcome, dialogue)


class MultiwozTaskset(vf.Taskset[MultiwozTask, MultiwozTasksetConfig]):
    """The goals of live dialogues, as tasks of verifiers.

    Tasks have no prompt, because the user opens each dialogue.
    """

    def load(self) -> Iterator[MultiwozTask]:
        """Yield the tasks of the live benchmark.

        Raises `UsageError` if a name is unknown, and `DataError` if a file is missing.
        """
        options = {
            name: getattr(self.config, name) for name in MultiwozTasksetConfig.__annotations__
        }
        episodes = load(options)
        for goal in episodes.goals:
            data = MultiwozData(
                id=goal, name=goal, prompt=None, system_prompt=episodes.prompt, options=options
            )
            yield MultiwozTask(data, self.config.task)


class MultiwozHarness(vf.Harness[vf.HarnessConfig]):
    """A harness that calls the model in a loop in this process, without starting programs or
    executing code.

    The framework verifiers intercepts every model request, as is required for harnesses.
    """

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Call the model until it answers the user or the dialogue is over.

        Raises `UsageError` for a task of another environment.
        """
        state = trace.state
        episode = state._episode if isinstance(state, MultiwozState) else None
        if episode is None:
            raise UsageError("this harness only runs dialogues of MultiwozEnv")
        system, prompt = self.resolve_prompt(data)
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        messages += map(message_to_wire, prompt if isinstance(prompt, list) else ())
        async with AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
            create: Any = client.chat.completions.create
            while not episode.is_over:
                begin = time.monotonic()
                completion = await create(model=ctx.model, messages=messages, tools=episode.tools)
                ms = round(1000 * (time.monotonic() - begin))
                message = completion.choices[0].message.model_dump(exclude_none=True)
                answer: Message = {**message, "role": ASSISTANT_ROLE}
                if used := completion.usage:
                    counted = {"in": used.prompt_tokens, "out": used.completion_tokens, "ms": ms}
                    answer["usage"] = counted
                if not message.get("tool_calls"):
                    state._answer = answer
                    break
                messages.append({"content": None, **message})
                messages += await asyncio.to_thread(episode.answer, answer)
        return vf.ProgramResult(0, "", "")


class MultiwozEnvConfig(vf.EnvConfig):
    """The agent under test; its turns need no sandbox."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class MultiwozEnv(vf.Env[MultiwozEnvConfig]):
    """An environment in which a user talks to the agent until the end or a limit is reached."""

    async def run(self, task: vf.Task[Any], agents: vf.Agents) -> None:
        """Run the dialogue of a task between the simulated user and the agent.

        Raises `UsageError` if the harness does not offer the functions. Raises
        `InfrastructureError` if a user behind an endpoint cannot be reached.
        """
        episodes = await asyncio.to_thread(load, task.data.options)
        episode = episodes.episode(task.data.id)
        async with agents.agent.interaction(task) as interaction:
            trace = interaction.trace
            state = trace.state
            assert isinstance(state, MultiwozState)
            state._episode = episode
            heard = await asyncio.to_thread(episode.begin)
            while not episode.is_over:
                state._answer = None
                segment = await interaction.turn(heard[0]["content"])
                if state._answer is not None:
                    heard = await asyncio.to_thread(episode.answer, state._answer)
                elif segment.terminated or trace.errors or trace.stop_condition:
                    break
                elif not episode.is_over:
                    raise UsageError(
                        "the harness of this environment provides the functions: leave out "
                        "--env.agent.harness"
                    )
            if not trace.errors:
                episode.stop(trace.stop_condition or "a limit of verifiers")
            keep_dialogue(episode, trace.info.__setitem__)


def load_environment(**options: Any) -> MultiwozEnv:
    """Return the environment for options of `MultiwozTasksetConfig`, such as `goals`.

    Loading its tasks raises `UsageError` for unknown names and `DataError` for missing files.
    """
    config = vf.resolve_env_config({"taskset": {"id": NAME, **options}})
    env = vf.load_environment(config)
    assert isinstance(env, MultiwozEnv)
    return env


def write_run(traces: str | Path, output: str | Path) -> int:
    """Write the dialogues in `traces.jsonl` to a trajectory file; return their number.

    The rollouts of a task are written as trials, in the order of the file. Rollouts that failed
    with an error are left out. Raises `UsageError` if there are no dialogues, `InputError` if a
    file cannot be read, and `MwzevalError` if the output cannot be written.
    """
    trials: Counter[str] = Counter()
    found: list[tuple[dict[str, Any], Trajectory]] = []
    model = "model"
    for line in read_text(traces).splitlines():
        for trace in json.loads(line)["traces"] if line.strip() else ():
            if KEY in trace.get("info", {}) and trace.get("ok", True):
                dialogue = trajectory_of(trace["info"][KEY])
                trials[dialogue.item] += 1
                dialogue = replace(dialogue, trial=trials[dialogue.item])
                found.append((trace["task"]["data"]["options"], dialogue))
                model = (trace["agent"]["config"] or {}).get("model") or model
    return write_dialogues(found, output, agent=f"verifiers:{model}", source=traces)
