"""Goals of users of live dialogues: those of a corpus' fold, and what a user still needs of one.

A goal is a nested dictionary: `domain_ordering`, and for each domain `info` (slot → value), `reqt`
(slots to ask for), `book` (slot → value), and, where the user first asks for what is not there,
`fail_info` and `fail_book`. These stand in place of `info` and `book` for as long as the user's
copy has them. Sources: the `goal` annotation of Budzianowski et al., EMNLP 2018; its
reading by Zhu et al., "ConvLab-2", ACL 2020 (system demonstrations).
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
)
from mwzeval.scores.findings import OBJECT, found

Goal = dict[str, Any]
"""A goal in the form above; `begun` makes the copy that a user writes its answers into."""

DomainGoal = dict[str, Any]
"""What a goal has of one domain."""

Record = Mapping[str, Any]
"""A record of the database."""


class Records(Protocol):
    """What answers queries on the database."""

    def query(self, domain: str, constraints: Iterable[tuple[str, str]], /) -> Sequence[Record]:
        """Return the records of a domain that satisfy all constraints."""


ORDERING = "domain_ordering"

VALUE_PARTS = ("info", "fail_info", "book", "fail_book")
"""Parts of a domain that have slots with values; `reqt` has slots alone."""

NAMED_AS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("restaurant", "place to dine", "somewhere to eat"),
    "hotel": ("hotel", "place to stay", "somewhere to stay"),
    "attraction": ("attraction", "places to go", "something to visit"),
    "police": ("police", "help"),
}
"""How sentences of MultiWOZ and of the sample speak of a domain; of the others, by their names."""

GOALS_REVISION = 2
"""Raised when the same annotation becomes other goals."""
GOAL_SHAPE = 'an object with "goal", the wishes by domain, and its "message", a list of sentences'
EXAMPLE = '{"hotel": {"info": {"area": "north"}, "reqt": ["phone"]}}'
_NOTHING: Mapping[str, str] = {}

_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True)
class AnnotatedGoal:
    """The goal of a dialogue of the corpus, and the sentences that it was told to the user in.

    The goal has everything that the sentences speak of, `fail_book` included.
    """

    goal: Goal
    message: tuple[str, ...]


def annotated_goals(corpus: str, fold: Fold, root: DataRoot) -> dict[str, AnnotatedGoal]:
    """Return the goals of a fold by dialogue id, as annotated, in the order of the file.

    Raises `DataError` when the `data.json` of the corpus is missing or not in that format.
    """
    layout = CORPORA[corpus]
    sources = fold_sources(root, layout.data_json, fold, layout.fold_lists)

    def build() -> dict[str, Any]:
        goals = {}
        for name, dialogue in read_fold(sources, fold).items():
            with expecting(GOAL_SHAPE, f'{sources[0]}: dialogue "{shorten(name)}"'):
                goal = dialogue["goal"]
                goals[name] = [goal_of(goal), sentences_of(goal["message"])]
        return goals

    plain = derive(f"{corpus}-{fold}-live", sources, GOALS_REVISION, build)
    return {name: AnnotatedGoal(goal, tuple(message)) for name, (goal, message) in plain.items()}


def corpus_goals(corpus: str, fold: Fold, root: DataRoot) -> dict[str, Goal]:
    """Return the goals of a fold by dialogue id, without `fail_book`, in the order of the file.

    Raises `DataError` when the `data.json` of the corpus is missing or not in that format.
    """
    annotated = annotated_goals(corpus, fold, root)
    return {
        name: without(each.goal, "fail_book", each.goal[ORDERING])
        for name, each in annotated.items()
    }


def sentences_of(message: str | Sequence[str]) -> list[str]:
    """Return the sentences that tell a goal, without the tags around values."""
    sentences = [message] if isinstance(message, str) else message
    return [_TAG.sub("", sentence).strip() for sentence in sentences]


def goal_of(annotated: Mapping[str, Any]) -> Goal:
    """Return the goal of a dialogue's `goal` annotation; `fail_book` is all that is tried first.

    Raises `ValueError` when the sentences of the goal do not name each of its domains.
    """
    parts = {
        domain: goal_part(annotated[domain]) for domain in ALL_DOMAINS if annotated.get(domain)
    }
    ordering = _in_order_of_mention(parts, annotated["message"])
    return {ORDERING: ordering, **{domain: parts[domain] for domain in ordering}}


def goal_part(annotated: Mapping[str, Any]) -> DomainGoal:
    """Return what a goal has of a domain, of what is annotated of it."""
    part: DomainGoal = {"info": dict(annotated.get("info", {}))}
    # An empty one would have the user ask for nothing at all.
    if annotated.get("fail_info"):
        part["fail_info"] = dict(annotated["fail_info"])
    if annotated.get("reqt"):
        part["reqt"] = list(annotated["reqt"])
    if annotated.get("book"):
        book = {slot: v for slot, v in annotated["book"].items() if slot not in BOOKING_FLAGS}
        part["book"] = book
        if annotated.get("fail_book"):
            # Some versions annotate the slots that differ, and no others.
            part["fail_book"] = book | annotated["fail_book"]
    return part


def _in_order_of_mention(domains: Iterable[str], message: str | Sequence[str]) -> list[str]:
    lowered = [sentence.lower() for sentence in sentences_of(message)]
    first = {}
    for domain in domains:
        names = NAMED_AS.get(domain, (domain,))
        places = (i for i, text in enumerate(lowered) if any(name in text for name in names))
        first[domain] = next(places, None)
        if first[domain] is None:
            raise ValueError(f"no sentence of the goal speaks of the {domain}")
    return sorted(first, key=lambda domain: first[domain] or 0)


def given_goal(raw: Any) -> Goal:
    """Return a goal that another program has written, with `fail_book` where it is given.

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
    parts = {domain: goal_part(_checked(domain, raw[domain])) for domain in ordering}
    return {ORDERING: list(ordering), **parts}


