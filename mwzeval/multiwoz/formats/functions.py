"""The functions that a tool-calling system has on MultiWOZ: one table for schema and adapter.

A find function looks for what the user wants, so its arguments are the constraints of a state; a
book function books what was found. To teach the evaluator a function or an argument, add it here.
Values are closed where the ontology of MultiWOZ closes them (Budzianowski et al., "MultiWOZ",
EMNLP 2018, table 3). The JSON schema has the form of `tools` of OpenAI's chat completions, which
other servers and the chat templates of models take as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

DONTCARE = "dontcare"
"""What an argument says when the user was asked and does not mind."""

_AREAS = ("centre", "east", "north", "south", "west")
_PRICES = ("cheap", "moderate", "expensive")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
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
_DAY = Parameter("day", "day of the week", "bookday", _DAYS)
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
            _wanted("day", "day of the week", _DAYS),
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
