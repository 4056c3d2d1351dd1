"""The functions that a tool-calling system has on MultiWOZ: one table for schema and adapter.

A find function looks for what the user wants, so its arguments are the constraints of a state; a
book function books what was found. To teach the evaluator a function or an argument, add it here.
Values are closed where the ontology of MultiWOZ closes them (Budzianowski et al., "MultiWOZ",
EMNLP 2018, table 3). The JSON schema has the form of `tools` of OpenAI's chat completions, which
other servers and the chat templates of models take as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.reading import RepeatedKeys, read_json
from mwzeval.multiwoz.schema import DAYS, DONTCARE
from mwzeval.scores.findings import OBJECT, Findings, found, repeated

_AREAS = ("centre", "east", "north", "south", "west")
_PRICES = ("cheap", "moderate", "expensive")
_STARS = ("0", "1", "2", "3", "4", "5")
_ATTRACTIONS = (
    *("architecture", "boat", "cinema", "college", "concerthall", "entertainment", "museum"),
    *("multiple sports", "nightclub", "park", "swimmingpool", "theatre"),
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a function can be told.

    `slot` is the slot of the state that it fills, None for none. `values` are all that there are,
    none where they are open. `is_number`: whole numbers are taken for their digits.
    """

    name: str
    description: str
    slot: str | None
    values: tuple[str, ...] = ()
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a domain; a call that books needs every parameter but the `optional` ones."""

    kind: Literal["find", "book"]
    domain: str
    description: str
    parameters: tuple[Parameter, ...]
    optional: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """What the function is called."""
        return f"{self.kind}_{self.domain}"

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of a name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)

    def is_required(self, parameter: Parameter) -> bool:
        """Tell whether a call lacks something without this parameter."""
        return self.kind == "book" and parameter.name not in self.optional


def _wanted(name: str, description: str, values: tuple[str, ...] = ()) -> Parameter:
    """Return a constraint, which the user may not mind about."""
    closed = (*values, DONTCARE) if values else ()
    return Parameter(name, description, slot=name, values=closed, is_number=name == "stars")


_TIME = "as HH:MM, 24 hours"
_ARRIVE = _wanted("arriveby", f"latest time of arrival, {_TIME}")
_LEAVE = _wanted("leaveat", f"earliest time of departure, {_TIME}")
_AREA = _wanted("area", "part of the town", _AREAS)
_PRICE = _wanted("pricerange", "price range", _PRICES)
_RIDE = (
    _wanted("departure", "where the ride begins"),
    _wanted("destination", "where the ride ends"),
    _ARRIVE,
    _LEAVE,
)
_DAY = Parameter("day", "day of the week", "bookday", DAYS)
_PEOPLE = Parameter("people", "number of people", "bookpeople", is_number=True)


def _name(what: str) -> Parameter:
    return _wanted("name", f"name of the {what}, when the user asks for a certain one")


def _booked(what: str) -> Parameter:
    # Which venue is booked is no constraint of the user's, so it is not in the state.
    return Parameter("name", f"name of the {what} to book", None)


FUNCTIONS = (
    Function(
        *("find", "restaurant", "Look for restaurants that meet all constraints."),
        (_AREA, _wanted("food", "cuisine, such as chinese"), _name("restaurant"), _PRICE),
    ),
    Function(
        *("find", "hotel", "Look for hotels and guesthouses that meet all constraints."),
        (
            _AREA,
            _wanted("internet", "whether there must be internet", ("yes", "no")),
            _name("hotel"),
            _wanted("parking", "whether there must be parking", ("yes", "no")),
            _PRICE,
            _wanted("stars", "number of stars", _STARS),
            _wanted("type", "kind of house", ("guesthouse", "hotel")),
        ),
    ),
    Function(
        *("find", "attraction", "Look for places to visit that meet all constraints."),
        (_AREA, _name("attraction"), _wanted("type", "kind of place", _ATTRACTIONS)),
    ),
    Function(
        *("find", "train", "Look for trains that meet all constraints."),
        (
            _wanted("departure", "station where the journey begins"),
            _wanted("destination", "station where the journey ends"),
            _wanted("day", "day of the week", DAYS),
            _ARRIVE,
            _LEAVE,
        ),
    ),
    Function("find", "taxi", "Look whether there are taxis for a ride.", _RIDE),
    Function(
        *("find", "hospital", "Look up the hospital, or a department of it."),
        (_wanted("department", "department of the hospital"),),
    ),
    Function("find", "police", "Look up the police station.", (_name("police station"),)),
    Function(
        *("book", "restaurant", "Book a table."),
        (
            _booked("restaurant"),
            _DAY,
            _PEOPLE,
            Parameter("time", f"time of the table, {_TIME}", "booktime"),
        ),
    ),
    Function(
        *("book", "hotel", "Book rooms."),
        (
            _booked("hotel"),
            _DAY,
            _PEOPLE,
            Parameter("stay", "number of nights", "bookstay", is_number=True),
        ),
    ),
    Function(
        *("book", "train", "Buy tickets."),
        (Parameter("trainid", "id of the train, such as TR1234", None), _PEOPLE),
    ),
    Function("book", "taxi", "Book a taxi.", _RIDE, frozenset({"arriveby", "leaveat"})),
)
BY_NAME = {function.name: function for function in FUNCTIONS}

RETURNED = (
    *("name", "address", "phone", "postcode", "area", "food", "pricerange", "stars", "type"),
    *("parking", "internet", "entrancefee", "openhours", "trainid", "day", "departure"),
    *("destination", "leaveat", "arriveby", "duration", "price", "reference", "count"),
)
"""Slots of what functions return; `count` is how many there are where not all are listed."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function as a system calls it.

    `function` is ours that does the same, None where there is none. `slots` are its names of
    arguments and of what it returns → ours, None for those without a meaning here.
    """

    function: Function | None
    slots: Mapping[str, str | None]
    is_own: bool = True

    def slot(self, name: str) -> str | None:
        """Return our name of an argument or of something returned."""
        return self.slots.get(name, name)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of arguments that have a meaning, those of the system first."""
        parameters = () if self.function is None else self.function.parameters
        ours = [parameter.name for parameter in parameters]
        return (*(own for own, slot in self.slots.items() if slot in ours), *ours)


