"""The harness: asks the model for a turn, and executes its calls in this process."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import verifiers.v1 as vf
from openai import AsyncOpenAI
from verifiers.v1.dialects.chat import message_to_wire

from mwzeval.conversation.episode import Episode
from mwzeval.conversation.messages import ASSISTANT_ROLE, Message
from mwzeval.errors import UsageError
from mwzeval.multiwoz.frameworks.verifiers.tasks import MultiwozState


class MultiwozHarnessConfig(vf.HarnessConfig):
    """There is nothing to choose."""


class MultiwozHarness(vf.Harness[MultiwozHarnessConfig]):
    """A loop of calls in this process: no program is installed or started, and nothing is executed.

    Every request goes through the interception of verifiers, as the contract of harnesses says.
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
        """Ask the model until it has an answer for the user, or the dialogue is over.

        Raises `UsageError` for a task that is not ours.
        """
        state = trace.state
        episode = state._episode if isinstance(state, MultiwozState) else None
        if episode is None:
            raise UsageError("this harness holds the dialogues of MultiwozEnv, and no others")
        system, prompt = self.resolve_prompt(data)
        messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        messages += [
            message_to_wire(message) for message in prompt or () if isinstance(prompt, list)
        ]
        async with AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
            state._answer = await _answer(client, ctx.model, messages, episode)
        return vf.ProgramResult(0, "", "")


async def _answer(
    client: AsyncOpenAI, model: str, messages: list[dict[str, Any]], episode: Episode
) -> Message | None:
    """Return what the model says to the user; None when the dialogue is over before."""
    create: Any = client.chat.completions.create
    while True:
        begin = time.monotonic()
        completion = await create(model=model, messages=messages, tools=list(episode.tools))
        message = completion.choices[0].message.model_dump(exclude_none=True)
        answer: Message = {
            "role": ASSISTANT_ROLE,
            "content": message.get("content"),
            "tool_calls": message.get("tool_calls"),
            "usage": _usage(completion.usage, time.monotonic() - begin),
        }
        if not answer["tool_calls"]:
            return answer
        messages.append({"content": None, **message})
        messages += _as_called(await asyncio.to_thread(episode.answer, answer), message)
        if episode.is_over:
            return None


def _as_called(results: list[Message], message: dict[str, Any]) -> list[Message]:
    """Return results with the ids that the model has given its calls."""
    calls = message["tool_calls"]
    return [
        {**result, "tool_call_id": call["id"]} for result, call in zip(results, calls, strict=False)
    ]


def _usage(usage: Any, seconds: float) -> dict[str, int] | None:
    """Return the tokens of a completion, in and out, and the milliseconds that it took."""
    if usage is None:
        return None
    return {"in": usage.prompt_tokens, "out": usage.completion_tokens, "ms": round(1000 * seconds)}
