"""The functions in the schema of `mwzeval tools-schema`, executed on the database of a corpus.

The arguments of a call are checked and converted to the spelling of the database. Error messages
are written for the agent, which may be a language model that tries again.

The result of a call depends only on the seed, the dialogue, the number of the call and its
arguments. Therefore, a recorded conversation can be replayed. Venues are found as in the scores:
with fuzzy names, aliases and normalized times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mwzeval.errors import did_you_mean, shorten, unknown
from mwzeval.multiwoz.choices import RULES, Rules
from mwzeval.multiwoz.database import (
    FUZZY_THRESHOLD,
    Database,
    FuzzyIndex,
    Row,
    car,
    digest,
    phone_number,
    reference,
)
from mwzeval.multiwoz.formats.functions import BY_NAME, RETURNED, Function, Parameter, tools_schema
from mwzeval.multiwoz.goals.goal import Goal
from mwzeval.multiwoz.grounding.bookings import venues_called
from mwzeval.multiwoz.normalization import normalize_slot, normalize_value
from mwzeval.multiwoz.schema import (
    ADDED_FIELDS,
    BOOKED_BY,
    BOOKING_SLOTS,
    DATABASE_DOMAINS,
    LONG_SLOTS,
    NO_CONSTRAINT,
    TIME_SLOTS,
    id_column,
)
from mwzeval.multiwoz.words.numbers import clock
from mwzeval.scores.findings import found

MOST_RESULTS = 5
"""The maximum number of results that are listed."""
TRAIN_DETAILS = ("day", "departure", "destination", "leaveat", "arriveby", "price")
"""The details of a booked train that are returned. The price is that of one ticket."""

Arguments = Mapping[str, str]
Result = dict[str, Any]
MOST_DIGITS = 3
"""The maximum number of digits in a number of people or nights."""
_TIME = re.compile(r"([01]?[0-9]|2[0-4]):([0-5][0-9])")


class DatabaseTools:
    """The database, which all dialogues of a process share. Apart from a cache, the object has no
    state.

    `tables` maps domains to the contents of the corpus files `<domain>_db.json` (see
    `read_tables`).
    """

    schema = tools_schema()

    def __init__(self, tables: Mapping[str, Sequence[Row]], rules: Rules = RULES[0]) -> None:
        self.rules = rules
        # Rows are identified by number, because some trains have the same id.
        numbered = {
            domain: [
                {**row, id_column(domain): str(number)} for number, row in enumerate(tables[domain])
            ]
            for domain in DATABASE_DOMAINS
        }
        self._database = Database(numbered, rules)
        self._rows = {
            domain: [_public(domain, row) for row in rows] for domain, rows in tables.items()
        }
        self._trains: dict[str, list[str]] = {}
        for number, row in enumerate(self._rows["train"]):
            self._trains.setdefault(row["trainid"], []).append(str(number))
        departments = [row["department"].lower() for row in self._rows.get("hospital", ())]
        self._departments = departments
        self._department_index = FuzzyIndex(departments)

    def of_dialogue(self, seed: int, dialogue: str, goal: Goal | None = None) -> Tools:
        """Return the tools for one dialogue. Bookings in the goal's `fail_book` are refused."""
        return Tools(self, f"{seed} {dialogue}", goal or {})

    def find(self, function: Function, constraints: Arguments) -> Result:
        """Return the number of matching database items, and all details of the first items."""
        domain = function.domain
        if domain == "taxi":
            return {"count": 1, "results": [dict(constraints)]}
        numbers, rows = self._numbers(domain, constraints), self._rows.get(domain, ())
        results = [_copy(rows[int(number)]) for number in numbers[:MOST_RESULTS]]
        return {"count": len(numbers), "results": results}

    def query(
        self, domain: str, constraints: Iterable[tuple[str, str]], /
    ) -> list[Mapping[str, Any]]:
        """Return all matching database rows, in the form for `goals.satisfiable_failures`."""
        slots = dict(constraints)
        if domain == "taxi":
            return [slots]
        rows = self._rows.get(domain, ())
        return [rows[int(number)] for number in self._numbers(domain, slots)]

    def _numbers(self, domain: str, constraints: Arguments) -> Sequence[Any]:
        """Return the numbers of the rows that satisfy all constraints, in table order."""
        if domain in DATABASE_DOMAINS:
            others = {slot: value for slot, value in constraints.items() if slot != "name"}
            name = constraints.get("name")
            called = self._database.facts.called(domain, name) if name else ()
            if not called:
                return self._database.find(domain, constraints)
            left = set(self._database.find(domain, others))
            return [number for number in called if number in left]
        # Any name matches the only police station.
        numbers = range(len(self._rows.get(domain, ())))
        if "department" not in constraints:
            return numbers
        asked = constraints["department"].lower()
        meant = {asked}
        if asked not in self._departments:
            meant = set(self._department_index.reaching(asked, FUZZY_THRESHOLD))
        return [number for number in numbers if self._departments[number] in meant]

    def venue(self, domain: str, called: str) -> Mapping[str, Any]:
        """Return the database fields of the venue that is to be booked. Raises `CallError` if there
        is no such venue.

        If several trains have the same id, the result has only the fields in which these trains
        agree.
        """
        if domain == "train":
            numbers: Sequence[str] = self._trains.get(called.upper(), ())
        else:
            numbers = venues_called(domain, called, self._database)
        rows = [self._rows[domain][int(number)] for number in numbers]
        if not rows:
            what = "id" if domain == "train" else "name"
            raise CallError(f'no {domain} has the {what} "{called}": look for one, and book that')
        if domain != "train" and len(rows) > 1:
            names = ", ".join(f'"{row["name"]}"' for row in rows)
            raise CallError(f'"{called}" may be any of {names}: give the whole name')
        first, *others = rows
        return {slot: v for slot, v in first.items() if all(row.get(slot) == v for row in others)}


