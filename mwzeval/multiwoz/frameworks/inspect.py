"""Live dialogues in inspect_ai: `inspect eval mwzeval/multiwoz`, and the parts that it is made of.

`multiwoz` is the task. For a task of one's own: `multiwoz_dataset` has the goals, `multiwoz_user`
is the solver in which our user talks to the model or to an agent, `multiwoz_tools` are the
functions for that agent, `task_success` is the scorer. `write_run` makes of a log the file that
`mwzeval` reads. See docs/frameworks.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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
    ModelOutput,
    execute_tools,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolDef, ToolParam, ToolParams
from inspect_ai.util import LimitExceededError

from mwzeval.conversation.loop import TOOL_ROUNDS, USER_TURNS, Episode
from mwzeval.conversation.messages import ASSISTANT_ROLE, ERROR, TOOL_ROLE, Message
from mwzeval.conversation.models import read_prompt
from mwzeval.conversation.protocols import INFRASTRUCTURE, InfrastructureError
from mwzeval.conversation.trajectory import Trajectory, trajectory_of
from mwzeval.errors import UsageError, shorten
from mwzeval.multiwoz.choices import AUTO
from mwzeval.multiwoz.frameworks import load
from mwzeval.multiwoz.goals.goal import goal_sentences
from mwzeval.multiwoz.live.episodes import Episodes
from mwzeval.multiwoz.live.options import AGENDA, GOALS

KEY = "mwzeval"
"""Of the metadata of a sample, with options, and of its store, with the dialogue."""
GOAL = "goal"
"""Of the metadata of a sample: what the user wants."""
VALUES = ("success", "inform", "booking")
EPISODE: ContextVar[Episode] = ContextVar("episode")
"""The dialogue of the sample that is being solved."""


def multiwoz_dataset(
    goals: str = GOALS,
    corpus: str = AUTO,
    user: str = AGENDA,
    user_turns: int = USER_TURNS,
    tool_rounds: int = TOOL_ROUNDS,
    seed: int = 0,
    data: str | None = None,
) -> Dataset:
    """Return the goals as samples; the metadata of each say how its dialogue is held.

    The arguments are the options of `mwzeval live`. Raises `UsageError` for unknown names,
    `DataError` for missing files.
    """
    options = {
        "goals": goals,
        "corpus": corpus,
        "user": user,
        "user_turns": user_turns,
        "tool_rounds": tool_rounds,
        "seed": seed,
        "data": data,
    }
    samples = [
        Sample(id=name, input="\n".join(goal_sentences(goal)), metadata={GOAL: goal, KEY: options})
        for name, goal in load(options).goals.items()
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
    """Return the task: the model gets a user what it wants, with functions on the database.

    `trials` are epochs: so many dialogues about each goal. `prompt` is a file with another system
    message. The other arguments are the options of `mwzeval live`. Raises `UsageError` for unknown
    names, `DataError` for missing files.
    """
    return Task(
        dataset=multiwoz_dataset(goals, corpus, user, user_turns, tool_rounds, seed, data),
        solver=multiwoz_user(prompt=prompt),
        scorer=task_success(),
        epochs=trials,
        metadata={"benchmark": "multiwoz"},
    )


def multiwoz_tools() -> list[Tool]:
    """Return the functions `find_*` and `book_*`, for an agent that `multiwoz_user` talks to.

    Outside of such a dialogue their calls raise `UsageError`.
    """
    return [_definition(tool["function"]).as_tool() for tool in Episodes.tools]


def _definition(function: Mapping[str, Any], *, is_open: bool = False) -> ToolDef:
    """Return the definition of a function.

    With `is_open` all arguments are let pass: the functions themselves say what is wrong with a
    call, in the words of `mwzeval live`, and take numbers for their digits.
    """
    name, schema = function["name"], function["parameters"]

    async def execute(**kwargs: Any) -> str:
        episode = EPISODE.get(None)
        if episode is None:
            raise UsageError(f"{name} was called outside of a dialogue: use multiwoz_user()")
        return json.dumps(episode.call(name, kwargs), ensure_ascii=False)

    parameters = ToolParams(additionalProperties=True)
    if not is_open:
        properties = schema["properties"].items()
        parameters = ToolParams(
            properties={name: ToolParam.model_validate(value) for name, value in properties},
            required=list(schema.get("required", ())),
        )
    description = function["description"]
    return ToolDef(execute, name=name, description=description, parameters=parameters, max_output=0)


@solver
def multiwoz_user(agent: Agent | None = None, prompt: str | None = None) -> Solver:
    """Return the solver in which the user of a sample talks until it has what it wants.

    It talks to the model under test, with our functions and the system message of the file
    `prompt` (default: the one that comes along); or to an `agent`, which has its own system message
    and gets all messages so far in each turn. An agent that shall look up and book has
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
            state.messages += [ChatMessageUser(content=message["content"]) for message in heard]
            while not episode.is_over:
                new = await (_asked(state, generate) if agent is None else _run(agent, state))
                heard = await run_sync(episode.answer, plain_messages(new, _usages()))
                state.messages += [ChatMessageUser(content=message["content"]) for message in heard]
        except LimitExceededError as error:
            episode.stop(str(error))
            raise
        finally:
            EPISODE.reset(token)
            if episode.is_over:
                state.store.set(KEY, episode.trajectory().to_json())
        if episode.ending is not None and episode.ending.end == INFRASTRUCTURE:
            # Such a dialogue says nothing of the agent.
            raise InfrastructureError(episode.ending.problem or "the user could not be reached")
        return state

    return solve


