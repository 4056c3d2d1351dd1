"""Temporary faults of the functions that an agent calls in a dialogue.

An agent overcomes each fault: a call that fails is repeated, an empty search too, details in a list
are looked up by name, and a venue that has nothing left is replaced by another one. A result
without a fault is that of the functions themselves. No fault is an error of the agent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from mwzeval.conversation.messages import is_error
from mwzeval.conversation.protocols import Tools
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.multiwoz.goals.goal import Goal
from mwzeval.multiwoz.live.stress.conditions import TOOL_FAULTS, Conditions, StressDraws, StressLog
from mwzeval.multiwoz.live.tools import Arguments, DatabaseTools, Result, checked_call
from mwzeval.multiwoz.schema import UNKNOWN_VALUES, VENUE_DOMAINS
from mwzeval.statistics.trials import trial_name

ERRORS, TIMEOUTS, EMPTY, STALE, FULL = "errors", "timeouts", "empty", "stale", "full"
UNAVAILABLE, NOT_KNOWN = "unavailable", "error"
"""The status of calls that have to be repeated."""
MOST_FAILED_CALLS = 4
"""The maximum number of calls in a dialogue that have to be repeated."""
FAILS_AGAIN = 0.2
"""The probability that a call fails at its second attempt if it has failed at the first."""
Fault = tuple[str, Result] | None
"""The condition that changes a result, and the new result."""
STALE_SLOTS = ("phone", "postcode", "address", "entrancefee")
STALE_NOTE = "Details in lists may be out of date; a search by name returns the current ones."


def tools_of(
    database: DatabaseTools, planned: Planned, conditions: Conditions, record: Record
) -> Tools:
    """Return the functions of a dialogue, with faults if there are such conditions."""
    key = trial_name(planned.item, planned.trial)
    tools = database.of_dialogue(planned.seed, key, planned.goal)
    if not conditions.of(TOOL_FAULTS):
        return tools
    draws = StressDraws.of(conditions, planned)
    return FaultyTools(tools, database, planned.goal or {}, draws, StressLog(record))


def schema_of(conditions: Conditions) -> Sequence[Mapping[str, Any]]:
    """Return the JSON schema of the functions; it warns of details that may be out of date."""
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


@lru_cache(maxsize=2**5)
def _values(database: DatabaseTools, domain: str, slot: str) -> Sequence[str]:
    """Return the known values of a slot in all venues."""
    values = {str(row.get(slot, "")) for row in database.query(domain, ())}
    return sorted(values - UNKNOWN_VALUES)


class FaultyTools:
    """The functions of one dialogue, whose results may have faults.

    `goal` is the goal that is judged. The faults depend on the calls and on `draws`.
    """

    def __init__(
        self, tools: Tools, database: DatabaseTools, goal: Goal, draws: StressDraws, log: StressLog
    ) -> None:
        self._tools = tools
        self._database = database
        self._goal = goal
        self._draws = draws
        self._log = log
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._failed_calls = 0
        self._searched: set[str] = set()
        self._full: dict[str, str] = {}
        self._stale: dict[tuple[str, str], Mapping[str, str]] = {}

    @property
    def schema(self) -> Sequence[Mapping[str, Any]]:
        """The JSON schema of the functions."""
        return schema_of(self._draws.conditions)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the result of a call, which may have a fault."""
        result = self._tools.call(name, arguments)
        if is_error(result):
            return result
        function, values = checked_call(name, arguments, self._database.rules)
        kind, domain = function.kind, function.domain
        changed = self._find if kind == "find" else self._book
        fault = self._failed_call(name, kind, values) or changed(domain, values, result)
        if fault is None:
            return result
        self._log.fault(fault[0], domain, once=fault[0] in (STALE, FULL))
        return fault[1]

    def _failed_call(self, name: str, kind: str, values: Arguments) -> Fault:
        """Return the fault of a call that has to be repeated."""
        key = name, "&".join(f"{slot}={values[slot]}" for slot in sorted(values))
        attempt = self._attempts[key]
        self._attempts[key] += 1
        if attempt > 1 or self._failed_calls == MOST_FAILED_CALLS:
            return None
        draws = self._draws
        fails = draws.happens(ERRORS, *key)
        if attempt and fails:
            fails = draws.number(ERRORS, *key, "again") < FAILS_AGAIN
        if fails:
            self._failed_calls += 1
            reason = "the service does not answer at present: try again"
            return ERRORS, {"status": UNAVAILABLE, "reason": reason}
        if attempt or kind != "book" or not draws.happens(TIMEOUTS, *key):
            return None
        self._failed_calls += 1
        reason = "timed out: it is not known whether it was carried out"
        return TIMEOUTS, {"status": NOT_KNOWN, "reason": reason}

    def _find(self, domain: str, values: Arguments, result: Result) -> Fault:
        if result["count"] and domain not in self._searched:
            self._searched.add(domain)
            if self._draws.happens(EMPTY, domain):
                return EMPTY, {"count": 0, "results": []}
        is_list = result["count"] > 1 and "name" not in values
        if not (is_list and domain in VENUE_DOMAINS and self._draws.conditions[STALE]):
            return None
        wrong = [self._wrong_detail(domain, row) for row in result["results"]]
        if not any(wrong):
            return None
        rows = [{**row, **of_row} for row, of_row in zip(result["results"], wrong, strict=True)]
        return STALE, {**result, "results": rows}

    def _wrong_detail(self, domain: str, row: Mapping[str, Any]) -> Mapping[str, str]:
        """Return a slot of a venue with the value of another venue, or an empty mapping."""
        key = domain, str(row["name"])
        if key not in self._stale:
            self._stale[key] = {}
            known = [slot for slot in STALE_SLOTS if row.get(slot, "") not in UNKNOWN_VALUES]
            if known and self._draws.happens(STALE, *key):
                rng = self._draws.generator(STALE, *key)
                slot = rng.choice(known)
                others = [v for v in _values(self._database, domain, slot) if v != row[slot]]
                self._stale[key] = {slot: rng.choice(others)} if others else {}
        return self._stale[key]

    def _book(self, domain: str, _: Arguments, result: Result) -> Fault:
        """Refuse the first venue that is booked and satisfies the goal, if there is another one."""
        name = result.get("name")  # that of the booked restaurant or hotel
        if name and domain not in self._full and self._draws.happens(FULL, domain):
            info = self._goal.get(domain, {}).get("info", {})
            satisfying = {row["name"] for row in self._database.query(domain, info.items())}
            if name in satisfying and len(satisfying) > 1 and "name" not in info:
                self._full[domain] = name
        if not name or name != self._full.get(domain):
            return None
        reason = f"{name} has nothing left for that: another {domain} may have"
        return FULL, {"status": "failed", "reason": reason}
