"""Goals of live dialogues, and functions that read goals and find their unfinished parts.

A goal is a nested dictionary: `domain_ordering`, and for each domain `info` (slot → value), `reqt`
(slots to ask for) and `book` (slot → value). If the user should first ask for something
unavailable, the domain also has `fail_info` or `fail_book`. `fail_info` or `fail_book` replaces
`info` or `book` as long as the user's copy of the goal has it. Sources: the `goal` annotation of
Budzianowski et al., EMNLP 2018; its interpretation by Zhu et al., "ConvLab-2", ACL 2020 (system
demonstrations).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.cache import derive
from mwzeval.files.downloads import DataRoot
from mwzeval.files.reading import expecting
from mwzeval.multiwoz.acts import INFORM, NONE, REQUEST
from mwzeval.multiwoz.annotations import BOOKING_FLAGS
from mwzeval.multiwoz.choices import Fold
from mwzeval.multiwoz.corpus import CORPORA, fold_sources, read_fold
from mwzeval.multiwoz.schema import (
    ALL_DOMAINS,
    PLACE_DOMAINS,
    UNANSWERED,
    UNANSWERED_VALUES,
    time_fits,
)
from mwzeval.scores.findings import OBJECT, found

Goal = dict[str, Any]
"""The goal of a live dialogue, as a nested dictionary. `begun` makes the copy in which a user
stores the received answers."""

DomainGoal = dict[str, Any]
"""The part of a goal for one domain."""

Slots = Mapping[str, str]
Record = Mapping[str, Any]
"""A record of the database."""


class Records(Protocol):
    """The interface of databases that find the records for constraints."""

    def query(self, domain: str, constraints: Iterable[tuple[str, str]], /) -> Sequence[Record]:
        """Return the records of a domain that satisfy all constraints."""

    def __hash__(self) -> int:
        """Return a hash, because answers are cached."""


ORDERING = "domain_ordering"

VALUE_PARTS = ("info", "fail_info", "book", "fail_book")
"""Parts of a domain that map slots to values; `reqt` only has slots."""

NAMED_AS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("restaurant", "place to dine", "somewhere to eat"),
    "hotel": ("hotel", "place to stay", "somewhere to stay"),
    "attraction": ("attraction", "places to go", "something to visit"),
    "police": ("police", "help"),
}
"""Phrases for domains in the sentences of MultiWOZ and the sample. For all other domains, the
phrase is the name of the domain."""

GOALS_REVISION = 2
"""This number is increased when the conversion of annotations to goals changes."""
GOAL_SHAPE = 'an object with "goal", the wishes by domain, and its "message", a list of sentences'
EXAMPLE = '{"hotel": {"info": {"area": "north"}, "reqt": ["phone"]}}'


@dataclass(frozen=True, slots=True)
class AnnotatedGoal:
    """The goal of a corpus dialogue, and the sentences that described it to the user.

    The goal includes all parts that the sentences mention, including `fail_book`.
    """

    goal: Goal
    message: tuple[str, ...]


def annotated_goals(corpus: str, fold: Fold, root: DataRoot) -> dict[str, AnnotatedGoal]:
    """Return the annotated goals of a fold by dialogue id, in file order.

    Raises `DataError` if the `data.json` of the corpus is missing or has a wrong format.
    """
    sources = fold_sources(root, CORPORA[corpus], fold)

    def build() -> dict[str, Any]:
        goals = {}
        for name, dialogue in read_fold(sources, fold).items():
            with expecting(GOAL_SHAPE, f'{sources[0]}: dialogue "{shorten(name)}"'):
                goal = dialogue["goal"]
                goals[name] = [goal_of(goal), sentences_of(goal["message"])]
        return goals

    plain = derive(f"{corpus}-{fold}-live", sources, GOALS_REVISION, build)
    return {name: AnnotatedGoal(goal, tuple(message)) for name, (goal, message) in plain.items()}


def sentences_of(message: str | Sequence[str]) -> list[str]:
    """Return the sentences that describe a goal, without the tags around values."""
    sentences = [message] if isinstance(message, str) else message
    return [re.sub("<[^>]*>", "", sentence).strip() for sentence in sentences]


def goal_of(annotated: Mapping[str, Any]) -> Goal:
    """Return the goal in a `goal` annotation; `fail_book` is completed with slots of `book`.

    The domains are in the order in which the sentences of the goal mention them. Raises
    `ValueError` if the sentences of the goal do not mention each domain, or if the annotation has a
    wrong form.
    """
    sentences = [sentence.lower() for sentence in sentences_of(annotated["message"])]
    first = {}
    for domain in filter(annotated.get, ALL_DOMAINS):
        names = NAMED_AS.get(domain, (domain,))
        places = [i for i, text in enumerate(sentences) if any(name in text for name in names)]
        if not places:
            raise ValueError(f"no sentence of the goal mentions the {domain}")
        first[domain] = places[0]
    ordering = sorted(first, key=first.__getitem__)
    return {ORDERING: ordering, **{domain: _part(domain, annotated[domain]) for domain in ordering}}


def given_goal(raw: Any) -> Goal:
    """Convert a goal written by another program; `fail_book` is kept if the goal has it.

    If the goal has no order of domains, the domains are in the order of the keys. Raises
    `ValueError` with an explanation if the data are not a goal.
    """
    _check_object("", raw, f"an object of domains such as {EXAMPLE}")
    domains = [domain for domain in raw if domain in ALL_DOMAINS and raw[domain]]
    if not domains:
        near = next((str(key) for key in raw if key != ORDERING), "")
        hint = did_you_mean(near, ALL_DOMAINS) or f" (known: {', '.join(ALL_DOMAINS)})"
        raise ValueError(f"all domains are empty{hint}")
    ordering = raw.get(ORDERING, domains)
    if not isinstance(ordering, list | tuple) or sorted(map(str, ordering)) != sorted(domains):
        told = shorten(str(ordering))
        raise ValueError(f"{ORDERING} is {told}, but the domains are {', '.join(domains)}")
    return {ORDERING: [*ordering], **{domain: _part(domain, raw[domain]) for domain in ordering}}


def _part(domain: str, raw: Any) -> DomainGoal:
    _check_object(f"{domain}: ", raw, f"an object such as {EXAMPLE}")
    info, fail_info, book, fail_book = (
        _slots(f"{domain}.{name}", raw.get(name) or {}) for name in VALUE_PARTS
    )
    requested = raw.get("reqt") or ()
    # In a user's copy of a goal, the slots are mapped to the answers.
    if not isinstance(requested, list | tuple | Mapping) or not all(
        isinstance(slot, str) for slot in requested
    ):
        raise ValueError(f"{domain}.reqt: expected a list of slots, {found(requested)}")
    part: DomainGoal = {"info": info}
    # A user with an empty `fail_info` would have no constraints at first.
    if fail_info:
        part["fail_info"] = fail_info
    if requested:
        part["reqt"] = list(requested)
    if raw.get("book"):
        part["book"] = book
        if fail_book:
            # Some versions only annotate the slots that differ.
            part["fail_book"] = book | fail_book
    return part


def _slots(place: str, raw: Any) -> dict[str, str]:
    _check_object(f"{place}: ", raw, "an object of slots and values")
    slots = {}
    for slot, value in raw.items():
        if slot in BOOKING_FLAGS:
            continue
        if isinstance(value, list | tuple) and value:
            value = value[0]  # some versions of the corpus have lists
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise ValueError(  # noqa: TRY004
                f"{place}.{shorten(str(slot))}: a value must be a string, {found(value)}"
            )
        slots[str(slot)] = str(value)
    return slots


def _check_object(place: str, raw: Any, expected: str) -> None:
    if not isinstance(raw, OBJECT):
        message = f"{place}expected {expected}, {found(raw)}"
        raise ValueError(message)  # noqa: TRY004 - the value is from a file


def satisfiable_failures(goal: Goal, database: Records) -> list[str]:
    """Return the domains whose `fail_info` matches some record, in the order of the goal.

    A correct system would not report a failure in these domains, so the user would never state the
    constraints in `info`.
    """
    return [
        domain
        for domain in goal[ORDERING]
        if "fail_info" in goal[domain] and database.query(domain, goal[domain]["fail_info"].items())
    ]


def without(goal: Goal, part: str, domains: Iterable[str]) -> Goal:
    """Return a goal without a part (such as `fail_info`) of some domains.

    Other parts are shared with the original goal.
    """
    kept = dict(goal)
    for domain in domains:
        kept[domain] = {name: value for name, value in goal[domain].items() if name != part}
    return kept


# The open parts of a goal


def begun(goal: Goal) -> Goal:
    """Return a copy of a goal for one dialogue, in which all requests and bookings are pending."""
    copy: Goal = {ORDERING: list(goal[ORDERING])}
    for domain in goal[ORDERING]:
        part = copy[domain] = {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in goal[domain].items()
        }
        if "reqt" in part:
            part["reqt"] = dict.fromkeys(part["reqt"], UNANSWERED)
        if "book" in part:
            part["booked"] = UNANSWERED
    return copy


def tried(goal: DomainGoal, part: str) -> Slots:
    """Return the constraints that the user currently states in a part (`info` or `book`)."""
    constraints: Slots | None = goal.get(f"fail_{part}")
    return goal.get(part, {}) if constraints is None else constraints


def wish_for(goal: DomainGoal, slot: str) -> str | None:
    """Return the current constraint on a slot, or None if the goal has no such constraint."""
    return {**tried(goal, "book"), **tried(goal, "info")}.get(slot)


def correction(goal: DomainGoal, slot: str, said: str) -> str | None:
    """Return the user's correction of a system's value, or None if the value is acceptable."""
    for part in ("info", "book"):
        value = tried(goal, part).get(slot)
        if value is None or value == said:
            continue
        # A time in a first wish (`fail_…`) must match exactly.
        bound = part == "info" and slot in ("arriveBy", "leaveAt") and "fail_info" not in goal
        if not bound or time_fits(slot, said, value) is False:
            return value
    return None


def give_up_first_wish(goal: DomainGoal, part: str) -> Slots | None:
    """Replace a part's first wish (`fail_…`) by the second; return the first wish or None."""
    failed: Slots | None = goal.pop(f"fail_{part}", None)
    if failed is not None:
        goal[f"fail_{part}_fail"] = failed
    return failed


