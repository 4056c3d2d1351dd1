"""Conversations of chat models → the turns of predictions: states, bookings and responses.

Calls are checked against the table of functions. Active domains are left to be estimated from the
states, as for most published systems. The domains of a turn's calls would often be several, where
the estimate is one, and the same system would gain a point or two of Inform and Success by its
format alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mwzeval.conversation.messages import (
    ASSISTANT_ROLE,
    INSTRUCTIONS,
    ChatMessage,
    Result,
    ToolCall,
    read_message,
)
from mwzeval.errors import InputError, did_you_mean, shorten
from mwzeval.files.reading import RepeatedKeys, parse_json
from mwzeval.multiwoz.formats.dialogues import Adapted
from mwzeval.multiwoz.formats.functions import OUR_TOOLS, Function, Parameter, Tool, Tools
from mwzeval.scores.findings import OBJECT, Findings, Place, found, repeated

CONTENT = "messages"
BOOKING_PREFIX = "book"


def adapt_messages(raw: Any, findings: Findings, tools: Tools = OUR_TOOLS) -> Adapted:
    """Return the predictions that conversations amount to; problems go to `findings`.

    `raw` is dialogue id → messages, or → an object with `messages`; `tools` are what it calls.
    """
    adapted = Adapted()
    if not isinstance(raw, OBJECT):
        message = 'expected an object of dialogues, {"sng0073": {"messages": […]}, …}'
        findings.error("shape", f"{message}, {found(raw)}")
        return adapted
    if isinstance(raw, RepeatedKeys):
        for key in raw.repeated:
            findings.error("repeated-key", "the dialogue is given more than once", dialogue=key)
    if not raw:
        findings.error("empty", "there is no dialogue in it")
    called = False
    for name, dialogue in raw.items():
        if not isinstance(name, str):
            findings.error("shape", f"a dialogue id must be text, {found(name)}")
            continue
        if isinstance(dialogue, OBJECT):
            if isinstance(dialogue, RepeatedKeys):
                findings.error("repeated-key", repeated(dialogue), dialogue=name)
            dialogue = dialogue.get(CONTENT)
        if not isinstance(dialogue, list | tuple):
            message = f"expected a list of messages, {found(dialogue)}"
            findings.error("shape", message, dialogue=name)
            continue
        conversation = Conversation(name, findings, tools)
        adapted.add(name, conversation.read(dialogue))
        called = called or conversation.has_called
    if adapted.dialogues and not called:
        findings.warning(
            "no-calls",
            "no function is called anywhere, so all states are empty and nothing can be offered; "
            "of a system without tools only write the responses, see docs/formats.md",
        )
    return adapted


class Call(NamedTuple):
    """A call that can be understood, with the arguments that were given."""

    function: Function
    arguments: dict[str, str]
    record: dict[str, Any]
    """The call as turns keep it; what it returns is added when it comes."""


class Conversation:
    """Reads the messages of a dialogue in order and cuts them into turns.

    A turn of the system is all that the assistant does after a message of the user, up to the
    next one; its response is the text of the last message in it. `asked` are the user's words,
    one item a turn, `has_called` whether any function was called.

    A find call replaces the constraints of its domain in the state by its arguments; what was
    booked there stays. A book call replaces those slots that it gives.
    """

    def __init__(self, dialogue: str, findings: Findings, tools: Tools) -> None:
        self._dialogue = dialogue
        self._findings = findings
        self._tools = tools
        self._called: dict[str, dict[str, Any]] = {}
        """Id → the call as turns keep it, with `result` once that has come."""
        self._called_without_id: deque[dict[str, Any]] = deque()
        self._state: dict[str, dict[str, str]] = {}
        self._turns: list[tuple[int, dict[str, Any]]] = []
        self._asked: Place | None = None
        self._calls: list[Call] = []
        self._answer: tuple[Place, str] | None = None
        self._has_begun = False
        self._words = ""
        self.asked: list[str] = []
        self.has_called = False

    def read(self, messages: Iterable[Any]) -> list[tuple[int, dict[str, Any]]]:
        """Return the turns of messages, each with the position of its answer."""
        for position, raw in enumerate(messages):
            place = Place(self._findings, self._dialogue, position)
            path = f"{CONTENT}[{position}]"
            if not isinstance(raw, OBJECT):
                place.error("shape", f"a message is an object, {found(raw)}", path)
                continue
            message = read_message(raw, place, path)
            if message is not None and message.role not in INSTRUCTIONS:
                self._read(message, place, path)
        self._close()
        if not self._has_begun:
            message_ = "there is no message of the user in it"
            self._findings.error("empty", message_, dialogue=self._dialogue)
        return self._turns

    def _read(self, message: ChatMessage, place: Place, path: str) -> None:
        calls = [
            understood
            for call in message.calls
            if (understood := self._understood(call, place)) is not None
        ]
        if message.calls and message.role != ASSISTANT_ROLE:
            place.error("calls-of-others", "only the assistant calls functions", path)
        for result in message.results:
            self._note_result(result, place)
            self._reopen()
        if message.is_user:
            self._close()
            self._has_begun = True
            self._asked = place
            self._words = message.text
            if not message.text and not message.has_other:
                place.error("empty-message", "the user says nothing", path)
        elif message.role == ASSISTANT_ROLE:
            if not self._has_begun:
                self._has_begun = True
                self._asked = place
                problem = "the conversation begins with the assistant: the first turn is the user's"
                place.error("order", problem, path)
            self.has_called = self.has_called or bool(message.calls)
            self._reopen()
            self._calls += calls
            if message.text:
                self._answer = place, message.text
            elif not message.calls and not message.has_other:
                problem = "the assistant neither says nor calls anything"
                place.error("empty-message", problem, path)

    def _reopen(self) -> None:
        """Something follows what was said, so that this was not the final answer."""
        if self._answer:
            self._answer[0].warning(
                "not-final",
                "what the assistant says before it calls functions or speaks again in the same "
                "turn is not scored",
                f"{CONTENT}[{self._answer[0].turn}].content",
            )
            self._answer = None

    def _close(self) -> None:
        """End the turn that is open, if there is one."""
        asked, self._asked = self._asked, None
        if asked is None:
            return
        turn = self._called_turn()
        self.asked.append(self._words)
        self._words = ""
        if self._answer is None:
            message = "the assistant gives no final answer in text to this message of the user"
            asked.error("no-answer", message, f"{CONTENT}[{asked.turn}]")
            self._turns.append((asked.turn, {"response": "", **turn}))
        else:
            place, text = self._answer
            self._turns.append((place.turn, {"response": text, **turn}))
        self._answer = None

    def _called_turn(self) -> dict[str, Any]:
        """Return the keys of a turn that its calls decide, in their order."""
        calls, self._calls = self._calls, []
        bookings = []
        for function, arguments, _ in calls:
            domain = function.domain
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
            # Never changed, always made anew: turns keep what the state was.
            self._state = {**self._state, domain: {**known, **filled}}
        made = {"calls": [call.record for call in calls]} if calls else {}
        return {"state": self._state, "bookings": bookings, **made}

    def _understood(self, call: ToolCall, place: Place) -> Call | None:
        """Return a call of a function that one of ours stands for, None for any other."""
        record: dict[str, Any] = {}
        self._note_call(call, record, place)
        tool = self._tool(call, place)
        raw = _decoded(call, place)
        if tool is None or raw is None or tool.function is None:
            return None
        arguments = _arguments(tool, tool.function, raw, call, place)
        record |= {"function": tool.function.name, "arguments": arguments}
        if tool.slots:
            record["slots"] = tool.slots
        return Call(tool.function, arguments, record)

    def _note_call(self, call: ToolCall, record: dict[str, Any], place: Place) -> None:
        if call.id is None:
            self._called_without_id.append(record)
        elif not isinstance(call.id, str):
            place.error("shape", f"a call's id is text, {found(call.id)}", f"{call.path}.id")
        elif call.id in self._called:
            message = f'the id "{shorten(call.id)}" was called before in this dialogue'
            place.error("repeated-call", message, f"{call.path}.id")
        else:
            self._called[call.id] = record

    def _note_result(self, result: Result, place: Place) -> None:
        """Keep what was returned, which must be the result of a call; each has one."""
        name, value, path = result.call_id, result.value, result.path
        if result.is_error:
            value = {"error": value}
        if name is None:
            if self._called_without_id:
                self._called_without_id.popleft()["result"] = value
            else:
                place.error("result-without-call", "the result of no call that waits for it", path)
        elif not isinstance(name, str):
            place.error("shape", f"a call's id is text, {found(name)}", path)
        elif name not in self._called:
            close = did_you_mean(name, self._called)
            message = f'no call before has the id "{shorten(name)}"{close}'
            place.error("result-without-call", message, path)
        elif "result" in self._called[name]:
            message = f'the call "{shorten(name)}" has a result already'
            place.error("repeated-result", message, path)
        else:
            self._called[name]["result"] = value

    def _tool(self, call: ToolCall, place: Place) -> Tool | None:
        name, known = call.name, self._tools.by_name
        if not isinstance(name, str):
            place.error("shape", f"a function's name is text, {found(name)}", call.name_path)
            return None
        if name not in known:
            own = "a table of your own functions goes with --tools"
            close = did_you_mean(name, known) or f" (known: {', '.join(known)}; {own})"
            message = f'unknown function "{shorten(name)}"{close}'
            place.error("unknown-function", message, call.name_path)
        return known.get(name)


def _decoded(call: ToolCall, place: Place) -> Mapping[Any, Any] | None:
    """Return the arguments, which may be the text of a JSON object."""
    raw, path = call.arguments, call.arguments_path
    if isinstance(raw, str):
        try:
            raw = parse_json(raw, path)
        except InputError as error:
            place.error("arguments-not-json", error.problems[0].message, path)
            return None
    if not isinstance(raw, OBJECT):
        place.error("shape", f"arguments are an object, {found(raw)}", path)
        return None
    if isinstance(raw, RepeatedKeys):
        place.error("repeated-key", repeated(raw), path)
    return raw


def _arguments(
    tool: Tool, function: Function, raw: Mapping[Any, Any], call: ToolCall, place: Place
) -> dict[str, str]:
    """Return the arguments by our names, of those that have a value and a meaning."""
    given: dict[str, str] = {}
    for name, value in raw.items():
        path = f"{call.arguments_path}.{name}"
        slot = tool.slot(name)
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
        # Null, or nothing, is how strict schemas and some models say that they do not know.
        if text:
            if given.get(slot, text) != text:
                message = f"{call.name} was called with two values of {slot}"
                place.error("repeated-argument", message, path)
            given[slot] = text
            _check_value(function, parameter, text, place, path)
    for parameter in function.parameters:
        if function.is_required(parameter) and parameter.name not in given:
            message = f"{function.name} was called without {parameter.name}"
            place.warning("missing-argument", message, call.arguments_path)
    return given


def _text(value: Any, parameter: Parameter, place: Place, path: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if parameter.is_number and type(value) is int and value >= 0:
        return str(value)
    kind = "a whole number" if parameter.is_number else "text"
    hint = f': write "{value}"' if type(value) is int and not parameter.is_number else ""
    place.error("argument-type", f"expected {kind}, {found(value)}{hint}", path)
    return None


def _check_value(
    function: Function, parameter: Parameter, text: str, place: Place, path: str
) -> None:
    expected = ""
    if parameter.values and text not in parameter.values:
        expected = f"one of {', '.join(parameter.values)}"
    elif parameter.is_number and not parameter.values and not text.isdecimal():
        expected = "a whole number"
    if expected:
        message = f'{function.name} was called with the {parameter.name} "{shorten(text)}"'
        place.warning("value-not-in-schema", f"{message}, which is not {expected}", path)
