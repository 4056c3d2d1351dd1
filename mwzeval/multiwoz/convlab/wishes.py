"""What a goal says of a slot: the user answers questions and corrects offers by it.

A part `fail_info` or `fail_book`, which is to be tried first, stands in place of `info` or `book`
for as long as the goal has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mwzeval.multiwoz.convlab.acts import NONE
from mwzeval.multiwoz.convlab.agenda import INFORM, REQUEST
from mwzeval.multiwoz.goals.goals import Goal
from mwzeval.multiwoz.schema import PLACE_DOMAINS, UNANSWERED, UNANSWERED_VALUES

_NOTHING: Mapping[str, str] = {}

Wanted = dict[str, Any]
"""The parts of a goal in one domain."""


def wish_for(wanted: Wanted, slot: str) -> str | None:
    """Return the value that is wanted of a slot; None when the goal does not say."""
    for part in ("info", "book"):
        value = tried(wanted, part).get(slot)
        if value is not None:
            return value
    return None


def correction(wanted: Wanted, slot: str, said: str) -> str | None:
    """Return what is wanted in place of a said value; None when that will do."""
    for part in ("info", "book"):
        value = tried(wanted, part).get(slot)
        if value is None or value == said:
            continue
        # Of what is tried first, a time has to be the very one.
        bound = part == "info" and slot in ("arriveBy", "leaveAt") and "fail_info" not in wanted
        if not bound or violates(slot, said, value):
            return value
    return None


def tried(wanted: Wanted, part: str) -> Mapping[str, str]:
    """Return the constraints of a part (`info` or `book`) that the user is after at present."""
    constraints: Mapping[str, str] | None = wanted.get(f"fail_{part}")
    if constraints is None:
        constraints = wanted.get(part, _NOTHING)
    return constraints


def violates(slot: str, said: str, wanted: str) -> bool:
    """Return whether a time is too late or too early; one that cannot be read never is."""
    at, limit = _clock(said), _clock(wanted)
    if at is None or limit is None:
        return False
    return limit < at if slot == "arriveBy" else limit > at


def _clock(text: str) -> int | None:
    try:
        hours, minutes = text.split(":")
        return int(hours) * 100 + int(minutes)
    except ValueError:
        return None


def place_for(goal: Goal, slot: str) -> str | None:
    """Return where a taxi goes: from the last but one of the places before it to the last."""
    back = {"destination": 1, "departure": 2}.get(slot)
    if back is None:
        return None
    domains: list[str] = goal["domain_ordering"]
    places = [domain for domain in domains[: domains.index("taxi")] if domain in PLACE_DOMAINS]
    if len(places) < back:
        return None
    place = places[-back]
    name: str = goal[place].get("info", _NOTHING).get("name", NONE)
    return f"the {place}" if name in UNANSWERED_VALUES else name


def missing_part(wanted: Wanted) -> tuple[str, Mapping[str, str]] | None:
    """Return what a domain needs next, as intent and slots; None when it has everything.

    Those are the requests without an answer, `name` before the others, or what is to be booked.
    """
    asked = [
        slot for slot, value in wanted.get("reqt", _NOTHING).items() if value in UNANSWERED_VALUES
    ]
    if asked:
        return REQUEST, dict.fromkeys(["name"] if "name" in asked else asked, UNANSWERED)
    if wanted.get("booked") in UNANSWERED_VALUES:
        return INFORM, tried(wanted, "book")
    return None
