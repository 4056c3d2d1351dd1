"""What the original's policies look at, and which summary actions it forbids.

Written down from the specification alone (2, 7, 8.2), sentence by sentence, for tests to compare
with.
"""

from __future__ import annotations

from collections.abc import Mapping

from mwzeval.pydial.acts import DONTCARE
from mwzeval.pydial.domain import Domain, Entity
from tests.pydial.simulator.specification_tracker import METHODS, SpecifiedTracker

ENOUGH = 4


def ranked(tracker: SpecifiedTracker, slot: str) -> list[tuple[float, str]]:
    """Return the probabilities and values of a slot, the likeliest first."""
    return sorted(((p, value) for value, p in tracker.goals[slot].items()), reverse=True)


def likeliest_name(tracker: SpecifiedTracker) -> str | None:
    """Return the top of the name belief, None for no name."""
    names = ranked(tracker, "name")
    return names[0][1] if names and names[0][0] > tracker.none["name"] else None


def accepted_slots(tracker: SpecifiedTracker, domain: Domain) -> dict[str, str]:
    """Return the accepted slots and their values (7)."""
    accepted = {}
    for slot in domain.ontology.constraint_slots:
        for probability, value in ranked(tracker, slot)[:1]:
            beats_none = probability > tracker.none[slot]
            if beats_none and probability > 1 / (len(tracker.informable[slot]) - 0.1):
                accepted[slot] = value
    return accepted


def matching(domain: Domain, accepted: Mapping[str, str]) -> list[Entity]:
    """Return the rows that have the values (2)."""
    wanted = [(slot, value) for slot, value in accepted.items() if value != DONTCARE]
    return [
        row
        for row in domain.table.rows
        if all(row[slot].lower() == value.lower() for slot, value in wanted)
    ]


def is_discriminable(domain: Domain, accepted: Mapping[str, str]) -> bool:
    """Tell whether another slot would tell the matching rows apart (2)."""
    rows = matching(domain, accepted)
    if len(rows) < 2:
        return False
    indifferent = {slot for slot, value in accepted.items() if value == DONTCARE}
    return any(
        len({row[slot] for row in rows if slot in row}) > 1
        for slot in domain.ontology.informable
        if slot not in ("name", "price") and slot not in indifferent
    )


def method_flag(tracker: SpecifiedTracker) -> str:
    """Return the method whose flag is set (7)."""
    methods = dict(tracker.methods)
    methods["none"] = 1.0 - sum(methods.values())
    top = max(METHODS, key=lambda method: methods[method])
    if top in ("byalternatives", "byname"):
        return top
    return top if top in ("finished", "restart") and methods[top] > 0.5 else "byconstraints"


def is_flagged(tracker: SpecifiedTracker, *discourse_acts: str) -> bool:
    """Tell whether the flag of one of some discourse acts is set (7)."""
    return any(tracker.discourse_acts.get(act, 0.0) > 0.5 for act in discourse_acts)


def requested_slots(tracker: SpecifiedTracker) -> list[str]:
    return [slot for slot, probability in tracker.requested.items() if probability > 0.5]


def asks_for_alternatives(tracker: SpecifiedTracker) -> bool:
    """Tell whether this sets the request for alternatives that is then pending (8.2)."""
    thanked = is_flagged(tracker, "thankyou", "ack")
    return method_flag(tracker) == "byalternatives" and not thanked


def forbidden(tracker: SpecifiedTracker, domain: Domain, *, pending: bool) -> set[str]:
    """Return the actions that are masked with all switches on (8.2)."""
    method, offered = method_flag(tracker), tracker.last_offered != ""
    accepted = accepted_slots(tracker, domain)
    conditions = {
        "inform": method != "byconstraints"
        or (len(accepted) < ENOUGH and is_discriminable(domain, accepted)),
        "inform_byname": method != "byname" or not (offered or likeliest_name(tracker)),
        "inform_alternatives": not pending or not offered,
        "bye": method != "finished",
        "reqmore": not offered,
        "repeat": True,
        "restart": True,
    }
    for slot in domain.ontology.constraint_slots:
        conditions[f"confirm_{slot}"] = len(tracker.goals[slot]) < 1
        conditions[f"select_{slot}"] = len(tracker.goals[slot]) < 2
    return {name for name, condition in conditions.items() if condition}
