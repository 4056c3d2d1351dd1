"""The system acts that summary actions stand for, and the handcrafted policy of the original.

Written down from the specification alone (8.3, 9), sentence by sentence, for tests to compare with.
Where something is left to chance every possible act is yielded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from mwzeval.pydial.acts import DONTCARE, NONE, Act, Item
from mwzeval.pydial.domain import Domain, Entity
from tests.pydial.simulator.specification_summary import (
    accepted_slots,
    is_discriminable,
    is_flagged,
    likeliest_name,
    matching,
    method_flag,
    ranked,
    requested_slots,
)
from tests.pydial.simulator.specification_tracker import SpecifiedTracker

MOST = 5
NO_NAME = Item("name", NONE)
Acts = Iterator[Act]


def some(slots: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the slots, or every choice of five if there are more."""
    return combinations(slots, min(len(slots), MOST))


def offer(entity: Entity, accepted: Mapping[str, str]) -> Acts:
    for slots in some(list(accepted)):
        told = (s for s in slots if entity.get(s, "") not in ("", "not available"))
        yield Act("inform", tuple(Item(slot, entity[slot]) for slot in ("name", *told)))


def answer(entity: Entity, tracker: SpecifiedTracker) -> Acts:
    requested = requested_slots(tracker)
    choices = some([slot for slot in requested if slot != "name"])
    if not requested:
        choices = ((slot,) for slot in tracker.requestable if slot != "name")
    for slots in choices:
        items = (Item(slot, entity.get(slot, NONE)) for slot in slots)
        yield Act("inform", (Item("name", entity["name"]), *items))


def nothing(accepted: Mapping[str, str]) -> Acts:
    wanted = (Item(slot, value) for slot, value in accepted.items() if value != DONTCARE)
    yield Act("inform", (NO_NAME, *wanted))


def first_of(rows: Sequence[Entity], accepted: Mapping[str, str]) -> Sequence[Entity]:
    """Return the rows that may come first: any of them if nothing is asked of them."""
    return rows[:1] if any(value != DONTCARE for value in accepted.values()) else rows


def offer_first(rows: Sequence[Entity], accepted: Mapping[str, str]) -> Acts:
    for entity in first_of(rows, accepted):
        yield from offer(entity, accepted)


def alternatives(domain: Domain, accepted: Mapping[str, str], excluded: Sequence[str]) -> Acts:
    rows = matching(domain, accepted)
    left = [row for row in rows if row["name"] not in excluded]
    if not rows:
        yield from nothing(accepted)
    elif left:
        yield from offer_first(left, accepted)
    else:
        names = [Item("name", row["name"], True) for row in rows]
        for slots in some(list(accepted)):
            yield Act("inform", (NO_NAME, *names, *(Item(s, accepted[s]) for s in slots)))


def named(domain: Domain, name: str | None) -> Entity | None:
    return next((row for row in domain.table.rows if row["name"] == name), None)


def summary_acts(action: str, tracker: SpecifiedTracker, domain: Domain) -> Acts:
    """Yield the acts that an action may become (8.3); it must not need values that are unknown."""
    kind, _, slot = action.partition("_")
    if kind == "request":
        yield Act("request", (Item(slot),))
    elif kind in ("confirm", "select"):
        values = [value for _, value in ranked(tracker, slot)]
        yield Act(kind, tuple(Item(slot, v) for v in values[: 1 if kind == "confirm" else 2]))
    elif action in ("bye", "reqmore"):
        yield Act(action)
    elif action == "inform":
        accepted = accepted_slots(tracker, domain)
        rows = matching(domain, accepted)
        last = [row for row in rows if row["name"] == tracker.last_offered]
        yield from offer_first(last or rows, accepted) if rows else nothing(accepted)
    elif action == "inform_alternatives":
        accepted = accepted_slots(tracker, domain)
        yield from alternatives(domain, accepted, tracker.offered_since_none)
    elif action == "inform_byname":
        name = likeliest_name(tracker) or tracker.last_offered
        entity = named(domain, name)
        if entity is not None:
            yield from answer(entity, tracker)
        elif not name:
            for anyone in domain.table.rows:
                yield from answer(anyone, tracker)
        else:
            yield Act("inform", (NO_NAME, Item("name", name)))


def handcrafted_acts(tracker: SpecifiedTracker, domain: Domain) -> list[Act]:
    """Return the acts that the handcrafted policy may make (9)."""
    return (
        _global(tracker, domain)
        or _confirm_or_select(tracker, domain)
        or _inform(tracker, domain)
        or _request(tracker, domain)
        or [Act("reqmore")]
    )


def _global(tracker: SpecifiedTracker, domain: Domain) -> list[Act]:
    method, accepted = method_flag(tracker), accepted_slots(tracker, domain)
    if method == "byconstraints" and len(accepted) > 3:
        return list(alternatives(domain, accepted, []))
    if method == "byalternatives":
        return list(alternatives(domain, accepted, tracker.offered_since_none))
    if method == "byname":
        return _about_named(tracker, domain)
    if method == "finished":
        return [Act("bye")]
    if is_flagged(tracker, "repeat"):
        return []
    if is_flagged(tracker, "thankyou", "ack"):
        return [Act("reqmore")] if tracker.last_offered else []
    return []


def _about_named(tracker: SpecifiedTracker, domain: Domain) -> list[Act]:
    name = tracker.last_offered
    for probability, value in ranked(tracker, "name")[:1]:
        if probability >= 0.8 and value != DONTCARE:
            name = value
    entity = named(domain, name)
    return [] if entity is None else list(answer(entity, tracker))


def _confirm_or_select(tracker: SpecifiedTracker, domain: Domain) -> list[Act]:
    for slot in domain.ontology.constraint_slots:
        (first, best), (second, other) = [*ranked(tracker, slot), (0.0, ""), (0.0, "")][:2]
        if 0.6 < first < 0.8:
            return [Act("confirm", (Item(slot, best),))]
        if 0.3 < first <= 0.6:
            close = first - second < 0.2
            return [
                Act("select", (Item(slot, best), Item(slot, other)))
                if close
                else Act("confirm", (Item(slot, best),))
            ]
    return []


def _inform(tracker: SpecifiedTracker, domain: Domain) -> list[Act]:
    accepted = accepted_slots(tracker, domain)
    rows = matching(domain, accepted)
    if (
        len(rows) > 1
        and is_discriminable(domain, accepted)
        and len(accepted) < len(domain.ontology.constraint_slots)
    ):
        return []
    if requested_slots(tracker) and tracker.offered:
        # The text leaves open whether asking comes next where there is no such entity.
        return _about_named(tracker, domain) or [Act("null")]
    return list(offer_first(rows, accepted) if rows else nothing(accepted))


def _request(tracker: SpecifiedTracker, domain: Domain) -> list[Act]:
    for slot in domain.ontology.constraint_slots:
        if max(tracker.goals[slot].values(), default=0.0) < 0.8:
            return [Act("request", (Item(slot),))]
    return []
