"""Messages between user, agent and tools. Only this module reads the messages of other programs.

`read_message` reads three forms of calls: calls of OpenAI's chat completions, the older
`function_call`, and content blocks of Anthropic. `answer_messages` checks and converts an agent's
answer, which can be any object, into chat completions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mwzeval.conversation.protocols import AnswerError
from mwzeval.errors import Problem, did_you_mean, shorten
from mwzeval.scores.findings import LIST, OBJECT, Findings, Place, check_repeated, expect
from mwzeval.text import json_value

Message = dict[str, Any]
"""A dictionary with `role` (user, assistant or tool) and `content`. An assistant message may have
`tool_calls`; a tool message has the `tool_call_id` of its call."""
Utterance = str | Message
"""An utterance of the user: text, or a message that may also contain the token usage."""
USER_ROLE, ASSISTANT_ROLE, TOOL_ROLE = "user", "assistant", "tool"
RESULT_ROLES = (TOOL_ROLE, "function")
INSTRUCTIONS = ("system", "developer")
ROLES = (USER_ROLE, ASSISTANT_ROLE, *RESULT_ROLES, *INSTRUCTIONS)
"""The known roles; messages with instructions are not part of the dialogue."""
TEXTS = {"text": "text", "output_text": "text", "input_text": "text", "refusal": "refusal"}
"""Maps the type of a content block to the key of its text."""
CALL_PART, RESULT_PART = "tool_use", "tool_result"
UNSAID = ("thinking", "redacted_thinking", "reasoning")
"""Types of content blocks that the user does not see."""
MEANT = "meant"
"""The key, in a user message, of the text that the user meant, if the agent received another
text."""
ERROR = "error"
"""The key of the error message in the result of a call."""
MOST_CHARACTERS = 100_000
"""The maximum length of an agent's message; a longer message is an error of the agent."""

KEPT = ("acts", "usage", "ms", "finish_reason")
"""Keys of an agent's message that are recorded in addition to its text and calls."""


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """All messages and calls of an agent between two messages of the user.

    `messages` are the messages of the agent and its tools, in order; `text` is the response that
    the user receives.
    """

    messages: tuple[Message, ...]
    text: str


class ToolCall(NamedTuple):
    """A call in a message, with the paths of its parts in that message.

    If `answer_messages` has checked the call, `arguments` is the JSON text of an object. In
    messages of other programs, every field can have any value.
    """

    id: Any
    name: Any
    arguments: Any
    path: str = ""
    name_path: str = ""
    arguments_path: str = ""


class Result(NamedTuple):
    """The result of a call, usually text; `call_id` is None if the call is not identified."""

    call_id: Any
    value: Any
    is_error: bool
    path: str


class ChatMessage(NamedTuple):
    """A message of any program.

    `text` is empty if the message has no text or only white space. `has_other` is true if the
    content also has blocks that are not text, calls or results. `raw` is the original message.
    """

    role: str
    text: str = ""
    calls: Sequence[ToolCall] = ()
    results: Sequence[Result] = ()
    has_other: bool = False
    raw: Mapping[str, Any] = {}

    @property
    def is_user(self) -> bool:
        """Whether the user is the author; some programs also send results with the role `user`."""
        return self.role == USER_ROLE and not (self.results and not self.text)


class _Unnoted(Findings):
    def extend(self, problems: Iterable[Problem]) -> None:
        """Ignore the problems."""


NOWHERE = Place(_Unnoted(), "", 0)


def check_message(raw: Mapping[str, Any], place: Place, path: str) -> bool:
    """Report problems of a message's role, content and calls; return whether its role is known."""
    role: Any = raw.get("role")
    content, calls = raw.get("content"), raw.get("tool_calls")
    if expect(role, str, "a role must be a string", place, f"{path}.role") and role not in ROLES:
        close = did_you_mean(role.lower(), ROLES) or f" (known: {', '.join(ROLES)})"
        message = f'unknown role "{shorten(role)}"{close}'
        place.error("unknown-role", message, f"{path}.role")
    if content is not None:
        expected = "content must be a string or a list of parts"
        expect(content, (str, list, tuple), expected, place, f"{path}.content")
    if calls is not None:
        expect(calls, LIST, "expected a list of calls", place, f"{path}.tool_calls")
    return role in ROLES


def as_meant(messages: Iterable[Message]) -> list[Message]:
    """Return messages with the user's intended texts instead of the texts that the agent read."""
    return [
        {**message, "content": message[MEANT]}
        if message.get("role") == USER_ROLE and isinstance(message.get(MEANT), str)
        else message
        for message in messages
    ]


def read_messages(messages: Iterable[Mapping[str, Any]]) -> tuple[ChatMessage, ...]:
    """Return messages of any program; messages with an unknown role are left out."""
    return tuple(filter(None, map(read_message, messages)))


