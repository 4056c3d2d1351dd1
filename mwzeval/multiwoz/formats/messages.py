"""Convert conversations of chat models to predicted turns with states, bookings and responses.

Function calls are checked against the table of functions. Active domains are estimated from the
states, as for most published systems. The domains of the calls are not used as active domains.
Calls often concern several domains per turn, whereas the estimate has only one domain, so Inform
and Success would be one or two points higher.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from mwzeval.conversation.messages import (
    ASSISTANT_ROLE,
    INSTRUCTIONS,
    ChatMessage,
    Result,
    ToolCall,
    read_message,
)
from mwzeval.errors import InputError, did_you_mean, shorten
from mwzeval.files.reading import parse_json
from mwzeval.multiwoz.formats.dialogues import Adapted
from mwzeval.multiwoz.formats.functions import Function, Parameter, Tool, Tools
from mwzeval.multiwoz.predictions.reading import items_of
from mwzeval.scores.findings import LIST, OBJECT, Findings, Place, expect, found

CONTENT = "messages"
BOOKING_PREFIX = "book"


def adapt_messages(raw: Any, findings: Findings, tools: Tools) -> Adapted:
    """Yield the predictions of conversations; problems are added to `findings`.

    `raw` maps a dialogue id to messages, or to an object with `messages`. The functions that the
    messages call are defined by `tools`.
    """
    expected = 'expected an object of dialogues, {"sng0073": {"messages": […]}, …}'
    if not isinstance(raw, OBJECT):
        findings.error("shape", f"{expected}, {found(raw)}")
        return
    is_read = has_called = False
    for name, dialogue in items_of(raw, findings):
        place = Place(findings, name)
        if isinstance(dialogue, OBJECT):
            expect(dialogue, OBJECT, "", place)
            dialogue = dialogue.get(CONTENT)
        if expect(dialogue, LIST, "expected a list of messages", place):
            conversation = Conversation(name, findings, tools)
            turns = conversation.read(dialogue)
            is_read, has_called = is_read or bool(turns), has_called or conversation.has_called
            yield name, turns
    if is_read and not has_called:
        findings.warning(
            "no-calls",
            "no dialogue has a function call, so all states are empty and nothing can be "
            "offered; for a system without tools, write only the responses (docs/formats.md)",
        )


class Conversation:
    """Reads the messages of a dialogue in order and divides them into turns.

    A system turn consists of all assistant messages between two user messages. The response of a
    turn is the text of its last assistant message. `asked` lists the user utterances, one per turn.
    `has_called` is true if the system has called any function.

    The arguments of a find call replace the constraints of its domain in the belief state, except
    for booking slots. A book call changes only the slots of its arguments.
    """

    def __init__(self, dialogue: str, findings: Findings, tools: Tools) -> None:
        self._dialogue = dialogue
        self._findings = findings
        self._tools = tools
        self._called: dict[str, dict[str, Any]] = {}
        """The stored call for each call id. The key `result` is added when the result of the call
        is read."""
        self._called_without_id: deque[dict[str, Any]] = deque()
        self._state: dict[str, dict[str, str]] = {}
        self._turns: list[tuple[int, dict[str, Any]]] = []
        self._begin: tuple[Place, str] | None = None
        """The position of the first message of the current turn, and the user's utterance."""
        self._calls: list[tuple[Function, dict[str, Any]]] = []
        self._answer: tuple[Place, str] | None = None
        self.asked: list[str] = []
        self.has_called = False

    def read(self, messages: Iterable[Any]) -> list[tuple[int, dict[str, Any]]]:
        """Return the turns in a list of messages, as (position of the answer, turn) pairs."""
        for position, raw in enumerate(messages):
            place = Place(self._findings, self._dialogue, position)
            path = f"{CONTENT}[{position}]"
            if expect(raw, OBJECT, "a message must be an object", place, path):
                message = read_message(raw, place, path)
                if message is not None:
                    self.add(message, position)
        return self.end()

    def end(self) -> list[tuple[int, dict[str, Any]]]:
        """End the dialogue, and return (position, turn) pairs of all its turns."""
        self._close()
        if not self._turns:
            message = "the dialogue has no user message"
            self._findings.error("empty", message, dialogue=self._dialogue)
        return self._turns

    def add(self, message: ChatMessage, position: int) -> None:
        """Add the next message; `position` is its index in the dialogue."""
        if message.role in INSTRUCTIONS:
            return
        place = Place(self._findings, self._dialogue, position, f"{CONTENT}[{position}]")
        is_assistant = message.role == ASSISTANT_ROLE
        says_nothing = not (message.text or message.has_other)
        calls = [called for call in message.calls if (called := self._understood(call, place))]
        if message.calls and not is_assistant:
            place.error("calls-of-others", "only the assistant can call functions")
        for result in message.results:
            self._note_result(result, place)
        if self._answer and (message.results or is_assistant):
            # Another message follows the text, so it was not the final answer.
            self._answer[0].warning(
                "not-final",
                "if the assistant writes several messages in a turn, only the last message is "
                "scored",
                f"{self._answer[0].key}.content",
            )
            self._answer = None
        if message.is_user:
            self._close()
            self._begin = place, message.text
            if says_nothing:
                place.error("empty-message", "the user message is empty")
        elif is_assistant:
            if self._begin is None:
                self._begin = place, ""
                problem = (
                    "the conversation begins with the assistant, but the first turn must be "
                    "the user's"
                )
                place.error("order", problem)
            self.has_called = self.has_called or bool(message.calls)
            self._calls += calls
            if message.text:
                self._answer = place, message.text
            elif says_nothing and not message.calls:
                problem = "the assistant's message has neither text nor calls"
                place.error("empty-message", problem)

    def _close(self) -> None:
        """End the current turn, if there is one."""
        if self._begin is None:
            return
        place, words = self._begin
        self.asked.append(words)
        response = ""
        if self._answer is None:
            message = "this user message has no final text answer of the assistant"
            place.error("no-answer", message)
        else:
            place, response = self._answer
        bookings = []
        for function, record in self._calls:
            domain, arguments = function.domain, record["arguments"]
            known = self._state.get(domain, {})
            if function.kind == "find":
                known = {s: v for s, v in known.items() if s.startswith(BOOKING_PREFIX)}
            else:
                bookings.append({"domain": domain, "slots": arguments})
            filled = {
                parameter.slot: arguments[parameter.name]
                for parameter in function.parameters
                if parameter.slot and parameter.name in arguments
            }
            # A new state is created, because earlier turns refer to the previous state.
            self._state = {**self._state, domain: {**known, **filled}}
        turn = {"response": response, "state": self._state, "bookings": bookings}
        if self._calls:
            turn["calls"] = [record for _, record in self._calls]
        self._turns.append((place.turn or 0, turn))
        self._begin, self._answer, self._calls = None, None, []

    def _understood(self, call: ToolCall, place: Place) -> tuple[Function, dict[str, Any]] | None:
        """Return mwzeval's function for a call, and the call as stored in the turn.

        The result is added to the stored call later. Returns None if no function matches the call.
        """
        record: dict[str, Any] = {}
        if call.id is None:
            self._called_without_id.append(record)
        elif expect(call.id, str, "the id of a call must be a string", place, f"{call.path}.id"):
            if call.id in self._called:
                message = f'the call id "{shorten(call.id)}" occurs twice in this dialogue'
                place.error("repeated-call", message, f"{call.path}.id")
            self._called.setdefault(call.id, record)
        tool, name, known = None, call.name, self._tools.by_name
        if expect(name, str, "the name of a function must be a string", place, call.name_path):
            tool = known.get(name)
            if tool is None:
                own = "use --tools to describe your own functions"
                close = did_you_mean(name, known) or f" (known: {', '.join(known)}; {own})"
                message = f'unknown function "{shorten(name)}"{close}'
                place.error("unknown-function", message, call.name_path)
        arguments = decoded_arguments(call, place)
        if tool is None or arguments is None or tool.function is None:
            return None
        given = _arguments(tool, tool.function, arguments, call, place)
        record |= {"function": tool.function.name, "arguments": given}
        if tool.slots:
            record["slots"] = tool.slots
        return tool.function, record

    def _note_result(self, result: Result, place: Place) -> None:
        """Store the result of a call; report results without a call and repeated results."""
        name, path, problem = result.call_id, result.path, None
        record: dict[str, Any] = {}
        if name is None:
            if self._called_without_id:
                record = self._called_without_id.popleft()
            else:
                problem = "result-without-call", "the result does not belong to a pending call"
        elif not expect(name, str, "the id of a call must be a string", place, path):
            pass
        elif name not in self._called:
            message = f'no previous call has the id "{shorten(name)}"'
            problem = "result-without-call", message + did_you_mean(name, self._called)
        elif "result" in self._called[name]:
            problem = "repeated-result", f'the call "{shorten(name)}" already has a result'
        else:
            record = self._called[name]
        if problem:
            place.error(*problem, path)
        record["result"] = {"error": result.value} if result.is_error else result.value


