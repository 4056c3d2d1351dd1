"""Goals of live dialogues: their selection, and functions that read goals and find their unfinished
parts.

A goal is a nested dictionary: `domain_ordering`, and for each domain `info` (slot → value), `reqt`
(slots to ask for) and `book` (slot → value). If the user should first ask for something
unavailable, the domain also has `fail_info` or `fail_book`. `fail_info` or `fail_book` replaces
`info` or `book` as long as the user's copy of the goal has it. Sources: the `goal` annotation of
Budzianowski et al., EMNLP 2018; its interpretation by Zhu et al., "ConvLab-2", ACL 2020 (system
demonstrations).

The goals of a live run are selected by a text: `corpus`, `corpus-raw:dev`, `sampled:500`.
`corpus[:FOLD][:CHOICE]` selects the goals of a fold (test, dev, train). A `fail_info` that matches
records in the database is removed, because a correct system would not report a failure. If the text
begins with `corpus-raw`, `fail_info` is not removed. CHOICE is the number of goals from the
beginning of the fold, or ids separated by commas. CHOICE is part of the text that selects goals, so
that the name of a run's goals includes the choice.

`sampled:N` draws N goals from a model that has the frequencies of domain combinations, of slot
combinations, and of values in the train fold. Source: the published goal model of Zhu et al. The
model is published as a pickle. Because unpickling can run any code, this module only allows plain
containers; JSON with the same content is also accepted. For the sample corpus, a model is estimated
from the goals of the sample.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Protocol

from mwzeval.errors import DataError, UsageError, did_you_mean, shorten
from mwzeval.files.cache import derive
from mwzeval.files.downloads import DataRoot
from mwzeval.files.reading import data_bytes, expecting, read_data
from mwzeval.multiwoz import FOLDS, SAMPLE, Fold, known_name
from mwzeval.multiwoz.acts import INFORM, NONE, REQUEST
from mwzeval.multiwoz.annotations import BOOKING_FLAGS, dialogue_id
from mwzeval.multiwoz.corpus import CORPORA, fold_sources, read_fold
from mwzeval.multiwoz.schema import (
    ALL_DOMAINS,
    BOOKING_SLOTS,
    DAYS,
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


# The goals of a run

CORPUS, RAW, SAMPLED = "corpus", "corpus-raw", "sampled"
MOST_SAMPLED = 1_000_000
USE = (
    "corpus[:FOLD][:NUMBER or IDS], corpus-raw (the same as annotated), sampled:NUMBER, up to "
    f"{MOST_SAMPLED:,}"
)
"""The possible sources of goals, for messages."""
_SOURCE = re.compile(
    rf"(?P<kind>{CORPUS}|{RAW})(?::(?P<fold>{'|'.join(FOLDS)}))?"
    r"(?::(?:(?P<first>[0-9]{1,7})|(?P<ids>(?!-*\d+$)[^:]+)))?"
    rf"|{SAMPLED}:(?P<drawn>[0-9]{{1,7}})"
)


@dataclass(frozen=True, slots=True)
class GoalSource:
    """The selected goals of a fold: the first `number` goals (None: all) or those with `ids`."""

    kind: str
    fold: Fold = "test"
    number: int | None = None
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.kind == SAMPLED:
            return f"{SAMPLED}:{self.number}"
        choice = ",".join(self.ids) or self.number
        return f"{self.kind}:{self.fold}" + ("" if choice is None else f":{choice}")


@dataclass(frozen=True, slots=True)
class RunGoals:
    """The goals of a run by id, in the order of the run.

    If a goal agrees exactly with the sentences in the corpus, `messages` has these sentences. `sha`
    is a checksum of the ids and goals, with 8 hexadecimal digits.
    """

    source: str
    goals: Mapping[str, Goal]
    messages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def sha(self) -> str:
        """A checksum of the ids and goals."""
        text = json.dumps(list(self.goals.items()), separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def parse_goal_source(text: str) -> GoalSource:
    """Parse the text that selects the goals of a run. Raises `UsageError` for an invalid text."""
    match = _SOURCE.fullmatch(text)
    number = int(match["first"] or match["drawn"] or 1) if match else 0
    if not match or not 1 <= number <= MOST_SAMPLED:
        kind = text.partition(":")[0]
        kinds = (CORPUS, RAW, SAMPLED)
        hint = "" if kind in kinds else did_you_mean(kind, kinds)
        raise UsageError(f'goals "{shorten(text)}" are not valid{hint} (use: {USE})')
    if match["drawn"]:
        return GoalSource(SAMPLED, number=number)
    fold = known_name("fold", match["fold"] or "test", FOLDS)
    names = (name.strip() for name in (match["ids"] or "").split(","))
    ids = dict.fromkeys(dialogue_id(name) for name in names if name)
    return GoalSource(match["kind"], fold, number if match["first"] else None, tuple(ids))


def select_goals(
    source: str | GoalSource,
    *,
    corpus: str,
    root: DataRoot,
    database: Records,
    seed: int = 0,
    refused_bookings: bool = False,
    goal_model: str | Path | None = None,
) -> RunGoals:
    """Return the selected goals of a corpus with its files in `root`.

    `seed` and `goal_model` (a file; default: the published model in `root`) are used for sampled
    goals; for the sample corpus, the model is estimated from the sample. With `refused_bookings`,
    goals include the annotated `fail_book`. Raises `UsageError` if a goal is unknown, and
    `DataError` if a file is missing or invalid.
    """
    asked = parse_goal_source(source) if isinstance(source, str) else source
    if asked.kind == SAMPLED:
        if goal_model is None and corpus == SAMPLE:
            folds = (annotated_goals(corpus, fold, root).values() for fold in FOLDS)
            place = "the goals of the sample"
            plain = estimated_model(known.goal for known in chain.from_iterable(folds))
        else:
            path = root.require(*PLACES) if goal_model is None else Path(goal_model)
            place, plain = str(path), read_goal_model(path)
        number = asked.number or 0
        with expecting("the domains, slots and values of the published goal model", place):
            model = GoalModel(plain, database)
            drawn = {
                f"{SAMPLED}-{n:0{max(4, len(str(number)))}}": model.sample(
                    Random(f"{seed}/goal/{n}")
                )
                for n in range(1, number + 1)
            }
            return RunGoals(str(asked), drawn)
    if goal_model is not None:
        raise UsageError(
            f"--goal-model only applies to sampled goals, such as --goals {SAMPLED}:100"
        )
    annotated = annotated_goals(corpus, asked.fold, root)
    goals, messages = {}, {}
    for name in chosen_names(asked, list(annotated)):
        goal = whole = annotated[name].goal
        if asked.kind == CORPUS:
            goal = without(goal, "fail_info", satisfiable_failures(goal, database))
        if not refused_bookings:
            goal = without(goal, "fail_book", goal[ORDERING])
        goals[name] = goal
        if goal == whole:
            messages[name] = annotated[name].message
    return RunGoals(str(asked), goals, messages)


def chosen_names(asked: GoalSource, names: list[str]) -> list[str]:
    """Return the selected dialogue names of a fold. Raises `UsageError` if a name is unknown."""
    for name in asked.ids:
        if name not in names:
            hint = did_you_mean(name, names)
            raise UsageError(f'there is no dialogue "{shorten(name)}" in {asked.fold}{hint}')
    if asked.number is not None and asked.number > len(names):
        raise UsageError(
            f"{asked}: there are {len(names):,} goals in {asked.fold}, not {asked.number:,}"
        )
    return list(asked.ids) or names[: asked.number]


# Sampled goals

TRIES = 100
"""The maximum number of alternatives that are tried if no record satisfies the constraints."""
TOWN = "cambridge"
PLACES = (
    "convlab2/new_goal_model.pkl",
    "goal_model.json",
    "../live/goal_model.json",
    "../live/convlab2/new_goal_model.pkl",
)
"""Locations in a data root, or in a folder `live` next to it. Only the first of these files can be
downloaded."""
PARTS = (
    "slot_probability",
    "value_distribution",
    "domain_orderings",
    "book_probability",
    "slot_counts",
    "slot_combinations",
)
"""The parts of the published model, in the order of its pickle. `slot_counts` is not used."""
LARGEST_WEIGHT = 1e100
"""The maximum weight; sums of larger weights might not be finite."""


def _draw(weights: Mapping[str, float], rng: Random) -> str:
    """Draw a value; the weights are relative probabilities."""
    return rng.choices(list(weights), list(weights.values()))[0]


class GoalModel:
    """Draws goals that the database can satisfy.

    `plain` is the content of the published model in JSON form. `domain_orderings` maps combinations
    of domains, joined by `|`, to probabilities. `slot_combinations`, `slot_probability`,
    `value_distribution` and `book_probability` have values for each domain.
    """

    def __init__(self, plain: Mapping[str, Any], database: Records) -> None:
        self._orderings = {
            names: share for names, share in plain["domain_orderings"].items() if names
        }
        self._combinations = plain["slot_combinations"]
        self._probabilities = plain["slot_probability"]
        self._values = plain["value_distribution"]
        self._bookings = plain["book_probability"]
        self._database = database
        self._trains = database.query("train", ())

    def sample(self, rng: Random) -> Goal:
        """Draw a goal with the generator `rng`."""
        domains = _draw(self._orderings, rng).split("|")
        goal: Goal = {ORDERING: domains}
        for domain in domains:
            part = None
            while part is None:
                part = self._part(domain, rng)
            goal[domain] = part
        self._relate(goal, rng)
        return goal

    def _part(self, domain: str, rng: Random) -> DomainGoal | None:
        """Return one domain of a goal; None if it is unsatisfiable or has no request or booking."""
        info = {} if domain == "police" else self._info(domain, rng)
        if not info and domain != "police":
            return None
        part: DomainGoal = {"info": info}
        probabilities = self._probabilities[domain]
        reqt = [
            slot
            for slot, share in probabilities.get("reqt", {}).items()
            if rng.random() < share and slot not in info
        ]
        if reqt:
            part["reqt"] = reqt
        if rng.random() < self._bookings[domain]:
            slots = [
                s for s, share in probabilities.get("book", {}).items() if rng.random() < share
            ]
            slots += [s for s in reversed(BOOKING_SLOTS.get(domain, ())) if s not in slots]
            values = self._values[domain]["book"]
            part["book"] = {slot: _draw(values[slot], rng) for slot in slots}
        if not self._database.query(domain, info.items()):
            other = self._satisfiable(domain, info, rng)
            if other is None:
                return None
            part["info"] = other
            if domain != "train":
                part["fail_info"] = info
        return part if "reqt" in part or "book" in part else None

    def _info(self, domain: str, rng: Random) -> dict[str, str]:
        values = self._values[domain]["info"]
        slots = [slot for slot in _draw(self._combinations[domain]["info"], rng).split("|") if slot]
        if "name" in slots and len(slots) > 1:
            alone = rng.random() < self._probabilities[domain]["info"]["name"]
            slots = [slot for slot in slots if (slot == "name") == alone]
        info = {slot: _draw(values[slot], rng) for slot in slots}
        if domain in ("taxi", "train"):
            times = [slot for slot in ("leaveAt", "arriveBy") if slot in info]
            if len(times) != 1:  # a goal has exactly one of the two slots
                slot, other = self._either(domain, "leaveAt", "arriveBy", rng)
                if times:
                    del info[other]
                else:
                    info[slot] = _draw(values[slot], rng)
        if domain == "train":
            train = rng.choice(self._trains)
            info |= {"departure": train["departure"], "destination": train["destination"]}
        if domain == "taxi":
            for slot in ("departure", "destination"):
                if slot not in info:
                    info[slot] = _draw(values[slot], rng)
            if info["departure"] == info["destination"]:
                slot, _ = self._either(domain, "departure", "destination", rng)
                info[slot] = _draw(values[slot], rng)
        return info

    def _either(self, domain: str, slot: str, other: str, rng: Random) -> tuple[str, str]:
        """Return two mutually exclusive slots, the drawn slot first."""
        shares = self._probabilities[domain]["info"]
        is_first = rng.random() < shares[slot] / (shares[slot] + shares[other])
        return (slot, other) if is_first else (other, slot)

    def _satisfiable(self, domain: str, info: dict[str, str], rng: Random) -> dict[str, str] | None:
        """Return constraints that differ in one slot and match a record; None if there are none."""
        for _ in range(TRIES):
            slot = rng.choice(list(info))
            other = info | {slot: rng.choice(list(self._values[domain]["info"][slot]))}
            if self._database.query(domain, other.items()):
                return other
        return None

    def _relate(self, goal: Goal, rng: Random) -> None:
        """Make the domains of a goal consistent."""
        domains = goal[ORDERING]
        places = [domain for domain in domains if domain in PLACE_DOMAINS]
        if "taxi" in domains and places:
            _taxi_between(goal, places)
        if {"attraction", "restaurant"} <= goal.keys():
            self._same_area(goal, rng)
        restaurant, hotel = (goal.get(domain, {}).get("book") for domain in ("restaurant", "hotel"))
        if restaurant and hotel:
            if rng.random() < 0.5:
                restaurant["people"] = hotel["people"]
            restaurant["day"] = hotel["day"]
        if hotel and "train" in goal:
            # The train arrives on the first day of the stay, or leaves on the last.
            train = goal["train"]["info"]
            if train["destination"] == TOWN:
                train["day"] = hotel["day"]
            elif train["departure"] == TOWN:
                last = DAYS.index(hotel["day"]) + int(hotel["stay"])
                train["day"] = DAYS[last % len(DAYS)]

    def _same_area(self, goal: Goal, rng: Random) -> None:
        order = goal[ORDERING]
        attraction, restaurant = goal["attraction"], goal["restaurant"]
        if (
            order.index("restaurant") > order.index("attraction")
            and "area" in attraction["info"]
            and "area" in restaurant["info"]
            and "fail_info" not in restaurant
        ):
            info = restaurant["info"] | {"area": attraction["info"]["area"]}
            if self._database.query("restaurant", info.items()) and rng.random() < 0.5:
                restaurant["info"] = info


def _taxi_between(goal: Goal, places: list[str]) -> None:
    taxi = goal["taxi"]["info"]
    del taxi["destination"]
    if len(places) > 1:
        del taxi["departure"]
    last = goal[places[-1]]
    if places[-1] == "restaurant" and "book" in last:
        taxi.pop("leaveAt", None)
        taxi["arriveBy"] = last["book"]["time"]


def read_goal_model(path: Path) -> dict[str, Any]:
    """Read the goal model in a JSON file or in the published pickle (`*.pkl`), and return its
    parts.

    In keys, combinations of slots or domains are joined by `|`. Raises `DataError` if the file
    cannot be read, has forbidden classes, or has missing parts.
    """
    if path.suffix == ".pkl":
        try:
            parts = _PlainUnpickler(io.BytesIO(data_bytes(path))).load()
            model: Any = {name: _plain(part) for name, part in zip(PARTS, parts, strict=True)}
        except DataError:
            raise
        except Exception as error:  # a damaged pickle can raise anything
            raise DataError(
                f"{path} is not the published goal model, a pickle of the parts {', '.join(PARTS)}"
            ) from error
    else:
        model = read_data(path)
    if not isinstance(model, dict):
        raise DataError(f"{path}: a goal model is an object with {', '.join(PARTS)}")
    for name in PARTS:
        if name != "slot_counts" and not isinstance(model.get(name), Mapping):
            raise DataError(f"{path}: the goal model has no {name}")
        _check_weights(model.get(name, {}), f"{path}: {name}")
    return model


def _check_weights(part: Any, place: str) -> None:
    if isinstance(part, Mapping):
        for key, value in part.items():
            _check_weights(value, f"{place}, {shorten(str(key))}")
    elif type(part) not in (int, float) or not 0 <= part <= LARGEST_WEIGHT:
        raise DataError(f"{place}: expected a number from 0, a probability or a count")


class _PlainUnpickler(pickle.Unpickler):
    """Creates only containers, strings and numbers; a `Counter` becomes a dictionary."""

    def find_class(self, module: str, name: str) -> type:
        """Return the class of an object in the pickle. Raises an error unless it is `Counter`."""
        if (module, name) == ("collections", "Counter"):
            return dict
        raise DataError(f"objects of {module}.{name} do not belong in a goal model")


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {
            "|".join(key) if isinstance(key, tuple) else str(key): _plain(inner)
            for key, inner in value.items()
        }
    return value


def estimated_model(goals: Iterable[Goal]) -> dict[str, Any]:
    """Estimate a goal model, in the form that `GoalModel` reads, from the frequencies in goals.

    In the estimated model, the booking probability of a domain is relative to the goals with this
    domain, unlike in the published model. Values that occur in no goal are never drawn.
    """
    goals = list(goals)
    parts: dict[str, list[DomainGoal]] = {}
    for goal in goals:
        for domain in goal[ORDERING]:
            parts.setdefault(domain, []).append(goal[domain])
    model: dict[str, Any] = {name: {} for name in PARTS if name != "slot_counts"}
    model["domain_orderings"] = _shares(("|".join(goal[ORDERING]) for goal in goals), len(goals))
    for domain, its in parts.items():
        combinations = Counter("|".join(sorted(part["info"])) for part in its)
        model["slot_combinations"][domain] = {"info": dict(combinations)}
        model["slot_probability"][domain] = {
            name: _shares((slot for part in its for slot in part.get(name, ())), len(its))
            for name in ("info", "reqt", "book")
        }
        values: dict[str, dict[str, Counter[str]]] = {"info": {}, "book": {}}
        for part in its:
            for name, of_slot in values.items():
                for slot, value in part.get(name, {}).items():
                    of_slot.setdefault(slot, Counter())[value] += 1
        model["value_distribution"][domain] = values
        model["book_probability"][domain] = sum("book" in part for part in its) / len(its)
    return model


def _shares(names: Iterable[str], whole: int) -> dict[str, float]:
    return {name: count / whole for name, count in Counter(names).items()}
