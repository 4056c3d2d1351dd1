"""Live dialogues in inspect_ai: `inspect eval mwzeval/multiwoz`, and the parts of the task.

A task of one's own takes its goals from `multiwoz_dataset`. In the solver `multiwoz_user` our user
talks to the model or to an agent, which calls `multiwoz_tools`; `task_success` is the scorer.
`write_run` turns a log into the file that `mwzeval` reads. See docs/agents.md.
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

from mwzeval.conversation.loop import TOOL_ROUNDS, USER_TURNS, Episode
from mwzeval.conversation.messages import ASSISTANT_ROLE, ERROR, TOOL_ROLE, Message
from mwzeval.conversation.models import read_prompt
from mwzeval.conversation.trajectory import Trajectory, trajectory_of
from mwzeval.errors import UsageError
from mwzeval.multiwoz.choices import AUTO
from mwzeval.multiwoz.frameworks import KEY, keep_dialogue, load, write_dialogues
from mwzeval.multiwoz.goals.goal import goal_sentences
from mwzeval.multiwoz.live.episodes import Episodes
from mwzeval.multiwoz.live.options import AGENDA, GOALS

VALUES = ("success", "inform", "booking")
ABOUT = ("end", "turns", "complete", "user_faults", "domains")
EPISODE: ContextVar[Episode] = ContextVar("episode")
"""The dialogue of the sample that is being solved."""


def multiwoz_dataset(goals: str = GOALS, **options: Any) -> Dataset:
    """Return the goals as samples; `options` are those of `Episodes`, which raises the same."""
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
    tool_rounds: int = TOOL_ROUNDS,
    prompt: str | None = None,
    seed: int = 0,
    data: str | None = None,
) -> Task:
    """Return the task: a user with a goal talks to the model, which calls the functions.

    `trials` are epochs, dialogues about each goal; `prompt` is a file with another system message.
    The other arguments are the options of `mwzeval live`. Raises `UsageError` for unknown names,
    `DataError` for missing files.
    """
    limits = {"user_turns": user_turns, "tool_rounds": tool_rounds}
    return Task(
        dataset=multiwoz_dataset(goals, corpus=corpus, user=user, seed=seed, data=data, **limits),
        solver=multiwoz_user(prompt=prompt),
        scorer=task_success(),
        epochs=trials,
        metadata={"benchmark": "multiwoz"},
    )


def multiwoz_tools() -> list[Tool]:
    """Return the functions `find_*` and `book_*`, for an agent that `multiwoz_user` talks to.

    Outside of such a dialogue their calls raise `UsageError`.
    """

    def tool(name: str, description: str, parameters: Mapping[str, Any]) -> Tool:
        async def execute(**arguments: Any) -> str:
            episode = EPISODE.get(None)
            if episode is None:
                raise UsageError(f"{name} was called outside a dialogue: use multiwoz_user()")
            return json.dumps(episode.call(name, arguments), ensure_ascii=False)

        shape = ToolParams.model_validate(parameters)
        return ToolDef(execute, name, description, shape, max_output=0).as_tool()

    return [tool(**function["function"]) for function in Episodes.tools]


@solver
def multiwoz_user(agent: Agent | None = None, prompt: str | None = None) -> Solver:
    """Return the solver in which the user of a sample talks until it has what it wants.

    The user talks to the model under test, which has our functions and the system message of the
    file `prompt` (default: that of `mwzeval live`); or to an `agent`, which has its own system
    message and gets all messages so far in each turn. Such an agent looks up and books with
    `multiwoz_tools()`.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        episodes = await run_sync(load, state.metadata[KEY])
        episode = episodes.episode(str(state.sample_id), state.epoch)
        token = EPISODE.set(episode)
        state.messages = []
        if agent is None:
            text = episodes.prompt if prompt is None else read_prompt(prompt).text
            state.messages.append(ChatMessageSystem(content=text))
            state.tools = multiwoz_tools()
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
    # An agent may leave out or summarize what was before.
    places = [place for place, message in enumerate(done.messages) if message.id == asked]
    new = done.messages[places[-1] + 1 if places else len(state.messages) :]
    state.messages.extend(new)
    state.output = done.output
    return new


def _chat_messages(heard: Iterable[Message], last: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Return what the agent hears: the user, or results of the calls in its `last` message."""
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
    """Return what an agent does as messages of chat completions; others are left out.

    `usages` are what messages have cost, by their ids in inspect_ai.
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
    """Return what each message of a model in this sample has cost, whoever has asked the model."""
    usages = {}
    for event in transcript().events:
        if isinstance(event, ModelEvent) and event.output.choices and event.output.usage:
            usage, seconds = event.output.usage, event.output.time
            cached = usage.input_tokens_cache_read or 0
            # Input tokens of inspect_ai are without those of the provider's cache, ours are with.
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
    """Return the scorer: `success` of the task, and of it `inform` and `booking`, each 1 or 0.

    `booking` is not scored (NaN) where the user wants nothing booked. The explanation says why a
    dialogue has failed; the metadata have `end`, `turns`, the success of each domain, and what the
    user reports: whether it is `complete`, and the number of its `user_faults`. Trials of a goal
    are averaged first, so that standard errors are those of goals.
    """

    async def score(state: TaskState, target: Target) -> Score:
        return await run_sync(_score, state)

    return score


def _score(state: TaskState) -> Score:
    raw = state.store.get(KEY)
    if raw is not None:
        dialogue = trajectory_of(raw)
    else:  # of a solver that is not ours
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
    """Write the dialogues of a log to a file that `mwzeval` reads; return how many there are.

    Samples that failed for an error have none and are left out. Raises `UsageError` for a log
    without dialogues, `MwzevalError` when the file cannot be written.
    """
    read = log if isinstance(log, EvalLog) else read_eval_log(str(log))
    found = [
        (sample.metadata[KEY], trajectory_of(sample.store[KEY]))
        for sample in read.samples or ()
        if sample.store.get(KEY) is not None
    ]
    agent = f"inspect:{read.eval.model}"
    return write_dialogues(found, output, agent=agent, source=read.location or "the log")