class Tools:
    """The functions that an agent can call in one dialogue.

    `calls` is the number of calls, and `errors` is the number of calls that returned an error.
    """

    schema: Sequence[Mapping[str, Any]] = DatabaseTools.schema

    def __init__(self, shared: DatabaseTools, seed: str, goal: Goal) -> None:
        self._shared = shared
        self._seed = seed
        self._goal = goal
        self.calls = 0
        self.errors = 0

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """Return the result of a call, which is a JSON object.

        Failed calls return `{"error": …}`.
        """
        self.calls += 1
        try:
            function, values = checked_call(name, arguments, self._shared.rules)
            return self._result(function, values)
        except CallError as error:
            self.errors += 1
            return {"error": str(error)}

    def _result(self, function: Function, values: Arguments) -> Result:
        """Return the result of a call whose arguments are valid. Raises `CallError`."""
        if function.kind == "find":
            return self._shared.find(function, values)
        return self._book(function.domain, values)

    def _book(self, domain: str, booking: Arguments) -> Result:
        seed = f"{self._seed} {domain} {self.calls}"
        if domain == "taxi":
            made_up = digest(seed)
            return {
                "status": "booked",
                "type": car(made_up),
                "phone": phone_number(made_up),
                **booking,
            }
        row = self._shared.venue(domain, booking[BOOKED_BY[domain]])
        if self._is_refused(domain, booking):
            return {
                "status": "failed",
                "reason": f"{row[BOOKED_BY[domain]]} has nothing left for that: "
                "ask the user for something else",
            }
        details = TRAIN_DETAILS if domain == "train" else ()
        return {
            "status": "booked",
            "reference": reference(digest(seed)),
            **booking,
            BOOKED_BY[domain]: row[BOOKED_BY[domain]],
            **{slot: row[slot] for slot in details if slot in row},
        }

    def _is_refused(self, domain: str, booking: Arguments) -> bool:
        refused = {
            slot: normalize_value(slot, value, self._shared.rules)
            for slot, value in self._goal.get(domain, {}).get("fail_book", {}).items()
            if slot in BOOKING_SLOTS[domain]
        }
        return bool(refused) and all(booking[slot] == value for slot, value in refused.items())


class CallError(Exception):
    """The error for an invalid tool call. The text explains the solution to the agent."""


def checked_call(
    name: str, arguments: Mapping[str, Any], rules: Rules
) -> tuple[Function, Arguments]:
    """Return the function that is called, and those arguments of the call that are constraints.

    Null, empty text and values such as "any" are not constraints. Values are normalized according
    to `rules`. Raises `CallError` if the function or an argument is invalid.
    """
    function = BY_NAME.get(name)
    if function is None:
        raise CallError(unknown("function", name, BY_NAME))
    parameters = {parameter.name: parameter for parameter in function.parameters}
    values = {}
    for argument, value in arguments.items():
        parameter = parameters.get(argument)
        if parameter is None:
            name = str(argument)
            hint = f"{did_you_mean(name, parameters)} (known: {', '.join(parameters)})"
            raise CallError(f'{function.name} has no argument "{shorten(name)}"{hint}')
        text = _text(parameter, value)
        if text and text.lower() not in NO_CONSTRAINT:
            values[argument] = _spelled(parameter, text, rules)
    missing = [
        parameter.name
        for parameter in function.parameters
        if parameter.is_required and parameter.name not in values
    ]
    if missing:
        raise CallError(f"{function.name} needs {', '.join(missing)} as well")
    return function, values


def _text(parameter: Parameter, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if parameter.is_number and isinstance(value, int) and not isinstance(value, bool):
        return str(value)[: MOST_DIGITS + 2]
    raise CallError(f"{parameter.name}: expected {_expected(parameter)}, {found(value)}")


def _spelled(parameter: Parameter, text: str, rules: Rules) -> str:
    """Return a normalized value. Raises `CallError` for an invalid value."""
    slot = normalize_slot(parameter.name)
    if slot in TIME_SLOTS:
        match = _TIME.fullmatch(text) or _TIME.fullmatch(clock(text))
        spelled = f"{match[1]:0>2}:{match[2]}" if match else ""
    elif parameter.values:
        spelled = normalize_value(slot, text.lower(), rules)
        spelled = spelled if spelled in parameter.values else ""
    elif parameter.is_number:
        is_number = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
        spelled = str(int(text)) if is_number and int(text) else ""
    else:
        return text
    if not spelled:
        hint = did_you_mean(text.lower(), parameter.values)
        expected = _expected(parameter)
        raise CallError(f'{parameter.name}: expected {expected}, found "{shorten(text)}"{hint}')
    return spelled


def _expected(parameter: Parameter) -> str:
    if parameter.values:
        return f"one of {', '.join(parameter.values)}"
    if parameter.is_number:
        return "a whole number from 1"
    if normalize_slot(parameter.name) in TIME_SLOTS:
        return "a time as HH:MM, 24 hours"
    return "text"


def _public(domain: str, row: Row) -> Result:
    """Return the fields of a row that tools show, in the spelling of the database."""
    public = {}
    for column, value in {**row, **ADDED_FIELDS.get(domain, {}), **row}.items():
        slot = normalize_slot(column)
        slot = LONG_SLOTS.get(slot, slot)
        if slot in RETURNED or slot == "department":
            public[slot] = value
    return public


def _copy(row: Mapping[str, Any]) -> Result:
    """Return a deep copy of a row, because agents may modify results."""
    return {slot: dict(v) if isinstance(v, Mapping) else v for slot, v in row.items()}
