"""Goals drawn from a model of the corpus' goals, one after the other, as many as are wanted.

The model is estimated on the train fold: how often domains come together, which slots are asked
together, and which values they have. Source: Zhu et al., "ConvLab-2", ACL 2020 (system
demonstrations), whose published goal model is read. It is published as a pickle. Unpickling can run
any code, so nothing but plain containers is made here; the same content as JSON is read as well.
For a corpus without a published model one is estimated from its goals.
"""

from __future__ import annotations

import io
import pickle
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

from mwzeval.errors import DataError, shorten
from mwzeval.files.reading import data_bytes, parse_data
from mwzeval.multiwoz.goals.goal import ORDERING, DomainGoal, Goal, Records
from mwzeval.multiwoz.schema import BOOKING_SLOTS, DAYS, PLACE_DOMAINS

TRIES = 100
"""How many other wishes are tried where nothing satisfies the first."""
TRAVEL = frozenset({"taxi", "train"})
TOWN = "cambridge"

PLACES = (
    "convlab2/new_goal_model.pkl",
    "goal_model.json",
    "../live/goal_model.json",
    "../live/convlab2/new_goal_model.pkl",
)
"""Places in a data root, or in a folder `live` beside it. Only the first is downloaded."""
PARTS = (
    "slot_probability",
    "value_distribution",
    "domain_orderings",
    "book_probability",
    "slot_counts",
    "slot_combinations",
)
"""The parts of the published model, in the order of its pickle."""
LARGEST_WEIGHT = 1e100
"""Sums of larger weights would not be finite."""
UNUSED = "slot_counts"
"""A part that nothing is drawn by."""


class Distribution:
    """Values, and how likely each is in comparison with the others."""

    __slots__ = ("_cumulative", "values")

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.values = tuple(weights)
        self._cumulative = tuple(accumulate(weights.values()))

    def draw(self, rng: Random) -> str:
        """Return a value, each as likely as its weight says."""
        return rng.choices(self.values, cum_weights=self._cumulative)[0]


class DomainModel:
    """What users want of one domain."""

    def __init__(self, domain: str, plain: Mapping[str, Any]) -> None:
        probability = plain["slot_probability"][domain]
        self.info_probability: Mapping[str, float] = probability.get("info", {})
        self.reqt_probability: Mapping[str, float] = probability.get("reqt", {})
        self.slot_probability: Mapping[str, float] = probability.get("book", {})
        self.book_probability: float = plain["book_probability"][domain]
        self.combinations = Distribution(plain["slot_combinations"][domain]["info"])
        values = plain["value_distribution"][domain]
        self.info_values = _distributions(values.get("info", {}))
        self.book_values = _distributions(values.get("book", {}))

    def chance(self, slot: str, other: str) -> float:
        """Return how likely one slot is, of two that exclude one another."""
        shares = self.info_probability
        return shares[slot] / (shares[slot] + shares[other])


def _distributions(values: Mapping[str, Mapping[str, float]]) -> dict[str, Distribution]:
    return {slot: Distribution(weights) for slot, weights in values.items()}


