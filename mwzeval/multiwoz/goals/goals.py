"""What the users of live dialogues want: the goals of a corpus' fold, in the simulator's form.

A goal is a nested dictionary: `domain_ordering`, and for each domain `info` (slot → value), `reqt`
(slots to ask for), `book` (slot → value), and, where the user first asks for what is not there,
`fail_info` and `fail_book`. Sources: the `goal` annotation of Budzianowski et al., EMNLP 2018; its
reading by Zhu et al., "ConvLab-2", ACL 2020 (system demonstrations).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mwzeval.errors import shorten
from mwzeval.files.cache import derive
from mwzeval.files.downloads import DataRoot
from mwzeval.files.json_files import expecting
from mwzeval.multiwoz.choices import Fold
from mwzeval.multiwoz.corpus.annotations import fold_sources, read_fold
from mwzeval.multiwoz.corpus.corpora import CORPORA
from mwzeval.multiwoz.corpus.gold import BOOKING_FLAGS
from mwzeval.multiwoz.schema import ALL_DOMAINS, UNANSWERED

Goal = dict[str, Any]
"""A goal in the form above; `begun` makes the copy that a user writes its answers into."""

Record = Mapping[str, Any]
"""A record of the database."""


class Records(Protocol):
    """What answers queries on the database."""

    def query(self, domain: str, constraints: Iterable[tuple[str, str]], /) -> Sequence[Record]:
        """Return the records of a domain that satisfy all constraints."""


ORDERING = "domain_ordering"

NAMED_AS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("restaurant", "place to dine", "somewhere to eat"),
    "hotel": ("hotel", "place to stay", "somewhere to stay"),
    "attraction": ("attraction", "places to go", "something to visit"),
    "police": ("police", "help"),
}
"""How sentences of MultiWOZ and of the sample speak of a domain; of the others, by their names."""

GOALS_REVISION = 2
GOAL_SHAPE = 'an object with "goal", the wishes by domain, and its "message", a list of sentences'
"""Raised when the same annotation becomes other goals."""

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
                goals[name] = [goal_of(goal, refused_bookings=True), sentences_of(goal["message"])]
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


def goal_of(annotated: Mapping[str, Any], *, refused_bookings: bool = False) -> Goal:
    """Return the goal of a dialogue's `goal` annotation.

    With `refused_bookings`, `fail_book` is the whole booking that is tried first; otherwise there
    is none, because only a database that refuses bookings can make it fail.
    Raises `ValueError` when the sentences of the goal do not name each of its domains.
    """
    parts = {
        domain: goal_part(annotated[domain], refused_bookings)
        for domain in ALL_DOMAINS
        if annotated.get(domain)
    }
    ordering = _in_order_of_mention(parts, annotated["message"])
    return {ORDERING: ordering, **{domain: parts[domain] for domain in ordering}}


def goal_part(annotated: Mapping[str, Any], refused_bookings: bool) -> dict[str, Any]:
    """Return what a goal has of a domain, of what is annotated of it (see `goal_of`)."""
    part: dict[str, Any] = {"info": dict(annotated.get("info", {}))}
    # An empty one would have the user ask for nothing at all.
    if annotated.get("fail_info"):
        part["fail_info"] = dict(annotated["fail_info"])
    if annotated.get("reqt"):
        part["reqt"] = list(annotated["reqt"])
    if annotated.get("book"):
        book = {slot: v for slot, v in annotated["book"].items() if slot not in BOOKING_FLAGS}
        part["book"] = book
        if refused_bookings and annotated.get("fail_book"):
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
