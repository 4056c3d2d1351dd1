"""Samples of inspect_ai and our dialogues: options, messages, what is kept in stores and logs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalLog, read_eval_log, transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    ModelOutput,
)
from inspect_ai.solver import TaskState
from inspect_ai.util import Store

from mwzeval.conversation.messages import ASSISTANT_ROLE, ERROR, TOOL_ROLE, Message
from mwzeval.conversation.trajectory import Trajectory, trajectory_of
from mwzeval.errors import UsageError, shorten
from mwzeval.multiwoz.frameworks.options import load, write_dialogues
from mwzeval.multiwoz.live.episodes import Episodes

Result = TypeVar("Result")

KEY = "mwzeval"
"""Of the metadata of a sample, with options, and of its store, with the dialogue."""
GOAL = "goal"
"""Of the metadata of a sample: what the user wants."""


async def in_thread(function: Callable[..., Result], *arguments: Any) -> Result:
    """Return what a function returns, while the event loop goes on; whichever loop that is."""
    from anyio.to_thread import run_sync

    return await run_sync(function, *arguments)


def episodes_of(metadata: Mapping[str, Any]) -> Episodes:
    """Return the episodes that a sample of `multiwoz_dataset` is one of."""
    return load(metadata[KEY])


def keep(state: TaskState, dialogue: Trajectory) -> None:
    """Keep the dialogue of a sample in its store, and so in the log."""
    state.store.set(KEY, dialogue.to_json())


def kept(store: Store | Mapping[str, Any]) -> Trajectory | None:
    """Return the dialogue that is kept in a store, None where there is none."""
    raw = store.get(KEY)
    return None if raw is None else trajectory_of(raw)


def chat_messages(messages: Iterable[Message]) -> list[ChatMessage]:
    """Return what the user says as messages of inspect_ai."""
    return [ChatMessageUser(content=message["content"]) for message in messages]


def plain_messages(
    messages: Iterable[ChatMessage], usages: Mapping[str, Mapping[str, int]] | None = None
) -> list[Message]:
    """Return what an agent does as messages of chat completions; others are left out.

    `usages` say what a message has cost, by its id in inspect_ai.
    """
    plain: list[Message] = []
    for message in messages:
        if isinstance(message, ChatMessageAssistant):
            said = _said(message)
            if usages and message.id is not None and message.id in usages:
                said["usage"] = dict(usages[message.id])
            plain.append(said)
        elif isinstance(message, ChatMessageTool):
            plain.append(_returned(message))
    return plain


def usages() -> dict[str, dict[str, int]]:
    """Return what each message of a model in this sample has cost, whoever has asked the model."""
    return {
        event.output.message.id: used
        for event in transcript().events
        if isinstance(event, ModelEvent) and event.output.choices and event.output.message.id
        if (used := _usage(event.output))
    }


def _usage(output: ModelOutput) -> dict[str, int]:
    used: dict[str, int] = {}
    if output.usage is not None:
        cached = output.usage.input_tokens_cache_read or 0
        written = output.usage.input_tokens_cache_write or 0
        # Input tokens of inspect_ai are without those of the provider's cache, ours are with them.
        used["in"] = output.usage.input_tokens + cached + written
        used["out"] = output.usage.output_tokens
        if cached:
            used["cached"] = cached
        if output.time is not None:
            used["ms"] = round(1000 * output.time)
    return used


def _said(message: ChatMessageAssistant) -> Message:
    said: Message = {"role": ASSISTANT_ROLE, "content": message.text}
    if message.tool_calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function, "arguments": json.dumps(call.arguments)},
            }
            for call in message.tool_calls
        ]
    return said


def _returned(message: ChatMessageTool) -> Message:
    content = message.text
    if message.error is not None:
        content = json.dumps({ERROR: message.error.message})
    return {"role": TOOL_ROLE, "tool_call_id": message.tool_call_id, "content": content}


def write_run(log: EvalLog | str | Path, output: str | Path) -> int:
    """Write the dialogues of a log to a file that `mwzeval` reads; return how many there are.

    Samples that failed for an error have none and are left out. Raises `UsageError` for a log
    without dialogues, `MwzevalError` when the file cannot be written.
    """
    read = log if isinstance(log, EvalLog) else read_eval_log(str(log))
    found = [(sample, kept(sample.store)) for sample in read.samples or ()]
    dialogues = [dialogue for _, dialogue in found if dialogue is not None]
    options = [sample.metadata[KEY] for sample, dialogue in found if dialogue is not None]
    if not dialogues:
        name = shorten(str(read.location or "the log"), 300)
        raise UsageError(f"{name}: no sample has a dialogue of multiwoz_user() in it")
    return write_dialogues(options[0], dialogues, output, f"inspect:{read.eval.model}")
