"""What samples of inspect_ai and our dialogues have in common: options, messages, the store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ChatMessageUser
from inspect_ai.solver import TaskState
from inspect_ai.util import Store

from mwzeval.conversation.messages import ASSISTANT_ROLE, TOOL_ROLE, Message
from mwzeval.conversation.tool_session import ERROR
from mwzeval.conversation.trajectory import Trajectory, trajectory_of
from mwzeval.multiwoz.live.episodes import Episodes

KEY = "mwzeval"
"""Of the metadata of a sample, with options, and of its store, with the dialogue."""
GOAL = "goal"
"""Of the metadata of a sample: what the user wants."""


@cache
def _loaded(options: str) -> Episodes:
    return Episodes(**json.loads(options))


def load(options: Mapping[str, Any]) -> Episodes:
    """Return the episodes of these options; a process loads them once.

    Raises `UsageError` for unknown names, `DataError` for missing files.
    """
    return _loaded(json.dumps(options, sort_keys=True))


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


def plain_messages(messages: Iterable[ChatMessage]) -> list[Message]:
    """Return what an agent does as messages of chat completions; others are left out."""
    plain: list[Message] = []
    for message in messages:
        if isinstance(message, ChatMessageAssistant):
            plain.append(_said(message))
        elif isinstance(message, ChatMessageTool):
            plain.append(_returned(message))
    return plain


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