def _checked(domain: str, raw: Any) -> dict[str, Any]:
    _check_object(f"{domain}: ", raw, f"an object such as {EXAMPLE}")
    part = {name: _slots(f"{domain}.{name}", raw[name]) for name in VALUE_PARTS if raw.get(name)}
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
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise ValueError(f"{place}.{shorten(str(slot))}: a value is text, {found(value)}")  # noqa: TRY004
        slots[str(slot)] = str(value)
    return slots


def _check_object(place: str, raw: Any, expected: str) -> None:
    if not isinstance(raw, OBJECT):
        message = f"{place}expected {expected}, {found(raw)}"
        raise ValueError(message)  # noqa: TRY004 - the value is from a file


def satisfiable_failures(goal: Goal, database: Records) -> list[str]:
    """Return the domains whose `fail_info` finds something, in the order of the goal.

    No honest system can say that there is nothing; the user would never come to its real wish.
    """
    return [
        domain
        for domain in goal[ORDERING]
        if "fail_info" in goal[domain] and database.query(domain, goal[domain]["fail_info"].items())
    ]


def without(goal: Goal, part: str, domains: Iterable[str]) -> Goal:
    """Return the goal without a part such as `fail_info` of some domains; it shares all others."""
    kept = dict(goal)
    for domain in domains:
        kept[domain] = {name: value for name, value in goal[domain].items() if name != part}
    return kept


def begun(goal: Goal) -> Goal:
    """Return a copy for one dialogue, in which nothing is answered and nothing booked yet."""
    copy: Goal = {ORDERING: list(goal[ORDERING])}
    for domain in goal[ORDERING]:
        part = {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in goal[domain].items()
        }
        if "reqt" in part:
            part["reqt"] = dict.fromkeys(part["reqt"], UNANSWERED)
        if "book" in part:
            part["booked"] = UNANSWERED
        copy[domain] = part
    return copy


def wish_for(wanted: DomainGoal, slot: str) -> str | None:
    """Return the value that is wanted of a slot; None when the goal does not say."""
    for part in ("info", "book"):
        value = tried(wanted, part).get(slot)
        if value is not None:
            return value
    return None


def correction(wanted: DomainGoal, slot: str, said: str) -> str | None:
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


def tried(wanted: DomainGoal, part: str) -> Mapping[str, str]:
    """Return the constraints of a part (`info` or `book`) that the user is after at present."""
    constraints: Mapping[str, str] | None = wanted.get(f"fail_{part}")
    if constraints is None:
        constraints = wanted.get(part, _NOTHING)
    return constraints


def give_up_first_wish(wanted: DomainGoal, part: str) -> Mapping[str, str] | None:
    """Turn to `info` or `book` itself; return what was tried first, None when nothing was."""
    failed: Mapping[str, str] | None = wanted.pop(f"fail_{part}", None)
    if failed is not None:
        wanted[f"fail_{part}_fail"] = failed
    return failed


def violates(slot: str, said: str, wanted: str) -> bool:
    """Return whether a time is too late or too early; one that cannot be read never is."""
    try:
        (hour, minute), (last_hour, last_minute) = (
            map(int, text.split(":")) for text in (said, wanted)
        )
    except ValueError:
        return False
    at, limit = hour * 100 + minute, last_hour * 100 + last_minute
    return limit < at if slot == "arriveBy" else limit > at


def places_before_taxi(goal: Goal) -> list[str]:
    """Return the domains between which a taxi may go, in the order of the goal."""
    domains: list[str] = goal[ORDERING]
    return [domain for domain in domains[: domains.index("taxi")] if domain in PLACE_DOMAINS]


def place_for(goal: Goal, slot: str) -> str | None:
    """Return where a taxi goes: from the last but one of the places before it to the last."""
    back = {"destination": 1, "departure": 2}.get(slot)
    places = places_before_taxi(goal)
    if back is None or len(places) < back:
        return None
    place = places[-back]
    name: str = goal[place].get("info", _NOTHING).get("name", NONE)
    return f"the {place}" if name in UNANSWERED_VALUES else name


def missing_part(wanted: DomainGoal) -> tuple[str, Mapping[str, str]] | None:
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


def is_complete(goal: Goal) -> bool:
    """Return whether a user has got an answer to everything and was told of every booking."""
    return all(missing_part(goal[domain]) is None for domain in goal[ORDERING])
