"""Temporary faults of the functions that an agent calls in a dialogue.

An agent can overcome every fault: it repeats a failed call or an empty search, looks up the details
in a list by name, and replaces a venue that has nothing left by another venue. Without a fault, the
functions themselves return the result. No fault is an error of the agent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.multiwoz.formats.functions import Function
from mwzeval.multiwoz.live.stress.conditions import TOOL_FAULTS, Conditions, Stress, known_values
from mwzeval.multiwoz.live.tools import Arguments, DatabaseTools, Result, Tools
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
"""The condition that changes a result, and the changed result."""
STALE_SLOTS = ("phone", "postcode", "address", "entrancefee")
STALE_NOTE = "Details in lists may be out of date; a search by name returns the current ones."


def tools_of(
    database: DatabaseTools, planned: Planned, conditions: Conditions, record: Record
) -> Tools:
    """Return the functions of a dialogue, with faults if such conditions are active."""
    if conditions.of(TOOL_FAULTS):
        return FaultyTools(database, planned, Stress(conditions, planned, record))
    key = trial_name(planned.item, planned.trial)
    return database.of_dialogue(planned.seed, key, planned.goal)


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


class FaultyTools(Tools):
    """The functions of one dialogue, whose results may have faults.

    The faults depend on the calls, the goal and the random choices of `stress`.
    """

    def __init__(self, database: DatabaseTools, planned: Planned, stress: Stress) -> None:
        key = trial_name(planned.item, planned.trial)
        super().__init__(database, f"{planned.seed} {key}", planned.goal or {})
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