def places_before_taxi(goal: Goal) -> list[str]:
    """Return the domains whose venues a taxi may connect, in the order of the goal."""
    domains: list[str] = goal[ORDERING]
    return [domain for domain in domains[: domains.index("taxi")] if domain in PLACE_DOMAINS]


def place_for(goal: Goal, slot: str) -> str | None:
    """Return the place of a taxi's destination (the last venue) or departure (the one before)."""
    back = {"destination": 1, "departure": 2}.get(slot)
    places = places_before_taxi(goal)
    if back is None or len(places) < back:
        return None
    place = places[-back]
    name: str = goal[place].get("info", {}).get("name", NONE)
    return f"the {place}" if name in UNANSWERED_VALUES else name


def missing_part(goal: DomainGoal) -> tuple[str, Slots] | None:
    """Return the next unfinished part of a domain as (intent, slots), or None if the domain is
    complete.

    Unanswered requests (`name` before all others) come before the booking.
    """
    requests = goal.get("reqt", {}).items()
    asked = [slot for slot, value in requests if value in UNANSWERED_VALUES]
    if asked:
        return REQUEST, dict.fromkeys(["name"] if "name" in asked else asked, UNANSWERED)
    if goal.get("booked") in UNANSWERED_VALUES:
        return INFORM, tried(goal, "book")
    return None


def is_complete(goal: Goal) -> bool:
    """Return whether all requests of a goal are answered and all bookings are reported."""
    return all(missing_part(goal[domain]) is None for domain in goal[ORDERING])
