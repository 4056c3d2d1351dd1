"""Live dialogues in inspect_ai: the task `mwzeval/multiwoz`, and its parts for custom tasks.

A custom task takes its goals from `multiwoz_dataset`. In the solver `multiwoz_user`, a simulated
user talks to the model or to an agent that calls `multiwoz_tools`. The function `task_success`
creates the scorer. `write_run` converts a log into a file for `mwzeval`. See docs/agents.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from math import nan
from pathlib import Path
from typing import Any

from mwzeval.libraries import required

required("inspect_ai", "inspect", "the task needs inspect_ai")

from anyio.to_thread import run_sync
from inspect_ai import Task, task
from inspect_ai.agent import Agent, AgentState, run
from inspect_ai.dataset import Dataset, MemoryDataset, Sample
from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalLog, read_eval_log, transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolDef, ToolParams
from inspect_ai.util import LimitExceededError

from mwzeval.conversation.loop import USER_TURNS, Episode
from mwzeval.conversation.messages import ASSISTANT_ROLE, ERROR, TOOL_ROLE, Message
from mwzeval.conversation.models import read_prompt
from mwzeval.conversation.trajectory import Trajectory, trajectory_of
from mwzeval.errors import UsageError
from mwzeval.multiwoz import AUTO
from mwzeval.multiwoz.frameworks import KEY, keep_dialogue, load, write_dialogues
from mwzeval.multiwoz.live.options import AGENDA, GOALS
from mwzeval.multiwoz.live.stress import parse_conditions
from mwzeval.multiwoz.live.tools import schema_of
from mwzeval.multiwoz.live.wordings import goal_sentences

VALUES = ("success", "inform", "booking")
ABOUT = ("end", "turns", "complete", "user_faults", "domains")
EPISODE: ContextVar[Episode] = ContextVar("episode")
"""The dialogue of the current sample."""


def multiwoz_dataset(goals: str = GOALS, **options: Any) -> Dataset:
    """Return a data set with one sample per goal; options and errors are those of `Episodes`."""
    metadata = {KEY: {"goals": goals, **options}}
    samples = [
        Sample(id=name, input="\n".join(goal_sentences(goal)), metadata={"goal": goal, **metadata})
        for name, goal in load(metadata[KEY]).goals.items()
    ]
    return MemoryDataset(samples, name=f"multiwoz {goals}")


@task
def multiwoz(
    goals: str = GOALS,
    corpus: str = AUTO,
    user: str = AGENDA,
    trials: int = 1,
    user_turns: int = USER_TURNS,
    tool_rounds: int | None = None,
    stress: str = "",
    prompt: str | None = None,
    seed: int = 0,
    data: str | None = None,
) -> Task:
    """Return the task, in which a simulated user talks to the model and the model calls functions.

    `trials` is the number of dialogues per goal (epochs), and `prompt` is a file with a custom
    system message. The other arguments are options of `mwzeval live`. Raises `UsageError` if a name
    is unknown, and `DataError` if a file is missing.
    """
    limits = {"user_turns": user_turns, "tool_rounds": tool_rounds}
    options = {"corpus": corpus, "user": user, "stress": stress, "seed": seed, "data": data}
    return Task(
        dataset=multiwoz_dataset(goals, **options, **limits),
        solver=multiwoz_user(prompt=prompt),
        scorer=task_success(),
        epochs=trials,
        metadata={"benchmark": "multiwoz"},
    )


def multiwoz_tools(stress: str = "") -> list[Tool]:
    """Return the functions `find_*` and `book_*` for an agent in `multiwoz_user`.

    The descriptions of the functions depend on the stress conditions (`stress`) of the dialogue.
    Calls outside of a dialogue in `multiwoz_user` raise `UsageError`.
    """

    def tool(name: str, description: str, parameters: Mapping[str, Any]) -> Tool:
        async def execute(**arguments: Any) -> str:
            episode = EPISODE.get(None)
            if episode is None:
                raise UsageError(f"{name} was called outside a dialogue: use multiwoz_user()")
            return json.dumps(episode.call(name, arguments), ensure_ascii=False)

        shape = ToolParams.model_validate(parameters)
        return ToolDef(execute, name, description, shape, max_output=0).as_tool()

    return [tool(**called["function"]) for called in schema_of(parse_conditions(stress))]


@solver
def multiwoz_user(agent: Agent | None = None, prompt: str | None = None) -> Solver:
    """Return a solver that lets the sample's user talk to the model or agent until the user is
    done.

    Without `agent`, the user talks to the model under test. The model receives the functions and
    the system message in the file `prompt` (default: the message of `mwzeval live`). A given
    `agent` has its own system message, receives all previous messages in each turn, and calls the
    functions in `multiwoz_tools()`.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        episodes = await run_sync(load, state.metadata[KEY])
        episode = episodes.episode(str(state.sample_id), state.epoch)
        token = EPISODE.set(episode)
        state.messages = []
        if agent is None:
            text = episodes.prompt if prompt is None else read_prompt(prompt).text
            state.messages.append(ChatMessageSystem(content=text))
            state.tools = multiwoz_tools(state.metadata[KEY].get("stress", ""))
        try:
            heard = await run_sync(episode.begin)
            while not episode.is_over:
                state.messages += _chat_messages(heard, state.messages[-1:])
                if agent is None:
                    await generate(state, tool_calls="none")
                    new = state.messages[-1:]
                else:
                    new = await _run(agent, state)
                heard = await run_sync(episode.answer, plain_messages(new, _usages()))
        except LimitExceededError as error:
            episode.stop(str(error))
            raise
        finally:
            EPISODE.reset(token)
            keep_dialogue(episode, state.store.set)
        return state

    return solve