OURS = {name: Tool(function, {}, is_own=False) for name, function in BY_NAME.items()}


@dataclass(frozen=True, slots=True)
class Tools:
    """The functions that a system may call, by their names; `checksum` is of its own ones."""

    by_name: Mapping[str, Tool]
    checksum: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the functions of the schema behind: another process has them."""
        own = {name: tool for name, tool in self.by_name.items() if tool is not OURS.get(name)}
        return _tools_with, (own, self.checksum)


def _tools_with(own: Mapping[str, Tool], checksum: str | None) -> Tools:
    return Tools({**OURS, **own}, checksum) if own or checksum else OUR_TOOLS


OUR_TOOLS = Tools(OURS)
TOOL_KEYS = ("function", "slots")


def read_tools(given: str | Path | Mapping[str, Any] | Tools | None) -> Tools:
    """Return the tools of a JSON file, or of what is in one; without, those of the schema.

    Raises `InputError` with every problem.
    """
    if given is None:
        return OUR_TOOLS
    if isinstance(given, Tools):
        return given
    in_file = isinstance(given, str | Path)
    raw = read_json(given) if isinstance(given, str | Path) else given
    findings = Findings(str(given) if in_file else "tools")
    own: dict[str, Tool] = {}
    if not isinstance(raw, OBJECT):
        message = 'expected an object, {"your_function": {"function": …, "slots": {…}}}'
        findings.error("shape", f"{message}, {found(raw)}")
    else:
        if isinstance(raw, RepeatedKeys):
            findings.error("repeated-key", repeated(raw))
        own = {name: _own_tool(name, about, findings) for name, about in raw.items()}
    findings.check()
    text = json.dumps(raw, sort_keys=True, ensure_ascii=False).encode(errors="backslashreplace")
    return Tools({**OURS, **own}, sha256(text).hexdigest()[:8])


def _own_tool(name: str, raw: Any, findings: Findings) -> Tool:
    if not isinstance(raw, OBJECT) or "function" not in raw:
        message = f'expected {{"function": …, "slots": {{…}}}}, {found(raw)}'
        findings.error("shape", message, key=name)
        return Tool(None, {})
    if isinstance(raw, RepeatedKeys):
        findings.error("repeated-key", repeated(raw), key=name)
    for key in raw:
        if key not in TOOL_KEYS:
            message = f'unknown key "{shorten(str(key))}"{did_you_mean(str(key), TOOL_KEYS)}'
            findings.error("unknown-key", f"{message} (known: {', '.join(TOOL_KEYS)})", key=name)
    called = raw["function"]
    if called is not None and not isinstance(called, str):
        message = f"a function's name is text, or null for none of ours, {found(called)}"
        findings.error("shape", message, key=f"{name}.function")
    elif called is not None and called not in BY_NAME:
        close = did_you_mean(called, BY_NAME) or f" (known: {', '.join(BY_NAME)})"
        message = f'unknown function "{shorten(called)}"{close}'
        findings.error("unknown-function", message, key=f"{name}.function")
    function = BY_NAME.get(called) if isinstance(called, str) else None
    slots = raw.get("slots", {})
    if not isinstance(slots, OBJECT):
        message = f"expected an object of slots, {found(slots)}"
        findings.error("shape", message, key=f"{name}.slots")
        return Tool(function, {})
    if isinstance(slots, RepeatedKeys):
        findings.error("repeated-key", repeated(slots), key=f"{name}.slots")
    parameters = () if function is None else function.parameters
    known = tuple(dict.fromkeys((*(parameter.name for parameter in parameters), *RETURNED)))
    for own, slot in slots.items():
        if slot is None or slot in known:
            continue
        key = f"{name}.slots.{own}"
        if isinstance(slot, str):
            close = did_you_mean(slot, known) or f" (known: {', '.join(known)})"
            findings.error("unknown-slot", f'unknown slot "{shorten(slot)}"{close}', key=key)
        else:
            message = f"a slot is text, or null for none, {found(slot)}"
            findings.error("shape", message, key=key)
    return Tool(function, dict(slots))


def tools_schema(*, strict: bool = False) -> list[dict[str, Any]]:
    """Return the tools, one a function, each a JSON Schema of its own that allows nothing else.

    With `strict` they are what OpenAI's strict mode takes: every argument has to be given, and
    null stands for one that is not known.
    """
    return [_tool(function, strict) for function in FUNCTIONS]


def _tool(function: Function, strict: bool) -> dict[str, Any]:
    required = [
        parameter.name
        for parameter in function.parameters
        if strict or function.is_required(parameter)
    ]
    return {
        "type": "function",
        "function": {
            "name": function.name,
            "description": function.description,
            **({"strict": True} if strict else {}),
            "parameters": {
                "type": "object",
                "properties": {
                    parameter.name: _property(
                        parameter, nullable=strict and not function.is_required(parameter)
                    )
                    for parameter in function.parameters
                },
                "required": required,
                "additionalProperties": False,
            },
        },
    }


def _property(parameter: Parameter, *, nullable: bool) -> dict[str, Any]:
    kind = "integer" if parameter.is_number and not parameter.values else "string"
    values: list[str | None] = [*parameter.values]
    if values and nullable:
        values.append(None)
    return {
        "type": [kind, "null"] if nullable else kind,
        **({"enum": values} if values else {}),
        "description": parameter.description,
    }