def read_message(
    raw: Mapping[str, Any], place: Place = NOWHERE, path: str = ""
) -> ChatMessage | None:
    """Return a message of any program; None if its role is unknown.

    Problems are reported at the `place` of the message; malformed parts are left out.
    """
    check_repeated(raw, place)
    role: Any = raw.get("role")
    if role in INSTRUCTIONS:
        return ChatMessage(role, raw=raw)
    is_known = role in ROLES if place is NOWHERE else check_message(raw, place, path)
    if not is_known:
        return None
    content = raw.get("content")
    if content is None and isinstance(refusal := raw.get("refusal"), str):
        content = refusal
    calls: list[ToolCall] = []
    results: list[Result] = []
    text, has_other = "", False
    if isinstance(content, str):
        text = content
    elif isinstance(content, LIST):
        text, has_other = _read_parts(content, calls, results, place, f"{path}.content")
    else:
        has_other = content is not None
    if not text.strip():
        text = ""
    if role in RESULT_ROLES:
        results.insert(0, Result(raw.get("tool_call_id"), text, False, f"{path}.tool_call_id"))
    if "tool_calls" in raw or "function_call" in raw:
        calls[:0] = _read_calls(raw, place, path)
    return ChatMessage(role, text, calls, results, has_other, raw)


def _read_parts(
    parts: Sequence[Any], calls: list[ToolCall], results: list[Result], place: Place, path: str
) -> tuple[str, bool]:
    """Return the text of content blocks, and whether some blocks are of other types."""
    texts: list[str] = []
    has_other = False
    for index, part in enumerate(parts):
        at = f"{path}[{index}]"
        is_read = expect(part, OBJECT, "a part of the content must be an object", place, at)
        if is_read and (
            is_read := expect(
                part.get("type"), str, "the type of a part must be a string", place, f"{at}.type"
            )
        ):
            kind = part["type"]
            if kind in TEXTS:
                text, key = part.get(TEXTS[kind]), f"{at}.{TEXTS[kind]}"
                if is_read := expect(text, str, "expected text", place, key):
                    texts.append(text)
            elif kind == CALL_PART:
                made = (part.get("id"), part.get("name"), part.get("input"))
                calls.append(ToolCall(*made, at, f"{at}.name", f"{at}.input"))
            elif kind == RESULT_PART:
                value = part.get("content")
                if isinstance(value, LIST) and all(isinstance(item, OBJECT) for item in value):
                    value = " ".join(str(item.get("text", "")) for item in value)
                failed = part.get("is_error") is True
                results.append(Result(part.get("tool_use_id"), value, failed, f"{at}.tool_use_id"))
            elif kind not in UNSAID:
                known = (*TEXTS, CALL_PART, RESULT_PART, *UNSAID)
                message = f'a part of type "{shorten(kind)}" is ignored{did_you_mean(kind, known)}'
                place.warning("unknown-part", message, f"{at}.type")
                is_read = False
        has_other = has_other or not is_read
    return " ".join(texts), has_other


def _read_calls(raw: Mapping[str, Any], place: Place, path: str) -> Iterator[ToolCall]:
    calls = raw.get("tool_calls")
    functions: list[tuple[Any, Any, str, str]] = []
    for index, call in enumerate(calls if isinstance(calls, LIST) else ()):
        at = f"{path}.tool_calls[{index}]"
        if expect(call, OBJECT, "expected an object", place, at):
            functions.append((call.get("id"), call.get("function"), at, f"{at}.function"))
    if raw.get("function_call") is not None:
        at = f"{path}.function_call"
        functions.append((None, raw["function_call"], at, at))
    for call_id, function, at, inner in functions:
        if expect(function, OBJECT, 'expected {"name": …, "arguments": …}', place, inner):
            name, arguments = function.get("name"), function.get("arguments")
            yield ToolCall(call_id, name, arguments, at, f"{inner}.name", f"{inner}.arguments")


@dataclass(slots=True)
class ExecutedCall:
    """A call in its original form and the text of its result ("" without a result).

    `name` is None for a result without a call.
    """

    name: str | None
    arguments: str = ""
    result: str | None = None
    is_error: bool = False


@dataclass(slots=True)
class Turn:
    """A message of the user and the actions of the agent; `agent` is None if there is no answer.

    `remarks` are messages that the agent has written before its answer.
    """

    user: str = ""
    remarks: list[str] = field(default_factory=list)
    calls: list[ExecutedCall] = field(default_factory=list)
    agent: str | None = None


def turns_of(messages: Iterable[ChatMessage]) -> list[Turn]:
    """Group messages into turns: each message of the user begins a turn.

    If the agent speaks first, the first turn has no user message. A result that does not name its
    call is assigned to the earliest call without a result.
    """
    turns: list[Turn] = []
    for message in messages:
        if message.role in INSTRUCTIONS:
            continue
        if not turns or (message.is_user and not message.results):
            turns.append(Turn())
        for result in message.results:
            text = result.value if isinstance(result.value, str) else ""
            calls = turns[-1].calls
            call = next((call for call in calls if call.result is None), None)
            if call is None:
                calls.append(call := ExecutedCall(None))
            is_error_text = f'"{ERROR}"' in text and is_error(json_value(text))
            call.result, call.is_error = text, result.is_error or is_error_text
        if message.is_user:
            if message.results:
                turns.append(Turn())
            turns[-1].user = message.text
        if message.role != ASSISTANT_ROLE:
            continue
        turn = turns[-1]
        if turn.agent is not None:  # the agent continues, so its previous text was not the answer
            turn.remarks.append(turn.agent)
            turn.agent = None
        if message.text and message.calls:
            turn.remarks.append(message.text)
        elif message.text:
            turn.agent = message.text
        for made in message.calls:
            arguments = made.arguments
            if not isinstance(arguments, str):
                arguments = json.dumps(arguments or {}, ensure_ascii=False)
            turn.calls.append(ExecutedCall(str(made.name), arguments))
    return turns


