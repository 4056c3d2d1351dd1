"""The calls of an agent's turn with what its tools returned, as far as they help to read words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mwzeval.errors import InputError
from mwzeval.files.json_files import parse_json
from mwzeval.multiwoz.formats.functions import BY_NAME


class Called(NamedTuple):
    """A call of a tool: what it is about, and what came of it.

    `found` is how many venues were found, None where that is not told, and `names` are those of
    them that are listed. `reference` is "" unless a booking was made.
    """

    kind: str
    domain: str
    found: int | None
    booked: bool
    reference: str
    names: tuple[str, ...]


def calls_of(messages: Sequence[Any]) -> list[Called]:
    """Return the calls of known tools in the messages of a turn; whatever they are, none raises."""
    results = {
        str(message.get("tool_call_id")): message.get("content")
        for message in messages
        if isinstance(message, Mapping) and message.get("role") == "tool"
    }
    called = []
    for message in messages:
        calls = message.get("tool_calls") if isinstance(message, Mapping) else None
        for call in calls if isinstance(calls, list | tuple) else ():
            one = _called(call, results)
            if one is not None:
                called.append(one)
    return called


def _called(call: Any, results: Mapping[str, Any]) -> Called | None:
    function = call.get("function") if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    known = BY_NAME.get(name) if isinstance(name, str) else None
    if known is None:
        return None
    result = _result(results.get(str(call.get("id"))))
    count = result.get("count")
    booked = result.get("status") == "booked"
    return Called(
        kind=known.kind,
        domain=known.domain,
        found=count if type(count) is int else None,
        booked=booked,
        reference=str(result.get("reference", "")) if booked else "",
        names=tuple(_names(result.get("results"))),
    )


def _names(results: Any) -> Iterator[str]:
    for one in results if isinstance(results, list | tuple) else ():
        name = one.get("name") if isinstance(one, Mapping) else None
        if isinstance(name, str):
            yield name


def _result(content: Any) -> Mapping[str, Any]:
    if isinstance(content, str):
        try:
            content = parse_json(content, "result")
        except InputError:
            return {}
    return content if isinstance(content, Mapping) else {}
