"""User goals and their format in files.

Source: Casanueva et al. (2017), section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.pydial.acts import Item
from mwzeval.pydial.domain import NAME, Ontology


@dataclass(slots=True)
class Goal:
    """A user's goal, which may change during the dialogue.

    A constraint is an item: `area="north"`, `name!="x"`. `requests` maps each requested slot to the
    value that the system gave, or to None if the system has given no value.
    """

    constraints: list[Item]
    requests: dict[str, str | None]

    @property
    def recommended(self) -> str | None:
        """The last name that the system has recommended, or None without a recommendation."""
        return self.requests[NAME]

    def unfilled(self) -> list[str]:
        """Return the requested slots that have not been answered."""
        return [slot for slot, value in self.requests.items() if value is None]

    def wanted(self, slot: str) -> str | None:
        """Return the value of the constraint on a slot, or None without a constraint."""
        for item in self.constraints:
            if item.slot == slot and not item.negated:
                return item.value
        return None


CONSTRAINTS, REQUESTS = "constraints", "requests"
SHOWN = 20
"""Maximum number of allowed values in an error message."""


def plain_goal(goal: Goal) -> dict[str, Any]:
    """Return a goal in the plain format that is used in files."""
    constraints = [
        [item.slot, "!=" if item.negated else "=", item.value] for item in goal.constraints
    ]
    return {CONSTRAINTS: constraints, REQUESTS: dict(goal.requests)}


def goal_from(plain: Any, ontology: Ontology) -> Goal:
    """Convert the format of `plain_goal` to a goal whose requests have no values.

    `requests` may also be a list of slots; the name is always requested. Raises `UsageError` with
    all problems if the goal is invalid in the domain.
    """
    if not isinstance(plain, Mapping) or plain.keys() - {CONSTRAINTS, REQUESTS}:
        raise UsageError(
            'a goal must be {"constraints": [[slot, "=", value], …], "requests": [slot, …]}, not '
            f"{shorten(repr(plain))}"
        )
    constraints, requests = plain.get(CONSTRAINTS, ()), plain.get(REQUESTS, ())
    problems = [
        *_constraint_problems(constraints, ontology),
        *_request_problems(requests, ontology),
    ]
    if problems:
        raise UsageError(*problems)
    return Goal(
        [Item(slot, value) for slot, _, value in constraints], dict.fromkeys((NAME, *requests))
    )


def _constraint_problems(constraints: Any, ontology: Ontology) -> Iterator[str]:
    if not isinstance(constraints, list | tuple):
        yield f"the constraints of a goal must be a list, not {shorten(repr(constraints))}"
        return
    seen = set()
    for constraint in constraints:
        if not _is_constraint(constraint):
            yield f'a constraint must be [slot, "=", value], not {shorten(repr(constraint))}'
            continue
        slot, _, value = constraint
        if slot not in ontology.constraint_slots:
            yield _unknown("slot of constraints", slot, ontology.constraint_slots)
        elif value not in ontology.values_and_dontcare[slot]:
            yield _unknown(f"value of {slot}", value, ontology.values_and_dontcare[slot])
        if slot in seen:
            yield f'there is more than one constraint on "{shorten(slot)}"'
        seen.add(slot)


def _is_constraint(raw: Any) -> bool:
    return (
        isinstance(raw, list | tuple)
        and len(raw) == 3
        and all(isinstance(part, str) for part in raw)
        and raw[1] == "="
    )


def _request_problems(requests: Any, ontology: Ontology) -> Iterator[str]:
    if not isinstance(requests, list | tuple | Mapping):
        yield f"the requests of a goal must be a list of slots, not {shorten(repr(requests))}"
        return
    for slot in requests:
        if not isinstance(slot, str) or slot not in ontology.requestable:
            yield _unknown("requestable slot", str(slot), ontology.requestable)
        elif isinstance(requests, Mapping) and requests[slot] is not None:
            yield f'"{slot}" already has an answer: the goal of a new dialogue must have none'


def _unknown(what: str, given: str, known: tuple[str, ...]) -> str:
    shown = ", ".join(known[:SHOWN]) + (", …" if len(known) > SHOWN else "")
    return f'unknown {what} "{shorten(given)}"{did_you_mean(given, known)} ({shown})'
