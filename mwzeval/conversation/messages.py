"""Messages between a user, an agent and its tools, in the form of OpenAI's chat completions.

What an agent returns is checked here, whatever it is; what it calls is executed elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mwzeval.conversation.protocols import AnswerError
from mwzeval.errors import shorten

Message = dict[str, Any]
"""`role` (user, assistant or tool) and `content`; an assistant's may have `tool_calls`, the one of
a tool has the `tool_call_id` that it answers."""
Utterance = str | Message
"""What a user says: text, or the message with it, and with what it has cost."""
USER_ROLE, ASSISTANT_ROLE, TOOL_ROLE = "user", "assistant", "tool"
MOST_CHARACTERS = 100_000
"""Longer messages of an agent are an error of it: nobody reads on, and files stay small."""

KEPT = ("acts", "usage", "ms", "finish_reason")
"""What is kept of an agent's message beside its text and calls: dialogue acts, tokens, time."""


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """All that an agent does between two messages of the user.

    `messages` are its own and those of the tools that it calls, in order; `text` is what the user
    hears.
    """

    messages: tuple[Message, ...]
    text: str


class ToolCall(NamedTuple):
    """A call in a message; `arguments` is the JSON text of an object, as the agent wrote it."""

    id: str
    name: str
    arguments: str


def user_message(text: str) -> Message:
    """Return a message of the user."""
    return {"role": USER_ROLE, "content": text}


def tool_message(call: ToolCall, result: Any) -> Message:
    """Return the message with what a call gave, as JSON text."""
    return {
        "role": TOOL_ROLE,
        "tool_call_id": call.id,
        "content": json.dumps(result, ensure_ascii=False),
    }


def calls_in(message: Message) -> list[ToolCall]:
    """Return the calls of a message that `answer_messages` has checked."""
    return [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls", ())
    ]


def answer_messages(answer: Any, calls_before: int) -> list[Message]:
    """Return what an agent has answered as messages in one form.

    That is text, a message, or a list of messages, of which the results of an agent that calls
    functions itself are part. Calls are numbered on from `calls_before`, because not all agents
    give them ids, or different ones. Raises `AnswerError` for anything else.
    """
    if isinstance(answer, str):
        answer = {"role": ASSISTANT_ROLE, "content": answer}
    if isinstance(answer, Mapping):
        answer = [answer]
    if not isinstance(answer, Sequence) or isinstance(answer, bytes) or not answer:
        raise AnswerError(f"expected text, a message or a list of messages, found {_kind(answer)}")
    messages: list[Message] = []
    ids: dict[Any, str] = {}
    for message in answer:
        if not isinstance(message, Mapping):
            raise AnswerError(f"a message is an object, found {_kind(message)}")
        role = message.get("role", ASSISTANT_ROLE)
        if role == TOOL_ROLE:
            messages.append(_own_result(message, ids))
        elif role == ASSISTANT_ROLE:
            messages.append(_own_message(message, ids, calls_before))
        else:
            raise AnswerError(
                f'an agent sends messages of role assistant, not "{shorten(str(role))}"'
            )
    return messages


def _own_message(message: Mapping[str, Any], ids: dict[Any, str], calls_before: int) -> Message:
    kept: Message = {"role": ASSISTANT_ROLE, "content": _text(message.get("content"))}
    raw_calls = message.get("tool_calls") or ()
    if not isinstance(raw_calls, Sequence) or isinstance(raw_calls, str | bytes):
        raise AnswerError(f"tool_calls is a list, found {_kind(raw_calls)}")
    calls = []
    for call in raw_calls:
        new_id = f"call_{calls_before + len(ids) + 1}"
        calls.append(_own_call(call, new_id))
        ids[_hashable(call.get("id")), len(ids)] = new_id
    if calls:
        kept["tool_calls"] = calls
    for key in KEPT:
        if message.get(key) is not None:
            kept[key] = _plain(message[key], key)
    return kept


def _own_call(call: Any, new_id: str) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str):
        raise AnswerError(
            'a call is {"id": …, "type": "function", "function": {"name": …, "arguments": …}}, '
            f"found {shorten(repr(call))}"
        )
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps(_plain({} if arguments is None else arguments, "arguments"))
    function = {"name": plain_text(name), "arguments": plain_text(arguments)}
    return {"id": new_id, "type": "function", "function": function}


def _own_result(message: Mapping[str, Any], ids: dict[Any, str]) -> Message:
    """Return the result of a call that the agent has executed itself."""
    asked = _hashable(message.get("tool_call_id"))
    known = [new_id for (old_id, _), new_id in ids.items() if old_id == asked]
    if not known:
        raise AnswerError(f'the result of a call "{shorten(str(asked))}" that was not made')
    return {
        "role": TOOL_ROLE,
        "tool_call_id": known[-1],
        "content": _text(message.get("content")),
    }


def _text(content: Any) -> str:
    """Return the text of a message: a string, nothing, or a list of parts of which some have it."""
    if content is None:
        return ""
    if isinstance(content, Iterable) and not isinstance(content, str | bytes | Mapping):
        parts = list(content)
        if all(isinstance(part, Mapping) for part in parts):
            texts = [part.get("text") for part in parts if part.get("type", "text") == "text"]
            content = " ".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str):
        raise AnswerError(f"the content of a message is text, found {_kind(content)}")
    return plain_text(content)


def plain_text(text: str) -> str:
    """Return what somebody's own code says as text that can be kept. Raises `AnswerError`.

    Halves of surrogate pairs cannot be written to a file, and objects of a class of one's own,
    such as an enumeration of names, cannot be read in a process that does not know it.
    """
    _check_length(text)
    return str.encode(text, errors="replace").decode()


def _check_length(text: str) -> None:
    count = str.__len__(text)
    if count > MOST_CHARACTERS:
        raise AnswerError(
            f"a message of {count:,} characters: more than {MOST_CHARACTERS:,} are not read"
        )


def _plain(value: Any, key: str) -> Any:
    """Return a copy of a JSON value."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise AnswerError(f"{key} is no JSON value: {shorten(str(error))}") from None
    _check_length(text)
    return json.loads(text)


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int) else None


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {shorten(repr(value))}"
