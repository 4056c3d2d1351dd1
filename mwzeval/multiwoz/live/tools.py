"""The functions in the schema of `mwzeval tools-schema`, executed on the database of a corpus.

The arguments of a call are checked and converted to the spelling of the database. Error messages
are written for the agent, which may be a language model that tries again.

The result of a call depends only on the seed, the dialogue, the number of the call and its
arguments. Therefore, a recorded conversation can be replayed. Venues are found as in the scores:
with fuzzy names, aliases and normalized times.

Under stress conditions, results have temporary faults. An agent can overcome every fault: it
repeats a failed call or an empty search, looks up the details in a list by name, and replaces a
venue that has nothing left by another venue. No fault is an error of the agent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import did_you_mean, shorten, unknown
from mwzeval.multiwoz import RULES, Rules
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
from mwzeval.multiwoz.functions import BY_NAME, RETURNED, Function, Parameter, tools_schema
from mwzeval.multiwoz.grounding.bookings import venues_called
from mwzeval.multiwoz.live.stress import TOOL_FAULTS, Conditions, Stress, known_values
from mwzeval.multiwoz.normalization import normalize_slot, normalize_value
from mwzeval.multiwoz.schema import (
    ADDED_FIELDS,
    BOOKED_BY,
    BOOKING_SLOTS,
    DATABASE_DOMAINS,
    LONG_SLOTS,
    NO_CONSTRAINT,
    TIME_SLOTS,
    UNKNOWN_VALUES,
    VENUE_DOMAINS,
    id_column,
)
from mwzeval.multiwoz.words.numbers import clock
from mwzeval.scores.findings import found
from mwzeval.statistics.trials import trial_name

MOST_RESULTS = 5
"""The maximum number of results that are listed."""
TRAIN_DETAILS = ("day", "departure", "destination", "leaveat", "arriveby", "price")
"""The details of a booked train that are returned. The price is that of one ticket."""

MOST_DIGITS = 3
"""The maximum number of digits in a number of people or nights."""
ERRORS, TIMEOUTS, EMPTY, STALE, FULL = "errors", "timeouts", "empty", "stale", "full"
UNAVAILABLE, NOT_KNOWN = "unavailable", "error"
"""The status of calls that have to be repeated."""
MOST_FAILED_CALLS = 4
"""The maximum number of calls in a dialogue that have to be repeated."""
FAILS_AGAIN = 0.2
"""The probability that a call fails at its second attempt if it has failed at the first."""
Arguments = Mapping[str, str]
Result = dict[str, Any]
Fault = tuple[str, Result] | None
"""The condition that changes a result, and the changed result."""
STALE_SLOTS = ("phone", "postcode", "address", "entrancefee")
STALE_NOTE = "Details in lists may be out of date; a search by name returns the current ones."
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
    """The functions that an agent can call in one dialogue; `calls` is the number of calls.

    Bookings in the goal's `fail_book` are refused.
    """

    schema: Sequence[Mapping[str, Any]] = DatabaseTools.schema

    def __init__(self, shared: DatabaseTools, planned: Planned) -> None:
        self._shared = shared
        self._seed = f"{planned.seed} {trial_name(planned.item, planned.trial)}"
        self._goal = planned.goal or {}
        self.calls = 0

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """Return the result of a call, which is a JSON object.

        Failed calls return `{"error": …}`.
        """
        self.calls += 1
        try:
            function, values = checked_call(name, arguments, self._shared.rules)
            return self._result(function, values)
        except CallError as error:
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


class FaultyTools(Tools):
    """The functions of one dialogue, whose results may have faults.

    The faults depend on the calls, the goal and the random choices of `stress`.
    """

    def __init__(self, database: DatabaseTools, planned: Planned, stress: Stress) -> None:
        super().__init__(database, planned)
        self.schema = schema_of(stress.conditions)
        self._stress = stress
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._failed_calls = 0
        self._searched: set[str] = set()
        self._full: dict[str, str] = {}

    def _result(self, function: Function, values: Arguments) -> Result:
        """Return the result of a call whose arguments are valid, which may have a fault."""
        result = super()._result(function, values)
        changed = self._found if function.kind == "find" else self._booked
        fault = self._failure(function, values) or changed(function.domain, values, result)
        if fault is None:
            return result
        kind, result = fault
        self._stress.log_fault(kind, function.domain, once=kind in (STALE, FULL))
        return result

    def _failure(self, function: Function, values: Arguments) -> Fault:
        """Return the fault of a call that has to be repeated."""
        key = function.name, "&".join(f"{slot}={values[slot]}" for slot in sorted(values))
        attempt = self._attempts[key]
        self._attempts[key] += 1
        if attempt > 1 or self._failed_calls == MOST_FAILED_CALLS:
            return None
        stress = self._stress
        fails = stress.happens(ERRORS, *key)
        if attempt and fails:
            fails = stress.number(ERRORS, *key, "again") < FAILS_AGAIN
        if fails:
            self._failed_calls += 1
            reason = "the service does not answer at present: try again"
            return ERRORS, {"status": UNAVAILABLE, "reason": reason}
        if attempt or function.kind != "book" or not stress.happens(TIMEOUTS, *key):
            return None
        self._failed_calls += 1
        reason = "timed out: it is not known whether it was carried out"
        return TIMEOUTS, {"status": NOT_KNOWN, "reason": reason}

    def _found(self, domain: str, values: Arguments, result: Result) -> Fault:
        """Return an empty result for the first search, or a list with stale details."""
        if result["count"] and domain not in self._searched:
            self._searched.add(domain)
            if self._stress.happens(EMPTY, domain):
                return EMPTY, {"count": 0, "results": []}
        is_list = result["count"] > 1 and "name" not in values
        if not (is_list and domain in VENUE_DOMAINS and self._stress.conditions[STALE]):
            return None
        wrong = [self._wrong_detail(domain, row) for row in result["results"]]
        for row, detail in zip(result["results"], wrong, strict=True):
            row.update(detail)
        return (STALE, result) if any(wrong) else None

    def _wrong_detail(self, domain: str, row: Mapping[str, Any]) -> Mapping[str, str]:
        """Return a slot of a venue with the value of another venue, or an empty mapping."""
        key = domain, str(row["name"])
        known = [slot for slot in STALE_SLOTS if row.get(slot, "") not in UNKNOWN_VALUES]
        if not (known and self._stress.happens(STALE, *key)):
            return {}
        rng = self._stress.generator(STALE, *key)
        slot = rng.choice(known)
        others = [v for v in known_values(self._shared, domain, slot) if v != row[slot]]
        return {slot: rng.choice(others)} if others else {}

    def _booked(self, domain: str, _: Arguments, result: Result) -> Fault:
        """Refuse the first booked venue that satisfies the goal, if there is another such venue."""
        name = result.get("name")  # the name of the booked restaurant or hotel
        if name and domain not in self._full and self._stress.happens(FULL, domain):
            info = self._goal.get(domain, {}).get("info", {})
            satisfying = {row["name"] for row in self._shared.query(domain, info.items())}
            if name in satisfying and len(satisfying) > 1 and "name" not in info:
                self._full[domain] = name
        if not name or name != self._full.get(domain):
            return None
        reason = f"{name} has nothing left for that: another {domain} may have"
        return FULL, {"status": "failed", "reason": reason}


def tools_of(
    database: DatabaseTools, planned: Planned, conditions: Conditions, record: Record
) -> Tools:
    """Return the functions of a dialogue, with faults if such conditions are active."""
    if conditions.of(TOOL_FAULTS):
        return FaultyTools(database, planned, Stress(conditions, planned, record))
    return Tools(database, planned)


def schema_of(conditions: Conditions) -> Sequence[Mapping[str, Any]]:
    """Return the JSON schema of the functions, which warns that details may be out of date."""
    return _schema_with_note() if conditions[STALE] else DatabaseTools.schema


@cache
def _schema_with_note() -> Sequence[Mapping[str, Any]]:
    schema = []
    for tool in DatabaseTools.schema:
        function = dict(tool["function"])
        if function["name"] in {f"find_{domain}" for domain in VENUE_DOMAINS}:
            function["description"] += f" {STALE_NOTE}"
        schema.append({**tool, "function": function})
    return schema


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
