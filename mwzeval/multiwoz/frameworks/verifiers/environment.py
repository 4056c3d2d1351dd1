"""The environment: our user talks to the agent, and what came of it is kept in the traces."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from mwzeval.conversation.protocols import INFRASTRUCTURE, InfrastructureError
from mwzeval.conversation.trajectory import Trajectory, trajectory_of
from mwzeval.errors import UsageError, shorten
from mwzeval.files.json_files import read_text
from mwzeval.multiwoz.frameworks.options import load, write_dialogues
from mwzeval.multiwoz.frameworks.verifiers.tasks import KEY, MultiwozState

NAME = "mwzeval-multiwoz"
"""By which verifiers finds the environment: the module `mwzeval_multiwoz`."""


class MultiwozEnvConfig(vf.EnvConfig):
    """The agent under test; its turns need no box of their own."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class MultiwozEnv(vf.Env[MultiwozEnvConfig]):
    """A user with a goal talks to the agent until it has what it wants, or a limit is met."""

    async def run(self, task: vf.Task[Any], agents: vf.Agents) -> None:
        """Hold the dialogue of a task.

        Raises `UsageError` for a harness that does not offer our functions, `InfrastructureError`
        when a user behind an endpoint cannot be reached.
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
                        "the functions are offered by the harness of this environment: leave "
                        "--env.agent.harness out"
                    )
            if not trace.errors:
                episode.stop(trace.stop_condition or "a limit of verifiers")
            if episode.is_over:
                dialogue = episode.trajectory()
                trace.info[KEY] = dialogue.to_json()
                if dialogue.end == INFRASTRUCTURE:
                    raise InfrastructureError(dialogue.problem or "the user cannot be reached")


def load_environment(**options: Any) -> MultiwozEnv:
    """Return the environment with these options of `MultiwozTasksetConfig`, such as `goals`.

    Raises `UsageError` for unknown names, `DataError` for missing files, when tasks are loaded.
    """
    config = vf.resolve_env_config({"taskset": {"id": NAME, **options}})
    env = vf.load_environment(config)
    assert isinstance(env, MultiwozEnv)
    return env


def write_run(traces: str | Path, output: str | Path) -> int:
    """Write the dialogues of `traces.jsonl` to a file that `mwzeval` reads; return their number.

    Rollouts of a task are its trials, in the order of the file; those that failed for an error are
    left out. Raises `UsageError` where there is no dialogue, `InputError` for a file that cannot be
    read, `MwzevalError` for one that cannot be written.
    """
    found: list[Trajectory] = []
    options, model = None, "model"
    for line in read_text(traces).splitlines():
        for trace in json.loads(line)["traces"] if line.strip() else ():
            if KEY in trace.get("info", {}) and trace.get("ok", True):
                found.append(trajectory_of(trace["info"][KEY]))
                options = trace["task"]["data"]["options"]
                model = (trace["agent"]["config"] or {}).get("model") or model
    if options is None:
        raise UsageError(f"{shorten(str(traces), 300)}: no trace has a dialogue of mwzeval in it")
    counts: Counter[str] = Counter()
    numbered = []
    for dialogue in found:
        counts[dialogue.item] += 1
        numbered.append(replace(dialogue, trial=counts[dialogue.item]))
    return write_dialogues(options, numbered, output, f"verifiers:{model}")