def decoded_arguments(call: ToolCall, place: Place) -> Any:
    """Return the decoded arguments of a call, or None if the arguments are not an object."""
    raw, path = call.arguments, call.arguments_path
    if isinstance(raw, str):
        try:
            raw = parse_json(raw, path)
        except InputError as error:
            place.error("arguments-not-json", error.problems[0].message, path)
            return None
    return raw if expect(raw, OBJECT, "arguments must be an object", place.at(path)) else None


def _arguments(
    tool: Tool, function: Function, raw: Mapping[Any, Any], call: ToolCall, place: Place
) -> dict[str, str]:
    """Return values by mwzeval's argument names, without null values and unknown arguments."""
    given: dict[str, str] = {}
    for name, value in raw.items():
        path = f"{call.arguments_path}.{name}"
        slot = tool.slots.get(name, name)
        if slot is None:
            continue
        parameter = function.parameter(slot)
        if parameter is None:
            names = tool.arguments
            close = did_you_mean(str(name), names) or f" (it has {', '.join(names)})"
            message = f'{call.name} has no argument "{shorten(str(name))}"{close}'
            place.error("unknown-argument", message, path)
            continue
        if tool.is_own and isinstance(value, bool) and "yes" in parameter.values:
            value = "yes" if value else "no"
        text = _text(value, parameter, place, path)
        # Strict schemas and some models use null or an empty text for unknown values.
        if text:
            if given.setdefault(slot, text) != text:
                message = f"{call.name} was called with two values of {slot}"
                place.error("repeated-argument", message, path)
            if expected := parameter.unlike(text):
                message = f'{function.name} was called with the {slot} "{shorten(text)}"'
                place.warning("value-not-in-schema", f"{message}, which is not {expected}", path)
    for parameter in function.parameters:
        if parameter.is_required and parameter.name not in given:
            message = f"{function.name} was called without {parameter.name}"
            place.warning("missing-argument", message, call.arguments_path)
    return given


def _text(value: Any, parameter: Parameter, place: Place, path: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    is_whole = type(value) is int
    if parameter.is_number and is_whole and value >= 0:
        return str(value)
    kind = "a whole number" if parameter.is_number else "text"
    hint = f': write "{value}"' if is_whole and not parameter.is_number else ""
    place.error("argument-type", f"expected {kind}, {found(value)}{hint}", path)
    return None