def is_error(result: Any) -> bool:
    """Return whether the result of a call is an error."""
    return isinstance(result, Mapping) and ERROR in result


def user_message(text: str) -> Message:
    """Return a user message with this text."""
    return {"role": USER_ROLE, "content": text}


def tool_message(call: ToolCall, result: Any) -> Message:
    """Return the tool message with the result of a call as JSON text."""
    return {
        "role": TOOL_ROLE,
        "tool_call_id": call.id,
        "content": json.dumps(result, ensure_ascii=False),
    }


def calls_in(message: Message) -> list[ToolCall]:
    """Return the calls in a message that `answer_messages` has checked."""
    return [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls", ())
    ]


def answer_messages(answer: Any, calls_before: int) -> list[Message]:
    """Check an agent's answer and return it as messages in one form.

    The answer is text, a message, or a list of messages, which includes results if the agent
    executes calls itself. Function calls get new numbers, which begin with `calls_before`, because
    the call ids of some agents are missing or not unique. Raises `AnswerError` if the answer has
    another form.
    """
    if isinstance(answer, str):
        answer = {"content": answer}
    if isinstance(answer, Mapping):
        answer = [answer]
    if not isinstance(answer, Sequence) or isinstance(answer, bytes) or not answer:
        raise AnswerError(
            f"expected a string, a message or a list of messages, found {_kind(answer)}"
        )
    messages: list[Message] = []
    new_ids: dict[Any, str] = {}
    for raw in answer:
        if not isinstance(raw, Mapping):
            raise AnswerError(f"a message must be an object, found {_kind(raw)}")
        role = raw.get("role", ASSISTANT_ROLE)
        if role == TOOL_ROLE:
            asked = _hashable(raw.get("tool_call_id"))
            if asked not in new_ids:
                raise AnswerError(
                    f'there is a result of the call "{shorten(str(asked))}", but no such call'
                )
            content = _text(raw.get("content"))
            messages.append({"role": role, "tool_call_id": new_ids[asked], "content": content})
            continue
        if role != ASSISTANT_ROLE:
            raise AnswerError(
                f'messages of an agent must have the role assistant, not "{shorten(str(role))}"'
            )
        message: Message = {"role": ASSISTANT_ROLE, "content": _text(raw.get("content"))}
        calls = raw.get("tool_calls") or ()
        if not isinstance(calls, Sequence) or isinstance(calls, str | bytes):
            raise AnswerError(f"tool_calls must be a list, found {_kind(calls)}")
        for call in calls:
            calls_before += 1
            function = _called(call)
            new_id = new_ids[_hashable(call.get("id"))] = f"call_{calls_before}"
            plain = {"id": new_id, "type": "function", "function": function}
            message.setdefault("tool_calls", []).append(plain)
        message |= {key: plain_json(raw[key], key) for key in KEPT if raw.get(key) is not None}
        messages.append(message)
    return messages


def _called(call: Any) -> dict[str, str]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise AnswerError(
            'a call must be {"id": …, "type": "function", "function": {"name": …, '
            f'"arguments": …}}}}, found {shorten(repr(call))}'
        )
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps(plain_json({} if arguments is None else arguments, "arguments"))
    return {"name": plain_text(function["name"]), "arguments": plain_text(arguments)}


def _text(content: Any) -> str:
    """Return the text of a message's content, which is a string, None, or a list of blocks."""
    if content is None:
        return ""
    if isinstance(content, Iterable) and not isinstance(content, str | bytes | Mapping):
        parts = list(content)
        if all(isinstance(part, Mapping) for part in parts):
            texts = [part.get("text") for part in parts if part.get("type", "text") == "text"]
            content = " ".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str):
        raise AnswerError(f"the content of a message must be a string, found {_kind(content)}")
    return plain_text(content)


def plain_text(text: str) -> str:
    """Return text from custom code as a plain string that can be recorded. Raises `AnswerError`.

    Other text cannot be recorded: lone surrogates cannot be written to a file, and another process
    cannot load instances of custom string classes, such as enumerations.
    """
    _check_length(text)
    return str.encode(text, errors="replace").decode()


def _check_length(text: str) -> None:
    count = str.__len__(text)
    if count > MOST_CHARACTERS:
        raise AnswerError(f"a message of {count:,} characters: the limit is {MOST_CHARACTERS:,}")


def plain_json(value: Any, key: str) -> Any:
    """Return a copy of a JSON value. Raises `AnswerError` for other values."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise AnswerError(f"{key} is not a JSON value: {shorten(str(error))}") from None
    _check_length(text)
    return json.loads(text)


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int) else None


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {shorten(repr(value))}"
