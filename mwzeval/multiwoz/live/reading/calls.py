"""The calls of an agent's turn with what its tools returned, as far as they help to read words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mwzeval.conversation.messages import TOOL_ROLE, ToolCall, read_message
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
    read = [read_message(raw) for raw in messages if isinstance(raw, Mapping)]
    known = [message for message in read if message is not None]
    results = {
        str(result.call_id): result.value
        for message in known
        if message.role == TOOL_ROLE
        for result in message.results
    }
    calls = (_called(call, results) for message in known for call in message.calls)
    return [call for call in calls if call is not None]


def _called(call: ToolCall, results: Mapping[str, Any]) -> Called | None:
    known = BY_NAME.get(call.name) if isinstance(call.name, str) else None
    if known is None:
        return None
    result = _result(results.get(str(call.id)))
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
