"""Function calls of a message, checked against the table of functions; their state and bookings.

Active domains are left to be estimated from the states, as for most published systems. The domains
of a turn's calls would often be several, where the estimate is one, and the same system would gain
a point or two of Inform and Success by its format alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mwzeval.errors import InputError, did_you_mean, shorten
from mwzeval.files.json_files import RepeatedKeys, parse_json
from mwzeval.multiwoz.formats.functions import Function, Parameter, Tool, Tools
from mwzeval.scores.findings import OBJECT, Place, check_repeated, found, repeated


class Call(NamedTuple):
    """A call that can be understood, with the arguments that were given."""

    function: Function
    arguments: dict[str, str]
    record: dict[str, Any]
    """The call as turns keep it; what it returns is added when it comes."""


class _Written(NamedTuple):
    """A call as a message has it, and where."""

    id: Any
    name: Any
    arguments: Any
    path: str
    name_path: str
    arguments_path: str


@dataclass(slots=True)
class Ledger:
    """The calls of a dialogue so far, each of which may have one result."""

    called: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Id → the call as turns keep it, with `result` once that has come."""
    without_id: deque[dict[str, Any]] = field(default_factory=deque)

    def call(self, written_id: Any, record: dict[str, Any], place: Place, path: str) -> None:
        """Note a call."""
        if written_id is None:
            self.without_id.append(record)
        elif not isinstance(written_id, str):
            place.error("shape", f"a call's id is text, {found(written_id)}", f"{path}.id")
        elif written_id in self.called:
            message = f'the id "{shorten(written_id)}" was called before in this dialogue'
            place.error("repeated-call", message, f"{path}.id")
        else:
            self.called[written_id] = record

    def result(self, written_id: Any, returned: Any, place: Place, path: str) -> None:
        """Note what was returned, which must be the result of a call."""
        if written_id is None:
            if self.without_id:
                self.without_id.popleft()["result"] = returned
            else:
                place.error("result-without-call", "the result of no call that waits for it", path)
        elif not isinstance(written_id, str):
            place.error("shape", f"a call's id is text, {found(written_id)}", path)
        elif written_id not in self.called:
            close = did_you_mean(written_id, self.called)
            message = f'no call before has the id "{shorten(written_id)}"{close}'
            place.error("result-without-call", message, path)
        elif "result" in self.called[written_id]:
            message = f'the call "{shorten(written_id)}" has a result already'
            place.error("repeated-result", message, path)
        else:
            self.called[written_id]["result"] = returned


def calls_of(
    message: Mapping[str, Any], place: Place, path: str, ledger: Ledger, tools: Tools
) -> tuple[int, list[Call]]:
    """Return how many calls a message makes, and those of them that can be understood.

    Calls of functions that none of ours stands for are passed over.
    """
    number = 0
    calls = []
    for written in _written(message, place, path):
        number += 1
        record: dict[str, Any] = {}
        ledger.call(written.id, record, place, written.path)
        tool = _tool(written, place, tools)
        raw = _decoded(written, place)
        if tool is None or raw is None or tool.function is None:
            continue
        arguments = _arguments(tool, tool.function, raw, written, place)
        record |= {"function": tool.function.name, "arguments": arguments}
        if tool.slots:
            record["slots"] = tool.slots
        calls.append(Call(tool.function, arguments, record))
    return number, calls


def _written(message: Mapping[str, Any], place: Place, path: str) -> Iterator[_Written]:
    """Yield calls in `tool_calls`, in the older `function_call`, and in parts of the content."""
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list | tuple):
        place.error("shape", f"expected a list of calls, {found(calls)}", f"{path}.tool_calls")
        calls = None
    for index, call in enumerate(calls or ()):
        at = f"{path}.tool_calls[{index}]"
        if not isinstance(call, OBJECT):
            place.error("shape", f"expected an object, {found(call)}", at)
            continue
        check_repeated(call, place)
        yield from _of_function(call.get("function"), call.get("id"), place, at, f"{at}.function")
    if message.get("function_call") is not None:
        at = f"{path}.function_call"
        yield from _of_function(message["function_call"], None, place, at, at)
    content = message.get("content")
    for index, part in enumerate(content if isinstance(content, list | tuple) else ()):
        if isinstance(part, OBJECT) and part.get("type") == "tool_use":
            at = f"{path}.content[{index}]"
            yield _Written(
                *(part.get("id"), part.get("name"), part.get("input")),
                *(at, f"{at}.name", f"{at}.input"),
            )


def _of_function(raw: Any, id_: Any, place: Place, at: str, path: str) -> Iterator[_Written]:
    if not isinstance(raw, OBJECT):
        place.error("shape", f'expected {{"name": …, "arguments": …}}, {found(raw)}', path)
        return
    check_repeated(raw, place)
    name, arguments = raw.get("name"), raw.get("arguments")
    yield _Written(id_, name, arguments, at, f"{path}.name", f"{path}.arguments")


def _tool(written: _Written, place: Place, tools: Tools) -> Tool | None:
    name = written.name
    if not isinstance(name, str):
        place.error("shape", f"a function's name is text, {found(name)}", written.name_path)
        return None
    known = tools.by_name
    if name not in known:
        own = "a table of your own functions goes with --tools"
        close = did_you_mean(name, known) or f" (known: {', '.join(known)}; {own})"
        message = f'unknown function "{shorten(name)}"{close}'
        place.error("unknown-function", message, written.name_path)
    return known.get(name)


def _decoded(written: _Written, place: Place) -> Mapping[Any, Any] | None:
    """Return the arguments, which may be the text of a JSON object."""
    raw, path = written.arguments, written.arguments_path
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
    tool: Tool, function: Function, raw: Mapping[Any, Any], written: _Written, place: Place
) -> dict[str, str]:
    """Return the arguments by our names, of those that have a value and a meaning."""
    given: dict[str, str] = {}
    for name, value in raw.items():
        path = f"{written.arguments_path}.{name}"
        slot = tool.slot(name)
        if slot is None:
            continue
        parameter = function.parameter(slot)
        if parameter is None:
            names = tool.arguments
            close = did_you_mean(str(name), names) or f" (it has {', '.join(names)})"
            message = f'{written.name} has no argument "{shorten(str(name))}"{close}'
            place.error("unknown-argument", message, path)
            continue
        if tool.is_own and isinstance(value, bool) and "yes" in parameter.values:
            value = "yes" if value else "no"
        text = _text(value, parameter, place, path)
        # Null, or nothing, is how strict schemas and some models say that they do not know.
        if text:
            if given.get(slot, text) != text:
                message = f"{written.name} was called with two values of {slot}"
                place.error("repeated-argument", message, path)
            given[slot] = text
            _check_value(function, parameter, text, place, path)
    for parameter in function.parameters:
        if function.is_required(parameter) and parameter.name not in given:
            message = f"{function.name} was called without {parameter.name}"
            place.warning("missing-argument", message, written.arguments_path)
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


BOOKING_PREFIX = "book"


class CallState:
    """The state after the calls so far.

    A find call replaces the constraints of its domain by its arguments; what was booked there
    stays. A book call replaces those slots that it gives. Other domains stay as they are.
    """

    def __init__(self) -> None:
        self._state: dict[str, dict[str, str]] = {}

    def turn(self, calls: Iterable[Call]) -> dict[str, Any]:
        """Return the keys of a turn in which these calls were made, in their order."""
        bookings = []
        records = []
        for function, arguments, record in calls:
            records.append(record)
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
        made = {"calls": records} if records else {}
        return {"state": self._state, "bookings": bookings, **made}