async def _run(agent: Agent, state: TaskState) -> list[ChatMessage]:
    asked = state.messages[-1].id
    done: AgentState = await run(agent, AgentState(messages=state.messages))
    # An agent may omit or summarize earlier messages.
    places = [place for place, message in enumerate(done.messages) if message.id == asked]
    new = done.messages[places[-1] + 1 if places else len(state.messages) :]
    state.messages.extend(new)
    state.output = done.output
    return new


def _chat_messages(heard: Iterable[Message], last: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Return the agent's new messages: from the user, or the results of the `last` calls."""
    calls = (call for message in last for call in getattr(message, "tool_calls", None) or ())
    names = {call.id: call.function for call in calls}
    return [
        ChatMessageUser(content=message["content"])
        if message["role"] != TOOL_ROLE
        else ChatMessageTool(**message, function=names.get(message["tool_call_id"]))
        for message in heard
    ]


def plain_messages(
    messages: Iterable[ChatMessage], usages: Mapping[str, Mapping[str, int]] | None = None
) -> list[Message]:
    """Return an agent's messages as chat completions; messages of other roles are left out.

    `usages` maps inspect_ai message ids to token usage.
    """
    plain: list[Message] = []
    for message in messages:
        if isinstance(message, ChatMessageTool):
            error = message.error
            content = message.text if error is None else json.dumps({ERROR: error.message})
            called = {"tool_call_id": message.tool_call_id, "content": content}
            plain.append({"role": TOOL_ROLE, **called})
        elif isinstance(message, ChatMessageAssistant):
            plain.append({"role": ASSISTANT_ROLE, "content": message.text})
            calls = [
                (call.id, call.function, call.parse_error or json.dumps(call.arguments))
                for call in message.tool_calls or ()
            ]
            if calls:
                plain[-1]["tool_calls"] = [
                    {"id": id_, "type": "function", "function": {"name": name, "arguments": text}}
                    for id_, name, text in calls
                ]
            if usage := (usages or {}).get(message.id or ""):
                plain[-1]["usage"] = dict(usage)
    return plain


def _usages() -> dict[str, dict[str, int]]:
    """Return the token usage of each model message in this sample, regardless of the caller."""
    usages = {}
    for event in transcript().events:
        if isinstance(event, ModelEvent) and event.output.choices and event.output.usage:
            usage, seconds = event.output.usage, event.output.time
            cached = usage.input_tokens_cache_read or 0
            # inspect_ai does not count tokens in the provider's cache as input tokens; these are
            # added here.
            tokens = usage.input_tokens + cached + (usage.input_tokens_cache_write or 0)
            used = {"in": tokens, "out": usage.output_tokens}
            if cached:
                used["cached"] = cached
            if seconds is not None:
                used["ms"] = round(1000 * seconds)
            usages[event.output.message.id or ""] = used
    return usages


@scorer(metrics={name: [mean(), stderr()] for name in VALUES})
def task_success() -> Scorer:
    """Return the scorer, whose scores are `success`, `inform` and `booking`, each 1 or 0.

    `booking` is NaN if the goal has no booking. The explanation of a score contains the failure
    reasons. The metadata contain `end`, `turns`, the success of each domain, and two values of the
    user's report: whether its goal is `complete`, and the number of its mistakes (`user_faults`).
    The scores of the trials of a goal are averaged first, so standard errors are over goals.
    """

    async def score(state: TaskState, target: Target) -> Score:
        return await run_sync(_score, state)

    return score


def _score(state: TaskState) -> Score:
    raw = state.store.get(KEY)
    if raw is not None:
        dialogue = trajectory_of(raw)
    else:  # another solver has solved the sample
        messages = tuple(plain_messages(state.messages))
        dialogue = Trajectory(str(state.sample_id), state.metadata["goal"], messages)
    outcome = load(state.metadata[KEY]).outcome(dialogue)
    values = {name: getattr(outcome, name) for name in VALUES}
    return Score(
        value={name: nan if value is None else float(value) for name, value in values.items()},
        answer=dialogue.end,
        explanation="\n".join(outcome.losses) or "The user got everything in its goal.",
        metadata={name: getattr(outcome, name) for name in ABOUT},
    )


def write_run(log: EvalLog | str | Path, output: str | Path) -> int:
    """Write the dialogues in a log to a trajectory file for `mwzeval`; return their number.

    Samples that failed with an error have no dialogue and are left out. Raises `UsageError` if the
    log has no dialogues, and `MwzevalError` if the file cannot be written.
    """
    read = log if isinstance(log, EvalLog) else read_eval_log(str(log))
    found = [
        (sample.metadata[KEY], trajectory_of(sample.store[KEY]))
        for sample in read.samples or ()
        if sample.store.get(KEY) is not None
    ]
    agent = f"inspect:{read.eval.model}"
    return write_dialogues(found, output, agent=agent, source=read.location or "the log")