class GoalModel:
    """Draws goals that the database can satisfy.

    `plain` is the published model as JSON: `domain_orderings` (domains joined by `|` →
    probability), and by domain `slot_combinations`, `slot_probability`, `value_distribution` and
    `book_probability`. Raises `KeyError` when a part is missing.
    """

    def __init__(self, plain: Mapping[str, Any], database: Records) -> None:
        orderings = {names: share for names, share in plain["domain_orderings"].items() if names}
        self._orderings = Distribution(orderings)
        named = {domain for names in orderings for domain in names.split("|")}
        self._domains = {domain: DomainModel(domain, plain) for domain in named}
        self._database = database
        self._trains = database.query("train", ())

    def sample(self, rng: Random) -> Goal:
        """Return a goal."""
        domains = self._orderings.draw(rng).split("|")
        goal: Goal = {ORDERING: domains}
        for domain in domains:
            part = None
            while part is None:
                part = self._part(domain, rng)
            goal[domain] = part
        self._relate(goal, rng)
        return goal

    def _part(self, domain: str, rng: Random) -> DomainGoal | None:
        """Return one domain of a goal; None when it cannot be had or asks for nothing."""
        model = self._domains[domain]
        info = {} if domain == "police" else self._info(domain, rng)
        if not info and domain != "police":
            return None
        part: DomainGoal = {"info": info}
        reqt = [
            slot
            for slot, share in model.reqt_probability.items()
            if rng.random() < share and slot not in info
        ]
        if reqt:
            part["reqt"] = reqt
        if rng.random() < model.book_probability:
            slots = [slot for slot, p in model.slot_probability.items() if rng.random() < p]
            slots += [s for s in reversed(BOOKING_SLOTS.get(domain, ())) if s not in slots]
            part["book"] = {slot: model.book_values[slot].draw(rng) for slot in slots}
        if not self._database.query(domain, info.items()):
            other = self._satisfiable(domain, info, rng)
            if other is None:
                return None
            part["info"] = other
            if domain != "train":
                part["fail_info"] = info
        return part if "reqt" in part or "book" in part else None

    def _info(self, domain: str, rng: Random) -> dict[str, str]:
        model = self._domains[domain]
        slots = [slot for slot in model.combinations.draw(rng).split("|") if slot]
        if "name" in slots and len(slots) > 1:
            alone = rng.random() < model.info_probability["name"]
            slots = [slot for slot in slots if (slot == "name") == alone]
        info = {slot: model.info_values[slot].draw(rng) for slot in slots}
        if domain in TRAVEL:
            with_one_time(info, model, rng)
        if domain == "train":
            train = rng.choice(self._trains)
            info |= {"departure": train["departure"], "destination": train["destination"]}
        if domain == "taxi":
            _with_both_ends(info, model, rng)
        return info

    def _satisfiable(self, domain: str, info: dict[str, str], rng: Random) -> dict[str, str] | None:
        """Return a wish that differs in one slot and finds something; None when none was found."""
        values = self._domains[domain].info_values
        for _ in range(TRIES):
            slot = rng.choice(list(info))
            other = info | {slot: rng.choice(values[slot].values)}
            if self._database.query(domain, other.items()):
                return other
        return None

    def _relate(self, goal: Goal, rng: Random) -> None:
        """Make the domains of a goal fit one another."""
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
            _train_of_the_stay(goal["train"]["info"], hotel)

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


def with_one_time(info: dict[str, str], model: DomainModel, rng: Random) -> None:
    """Leave one of `leaveAt` and `arriveBy` in what a journey is to be, or draw one."""
    times = [slot for slot in ("leaveAt", "arriveBy") if slot in info]
    if len(times) == 1:
        return
    leaves = rng.random() < model.chance("leaveAt", "arriveBy")
    if times:
        del info["arriveBy" if leaves else "leaveAt"]
    else:
        slot = "leaveAt" if leaves else "arriveBy"
        info[slot] = model.info_values[slot].draw(rng)


def _with_both_ends(info: dict[str, str], model: DomainModel, rng: Random) -> None:
    for slot in ("departure", "destination"):
        if slot not in info:
            info[slot] = model.info_values[slot].draw(rng)
    if info["departure"] == info["destination"]:
        departs = rng.random() < model.chance("departure", "destination")
        slot = "departure" if departs else "destination"
        info[slot] = model.info_values[slot].draw(rng)


def _taxi_between(goal: Goal, places: list[str]) -> None:
    taxi = goal["taxi"]["info"]
    del taxi["destination"]
    if len(places) > 1:
        del taxi["departure"]
    last = goal[places[-1]]
    if places[-1] == "restaurant" and "book" in last:
        taxi.pop("leaveAt", None)
        taxi["arriveBy"] = last["book"]["time"]


def _train_of_the_stay(train: dict[str, str], hotel: Mapping[str, str]) -> None:
    """Let the train arrive on the first day, or leave on the last, of a stay at a hotel."""
    if train["destination"] == TOWN:
        train["day"] = hotel["day"]
    elif train["departure"] == TOWN:
        train["day"] = DAYS[(DAYS.index(hotel["day"]) + int(hotel["stay"])) % len(DAYS)]


