"""Goals that other programs have written, in the form of `goals.py` or as corpora annotate them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mwzeval.errors import did_you_mean, shorten
from mwzeval.multiwoz.corpus.gold import BOOKING_FLAGS
from mwzeval.multiwoz.goals.goals import ORDERING, Goal, goal_part
from mwzeval.multiwoz.schema import ALL_DOMAINS
from mwzeval.scores.findings import OBJECT, found

SLOTS_OF = ("info", "fail_info", "book", "fail_book")
"""Parts of a domain that have slots with values; `reqt` has slots alone."""
EXAMPLE = '{"hotel": {"info": {"area": "north"}, "reqt": ["phone"]}}'


def given_goal(raw: Any) -> Goal:
    """Return a goal in the form of `goals.py`, with `fail_book` where it is given.

    Its domains come in the order that it tells, else as they stand. Raises `ValueError` with a
    sentence for what is no goal.
    """
    _check_object("", raw, f"an object of domains such as {EXAMPLE}")
    domains = [domain for domain in raw if domain in ALL_DOMAINS and raw[domain]]
    if not domains:
        near = next((str(key) for key in raw if key != ORDERING), "")
        hint = did_you_mean(near, ALL_DOMAINS) or f" (known: {', '.join(ALL_DOMAINS)})"
        raise ValueError(f"no domain has anything in it{hint}")
    ordering = raw.get(ORDERING, domains)
    if not isinstance(ordering, list | tuple) or sorted(map(str, ordering)) != sorted(domains):
        told = shorten(str(ordering))
        raise ValueError(f"{ORDERING} is {told}, and the domains are {', '.join(domains)}")
    parts = {domain: goal_part(_checked(domain, raw[domain]), True) for domain in ordering}
    return {ORDERING: list(ordering), **parts}


def _checked(domain: str, raw: Any) -> dict[str, Any]:
    _check_object(f"{domain}: ", raw, f"an object such as {EXAMPLE}")
    part = {name: _slots(f"{domain}.{name}", raw[name]) for name in SLOTS_OF if raw.get(name)}
    asked = raw.get("reqt") or ()
    # A user's copy of a goal has the answers beside the slots.
    if not isinstance(asked, list | tuple | Mapping) or not all(isinstance(s, str) for s in asked):
        raise ValueError(f"{domain}.reqt: expected a list of slots, {found(asked)}")
    return {**part, "reqt": list(asked)}


def _slots(place: str, raw: Any) -> dict[str, str]:
    _check_object(f"{place}: ", raw, "an object of slots and values")
    slots = {}
    for slot, value in raw.items():
        if slot in BOOKING_FLAGS:
            continue
        if isinstance(value, list | tuple) and value:
            value = value[0]  # versions of the corpus differ in this
        is_value = isinstance(value, str | int) and not isinstance(value, bool)
        if not is_value:
            raise ValueError(f"{place}.{shorten(str(slot))}: a value is text, {found(value)}")
        slots[str(slot)] = str(value)
    return slots


def _check_object(place: str, raw: Any, expected: str) -> None:
    if not isinstance(raw, OBJECT):
        message = f"{place}expected {expected}, {found(raw)}"
        raise ValueError(message)  # noqa: TRY004 - the value is from a file
