"""The messages of a dialogue, cut into exchanges: what the user says, and all that the agent does.

Read are messages of any program: calls as OpenAI's chat completions have them, as the older
`function_call`, and as parts of the content.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mwzeval.conversation.messages import ASSISTANT_ROLE, USER_ROLE, Message
from mwzeval.conversation.tool_session import ERROR

RESULT_ROLES = ("tool", "function")
CALL_PART, RESULT_PART = "tool_use", "tool_result"
CALLED, RETURNED, SAID = "called", "returned", "said"


class Step(NamedTuple):
    """What an agent does before it answers: `called` a function, said something, or was `returned`
    something.

    `text` are the arguments or the result as they were written; `is_error` tells of results.
    """

    kind: str
    name: str
    text: str
    is_error: bool = False


@dataclass(slots=True)
class Exchange:
    """What the user says, what the agent does, and what it answers; None where it does not."""

    user: str = ""
    steps: list[Step] = field(default_factory=list)
    agent: str | None = None


def exchanges_of(messages: Iterable[Message]) -> list[Exchange]:
    """Return the exchanges of messages that were checked when they were read (`files`).

    Each message of a user begins one. An agent that speaks first has an exchange of its own.
    """
    exchanges: list[Exchange] = []
    for message in messages:
        role = message.get("role")
        if begins_exchange(message):
            exchanges.append(Exchange(text_of(message.get("content"))))
            continue
        if role not in (USER_ROLE, ASSISTANT_ROLE, *RESULT_ROLES):
            continue
        if not exchanges:
            exchanges.append(Exchange())
        _act(exchanges[-1], message, str(role))
    return exchanges


def begins_exchange(message: Message) -> bool:
    """Tell whether a message is one of the user: some programs send results in that role, too."""
    return message.get("role") == USER_ROLE and not _results_in(message)


def _act(exchange: Exchange, message: Message, role: str) -> None:
    if role in RESULT_ROLES:
        result = text_of(message.get("content"))
        exchange.steps.append(Step(RETURNED, "", result, is_error(result)))
        return
    for part in _results_in(message):
        result = text_of(part.get("content"))
        failed = part.get("is_error") is True or is_error(result)
        exchange.steps.append(Step(RETURNED, "", result, failed))
    if role != ASSISTANT_ROLE:
        return
    if exchange.agent is not None:  # it goes on: what it has said was not its answer
        exchange.steps.append(Step(SAID, "", exchange.agent))
        exchange.agent = None
    calls = [Step(CALLED, name, arguments) for name, arguments in calls_of(message)]
    text = text_of(message.get("content"))
    if text.strip() and calls:
        exchange.steps.append(Step(SAID, "", text))
    elif text.strip():
        exchange.agent = text
    exchange.steps += calls


def calls_of(message: Message) -> Iterator[tuple[str, str]]:
    """Yield the (name, arguments as text) of what a message calls, whatever is in it."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        if isinstance(call, Mapping):
            yield _function(call.get("function"), "arguments")
    if message.get("function_call") is not None:
        yield _function(message["function_call"], "arguments")
    for part in _parts(message):
        if part.get("type") == CALL_PART:
            yield _function(part, "input")


def _function(raw: Any, arguments: str) -> tuple[str, str]:
    if not isinstance(raw, Mapping):
        return str(raw), ""
    given = raw.get(arguments)
    if not isinstance(given, str):
        given = json.dumps(given or {}, ensure_ascii=False)
    return str(raw.get("name")), given


def text_of(content: Any) -> str:
    """Return the text of a message's content, or that of its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return " ".join(text for text in texts if isinstance(text, str))


def is_error(result: str) -> bool:
    """Tell whether the result of a call is an object that says what was wrong."""
    if f'"{ERROR}"' not in result:
        return False
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, Mapping) and ERROR in value


def _results_in(message: Message) -> Sequence[Mapping[str, Any]]:
    return [part for part in _parts(message) if part.get("type") == RESULT_PART]


def _parts(message: Message) -> Iterator[Mapping[str, Any]]:
    content = message.get("content")
    for part in content if isinstance(content, list | tuple) else ():
        if isinstance(part, Mapping):
            yield part