def read_goal_model(path: Path) -> dict[str, Any]:
    """Return the goal model of a JSON file or of the published pickle (`*.pkl`), by part.

    Keys that are combinations of slots or domains are joined by `|`. Raises `DataError` when the
    file cannot be read, has objects of other classes in it, or lacks a part.
    """
    if path.suffix != ".pkl":
        model: Any = parse_data(data_bytes(path), path)
        if not isinstance(model, dict):
            raise DataError(f"{path}: a goal model is an object with {', '.join(PARTS)}")
    else:
        model = _unpickled(path)
    needed = (part for part in PARTS if part != UNUSED)
    missing = [part for part in needed if not isinstance(model.get(part), Mapping)]
    if missing:
        raise DataError(f"{path}: the goal model has no {', '.join(missing)}")
    for name in PARTS:
        _check_numbers(model.get(name, {}), f"{path}: {name}")
    return dict(model)


def _check_numbers(part: Any, place: str) -> None:
    """Raise `DataError` unless everything in a part is a number that can be a weight."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            _check_numbers(value, f"{place}, {shorten(str(key))}")
    elif type(part) not in (int, float) or not 0 <= part <= LARGEST_WEIGHT:
        raise DataError(f"{place}: expected a number from 0, a probability or a count")


def _unpickled(path: Path) -> dict[str, Any]:
    try:
        parts = _PlainUnpickler(io.BytesIO(data_bytes(path))).load()
        return {name: _plain(part) for name, part in zip(PARTS, parts, strict=True)}
    except DataError:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        parts_expected = ", ".join(PARTS)
        raise DataError(
            f"{path} is not the published goal model, a pickle of the parts {parts_expected}"
        ) from error


class _PlainUnpickler(pickle.Unpickler):
    """Makes containers, texts and numbers, and nothing else; a `Counter` becomes a dict."""

    def find_class(self, module: str, name: str) -> type:
        """Return the class of an object in the pickle. Raises for all but one."""
        if (module, name) == ("collections", "Counter"):
            return dict
        raise DataError(f"objects of {module}.{name} do not belong in a goal model")


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): _plain(of_key) for key, of_key in value.items()}
    return value


def _key(key: object) -> str:
    return "|".join(key) if isinstance(key, tuple) else str(key)


def estimated_model(goals: Iterable[Goal]) -> dict[str, Any]:
    """Return a goal model in the form that `GoalModel` reads, as frequent as in the goals.

    Unlike in the published model, how often a domain is booked is told of the goals with the
    domain. Nothing is drawn that no goal has.
    """
    goals = list(goals)
    parts: dict[str, list[DomainGoal]] = {}
    for goal in goals:
        for domain in goal[ORDERING]:
            parts.setdefault(domain, []).append(goal[domain])
    by_domain = parts.items()
    return {
        "domain_orderings": _shares(("|".join(goal[ORDERING]) for goal in goals), len(goals)),
        "slot_combinations": {
            domain: {"info": dict(Counter("|".join(sorted(part["info"])) for part in its))}
            for domain, its in by_domain
        },
        "slot_probability": {
            domain: {
                name: _shares((slot for part in its for slot in part.get(name, ())), len(its))
                for name in ("info", "reqt", "book")
            }
            for domain, its in by_domain
        },
        "value_distribution": {
            domain: {name: _values(its, name) for name in ("info", "book")}
            for domain, its in by_domain
        },
        "book_probability": {
            domain: sum("book" in part for part in its) / len(its) for domain, its in by_domain
        },
    }


def _shares(names: Iterable[str], whole: int) -> dict[str, float]:
    return {name: count / whole for name, count in Counter(names).items()}


def _values(parts: Sequence[DomainGoal], name: str) -> dict[str, dict[str, int]]:
    values: dict[str, dict[str, int]] = {}
    for part in parts:
        for slot, value in part.get(name, {}).items():
            counts = values.setdefault(slot, {})
            counts[value] = counts.get(value, 0) + 1
    return values
