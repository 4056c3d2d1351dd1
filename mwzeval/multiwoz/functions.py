"""The functions that a tool-calling system can call on MultiWOZ.

A find function searches for venues, so its arguments are the constraints of a state. A book
function books a venue. The schema and the reader of calls use the same table, `data/functions.tsv`.
To add a function or an argument, add a row to `data/functions.tsv`. The JSON schema has the form of
`tools` in OpenAI's chat completions, which other servers and the chat templates of models also
accept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from mwzeval.errors import did_you_mean, shorten, unknown
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import read_json, table_rows
from mwzeval.scores.findings import OBJECT, Findings, Place, expect, found


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a function; `data/functions.tsv` explains the fields.

    `values` has the allowed values of the argument; it is empty if any value is allowed. If
    `is_number` is true, integers are also accepted, and are converted to text.
    """

    name: str
    slot: str | None
    values: tuple[str, ...]
    is_number: bool
    is_required: bool
    description: str

    def unlike(self, text: str) -> str:
        """Return a description of the allowed values if `text` is not one of them, else ""."""
        if self.values:
            return "" if text in self.values else f"one of {', '.join(self.values)}"
        return "a whole number" if self.is_number and not text.isdecimal() else ""


@dataclass(frozen=True, slots=True)
class Function:
    """A function with which an agent searches or books in a domain."""

    kind: str
    domain: str
    description: str
    parameters: tuple[Parameter, ...]

    @property
    def name(self) -> str:
        """The name of the function, such as `find_hotel`."""
        return f"{self.kind}_{self.domain}"

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter with the given name, or None if there is no such parameter."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


def _functions() -> Iterator[Function]:
    rows = table_rows(embedded("functions.tsv"), 7)
    for (kind, domain), (first, *others) in groupby(rows, key=lambda row: (row[0], row[1])):
        parameters = []
        for _, _, name, slot, values, needed, description in others:
            listed = values.split(",")
            is_number = listed[0] == "number"
            closed = () if values == "text" else tuple(listed[is_number:])
            filled = None if slot == "-" else slot
            parameter = Parameter(name, filled, closed, is_number, needed == "yes", description)
            parameters.append(parameter)
        yield Function(kind, domain, first[-1], tuple(parameters))


FUNCTIONS = tuple(_functions())
BY_NAME = {function.name: function for function in FUNCTIONS}

RETURNED = (
    *("name", "address", "phone", "postcode", "area", "food", "pricerange", "stars", "type"),
    *("parking", "internet", "entrancefee", "openhours", "trainid", "day", "departure"),
    *("destination", "leaveat", "arriveby", "duration", "price", "reference", "count"),
)
"""Slots in results of functions. `count` is the number of venues if only some are listed."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with the name and arguments that a system uses.

    `function` is the equivalent function of mwzeval, or None if there is no equivalent. `slots`
    maps the system's names of arguments and results to mwzeval's names, or to None if there is no
    equivalent name.
    """

    function: Function | None
    slots: Mapping[str, str | None]
    is_own: bool = True

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments that mwzeval reads, beginning with the system's own names."""
        parameters = () if self.function is None else self.function.parameters
        ours = [parameter.name for parameter in parameters]
        return (*(own for own, slot in self.slots.items() if slot in ours), *ours)


OURS = {name: Tool(function, {}, is_own=False) for name, function in BY_NAME.items()}


@dataclass(frozen=True, slots=True)
class Tools:
    """The functions that a system may call, by name. `checksum` identifies custom functions."""

    by_name: Mapping[str, Tool]
    checksum: str | None = None


OUR_TOOLS = Tools(OURS)
TOOL_KEYS = ("function", "slots")


def read_tools(given: str | Path | Mapping[str, Any] | Tools | None) -> Tools:
    """Return the tools in a JSON file or in its parsed content; None selects the tools of the
    schema.

    Raises `InputError` with all problems.
    """
    if given is None:
        return OUR_TOOLS
    if isinstance(given, Tools):
        return given
    in_file = isinstance(given, str | Path)
    raw: Any = read_json(given) if isinstance(given, str | Path) else given
    findings = Findings(str(given) if in_file else "tools")
    own: dict[str, Tool] = {}
    expected = 'expected an object, {"your_function": {"function": …, "slots": {…}}}'
    if expect(raw, OBJECT, expected, Place(findings)):
        own = {name: _own_tool(about, Place(findings, key=name)) for name, about in raw.items()}
    findings.check()
    text = json.dumps(raw, sort_keys=True, ensure_ascii=False).encode(errors="backslashreplace")
    return Tools({**OURS, **own}, sha256(text).hexdigest()[:8])


def _own_tool(raw: Any, place: Place) -> Tool:
    expected = 'expected {"function": …, "slots": {…}}'
    if not expect(raw, OBJECT, expected, place):
        return Tool(None, {})
    if "function" not in raw:
        place.error("shape", f"{expected}, {found(raw)}")
    for key in (key for key in raw if key not in TOOL_KEYS):
        place.error("unknown-key", unknown("key", str(key), TOOL_KEYS))
    function = None
    at = place.at(f"{place.key}.function")
    if name := _known(raw.get("function"), BY_NAME, "function", at):
        function = BY_NAME[name]
    slots = raw.get("slots", {})
    at = place.at(f"{place.key}.slots")
    if not expect(slots, OBJECT, "expected an object of slots", at):
        return Tool(function, {})
    parameters = () if function is None else function.parameters
    known = dict.fromkeys((*(parameter.name for parameter in parameters), *RETURNED))
    for own, slot in slots.items():
        _known(slot, known, "slot", at.at(f"{at.key}.{own}"))
    return Tool(function, dict(slots))


def _known(name: Any, known: Mapping[str, object], what: str, place: Place) -> str | None:
    """Return a known name, or None for null and for unknown names, which are reported."""
    if name is None or not expect(
        name,
        str,
        f"a {what} must be a string, or null if mwzeval has no such {what}",
        place,
    ):
        return None
    if name in known:
        return str(name)
    close = did_you_mean(name, known) or f" (known: {', '.join(known)})"
    place.error(f"unknown-{what}", f'unknown {what} "{shorten(name)}"{close}')
    return None


def tools_schema(*, strict: bool = False) -> list[dict[str, Any]]:
    """Return one tool definition per function, with a JSON Schema that forbids additional
    properties.

    With `strict`, the tools conform to OpenAI's strict mode: every argument is required, and null
    represents an unknown value.
    """
    return [
        {
            "type": "function",
            "function": {
                "name": function.name,
                "description": function.description,
                **({"strict": True} if strict else {}),
                "parameters": {
                    "type": "object",
                    "properties": {p.name: _property(p, strict) for p in function.parameters},
                    "required": [p.name for p in function.parameters if strict or p.is_required],
                    "additionalProperties": False,
                },
            },
        }
        for function in FUNCTIONS
    ]


def _property(parameter: Parameter, strict: bool) -> dict[str, Any]:
    kind = "integer" if parameter.is_number and not parameter.values else "string"
    null = [None] if strict and not parameter.is_required else []
    return {
        "type": [kind, "null"] if null else kind,
        **({"enum": [*parameter.values, *null]} if parameter.values else {}),
        "description": parameter.description,
    }
