"""The solver: our user talks to the model under test, or to an agent of inspect_ai."""

from __future__ import annotations

from collections.abc import Sequence

from inspect_ai.agent import Agent, AgentState, run
from inspect_ai.model import ChatMessage, ChatMessageSystem, execute_tools
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from mwzeval.conversation.endpoint.prompts import read_prompt
from mwzeval.conversation.episode import Episode
from mwzeval.conversation.protocols import INFRASTRUCTURE, InfrastructureError
from mwzeval.multiwoz.frameworks.inspect.dialogues import (
    chat_messages,
    episodes_of,
    in_thread,
    keep,
    plain_messages,
    usages,
)
from mwzeval.multiwoz.frameworks.inspect.tools import EPISODE, definitions, multiwoz_tools


@solver
def multiwoz_user(agent: Agent | None = None, prompt: str | None = None) -> Solver:
    """Return the solver in which the user of a sample talks until it has what it wants.

    It talks to the model under test, with our functions and the system message of the file
    `prompt` (default: the one that comes along); or to an `agent`, which has its own system message
    and gets all messages so far in each turn. An agent that shall look up and book has
    `multiwoz_tools()`.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        episodes = await in_thread(episodes_of, state.metadata)
        episode = episodes.episode(str(state.sample_id), state.epoch)
        token = EPISODE.set(episode)
        state.messages = []
        if agent is None:
            text = episodes.prompt if prompt is None else read_prompt(prompt).text
            state.messages.append(ChatMessageSystem(content=text))
            state.tools = multiwoz_tools()
        try:
            state.messages.extend(chat_messages(await in_thread(episode.begin)))
            while not episode.is_over:
                new = await (_asked(state, generate) if agent is None else _run(agent, state))
                answer = plain_messages(new, usages())
                state.messages.extend(chat_messages(await in_thread(episode.answer, answer)))
        except LimitExceededError as error:
            episode.stop(str(error))
            raise
        finally:
            EPISODE.reset(token)
            if episode.is_over:
                keep(state, episode.trajectory())
        _check(episode)
        return state

    return solve


async def _asked(state: TaskState, generate: Generate) -> Sequence[ChatMessage]:
    """Return the next message of the model, and the results of its calls."""
    before = len(state.messages)
    await generate(state, tool_calls="none")
    executed = await execute_tools(state.messages, definitions(is_open=True))
    state.messages.extend(executed.messages)
    return state.messages[before:]


async def _run(agent: Agent, state: TaskState) -> Sequence[ChatMessage]:
    """Return the messages of an agent's turn."""
    asked = state.messages[-1].id
    done: AgentState = await run(agent, AgentState(messages=state.messages))
    # An agent may leave out or summarise what was before.
    heard = [place for place, each in enumerate(done.messages) if each.id == asked]
    new = done.messages[heard[-1] + 1 if heard else len(state.messages) :]
    state.messages.extend(new)
    state.output = done.output
    return new


def _check(episode: Episode) -> None:
    """Raise `InfrastructureError` for a dialogue that says nothing of the agent."""
    ending = episode.ending
    if ending is not None and ending.end == INFRASTRUCTURE:
        raise InfrastructureError(ending.problem or "the user could not be reached")