async def _asked(state: TaskState, generate: Generate) -> Sequence[ChatMessage]:
    """Return the next message of the model, and the results of its calls."""
    before = len(state.messages)
    await generate(state, tool_calls="none")
    tools = [_definition(tool["function"], is_open=True) for tool in Episodes.tools]
    state.messages.extend((await execute_tools(state.messages, tools)).messages)
    return state.messages[before:]


async def _run(agent: Agent, state: TaskState) -> Sequence[ChatMessage]:
    """Return the messages of an agent's turn."""
    asked = state.messages[-1].id
    done: AgentState = await run(agent, AgentState(messages=state.messages))
    # An agent may leave out or summarise what was before.
    heard = [place for place, message in enumerate(done.messages) if message.id == asked]
    new = done.messages[heard[-1] + 1 if heard else len(state.messages) :]
    state.messages.extend(new)
    state.output = done.output
    return new


def plain_messages(
    messages: Iterable[ChatMessage], usages: Mapping[str, Mapping[str, int]] | None = None
) -> list[Message]:
    """Return what an agent does as messages of chat completions; others are left out.

    `usages` say what a message has cost, by its id in inspect_ai.
    """
    plain: list[Message] = []
    for message in messages:
        if isinstance(message, ChatMessageAssistant):
            said: Message = {"role": ASSISTANT_ROLE, "content": message.text}
            if message.tool_calls:
                said["tool_calls"] = [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {
                            "name": call.function,
                            "arguments": json.dumps(call.arguments),
                        },
                    }
                    for call in message.tool_calls
                ]
            if usages and message.id is not None and message.id in usages:
                said["usage"] = dict(usages[message.id])
            plain.append(said)
        elif isinstance(message, ChatMessageTool):
            error = message.error
            content = message.text if error is None else json.dumps({ERROR: error.message})
            called = {"tool_call_id": message.tool_call_id, "content": content}
            plain.append({"role": TOOL_ROLE, **called})
    return plain


def _usages() -> dict[str, dict[str, int]]:
    """Return what each message of a model in this sample has cost, whoever has asked the model."""
    return {
        event.output.message.id: used
        for event in transcript().events
        if isinstance(event, ModelEvent) and event.output.choices and event.output.message.id
        if (used := _usage(event.output))
    }


def _usage(output: ModelOutput) -> dict[str, int]:
    if output.usage is None:
        return {}
    cached = output.usage.input_tokens_cache_read or 0
    written = output.usage.input_tokens_cache_write or 0
    # Input tokens of inspect_ai are without those of the provider's cache, ours are with them.
    used = {
        "in": output.usage.input_tokens + cached + written,
        "out": output.usage.output_tokens,
    }
    if cached:
        used["cached"] = cached
    if output.time is not None:
        used["ms"] = round(1000 * output.time)
    return used


@scorer(metrics={name: [mean(), stderr()] for name in VALUES})
def task_success() -> Scorer:
    """Return the scorer: `success` of the task, and of it `inform` and `booking`, each 1 or 0.

    `booking` is not scored (NaN) where the user wants nothing booked. The explanation says why a
    dialogue has failed; the metadata have `end`, `turns`, what became of each domain, and what is
    known of the user: whether it is `complete`, and its `user_faults`. Trials of a goal are
    averaged before anything else, so that standard errors are those of goals.
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
        dialogue = Trajectory(str(state.sample_id), state.metadata[GOAL], messages)
    outcome = load(state.metadata[KEY]).outcome(dialogue)
    reached = {name: getattr(outcome, name) for name in VALUES}
    return Score(
        value={name: nan if value is None else float(value) for name, value in reached.items()},
        answer=dialogue.end,
        explanation="\n".join(outcome.losses) or "The user has got all that it wanted.",
        metadata={
            "end": outcome.end,
            "turns": outcome.turns,
            "complete": outcome.complete,
            "user_faults": outcome.user_faults,
            "domains": dict(outcome.domains),
        },
    )


def write_run(log: EvalLog | str | Path, output: str | Path) -> int:
    """Write the dialogues of a log to a file that `mwzeval` reads; return how many there are.

    Samples that failed for an error have none and are left out. Raises `UsageError` for a log
    without dialogues, `MwzevalError` when the file cannot be written.
    """
    read = log if isinstance(log, EvalLog) else read_eval_log(str(log))
    samples = [sample for sample in read.samples or () if sample.store.get(KEY) is not None]
    if not samples:
        name = shorten(str(read.location or "the log"), 300)
        raise UsageError(f"{name}: no sample has a dialogue of multiwoz_user() in it")
    dialogues = [trajectory_of(sample.store[KEY]) for sample in samples]
    load(samples[0].metadata[KEY]).write(output, dialogues, agent=f"inspect:{read.eval.model}")
    return len(dialogues)
