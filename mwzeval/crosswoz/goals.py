"""The goal generator of CrossWOZ: sub-goals for venues, nearby venues and trips between them.

Source: Zhu et al., TACL 2020, section 3.2. Where the paper and its public code differ (traffic, the
source of nearby venues, the number of constraints), this module follows the code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mwzeval.crosswoz.corpus.acts import SERVICE_PREFIX
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal, SemanticTuple, Value
from mwzeval.crosswoz.corpus.names import (
    ADDRESS,
    ATTRACTION,
    COST,
    DEPARTURE,
    DESTINATION,
    DISHES,
    DURATION,
    HOTEL,
    HOTEL_TYPE,
    LIST_SLOTS,
    NAME,
    NEARBY,
    OPEN_HOURS,
    PHONE,
    PRICE,
    RATING,
    RESTAURANT,
    SERVICES,
    TICKET,
    TRAFFIC_DOMAINS,
    VENUE_DOMAINS,
    YES,
)
from mwzeval.crosswoz.corpus.ontology import REQUESTABLE
from mwzeval.crosswoz.protocols import Rng
from mwzeval.errors import DataError

MOST_SUBGOALS = 5
VENUE_CHANCE = 0.8
NAME_CHANCE = 0.1
SECOND_DISH_CHANCE = 0.15
TRAFFIC_CHANCE = 0.3
BOTH_TRAFFIC_CHANCE = 0.1
NEARBY_CHANCE = {
    HOTEL: {HOTEL: 0.0, ATTRACTION: 0.45, RESTAURANT: 0.45},
    ATTRACTION: {HOTEL: 0.3, ATTRACTION: 0.3, RESTAURANT: 0.3},
    RESTAURANT: {HOTEL: 0.3, ATTRACTION: 0.3, RESTAURANT: 0.3},
}
"""For each domain, the probability that a nearby venue of another domain becomes a sub-goal."""
CONSTRAINED = {
    ATTRACTION: (TICKET, DURATION, RATING),
    RESTAURANT: (DISHES, COST, RATING),
    HOTEL: (HOTEL_TYPE, SERVICES, PRICE, RATING),
}
CONSTRAINTS = (1, 2, 3), (20, 60, 20)
_NEARBY = tuple(NEARBY.values())
REQUESTED = {
    ATTRACTION: (ADDRESS, PHONE, TICKET, DURATION, RATING, *_NEARBY),
    RESTAURANT: (ADDRESS, PHONE, OPEN_HOURS, DISHES, COST, RATING, *_NEARBY),
    HOTEL: (SERVICES, HOTEL_TYPE, ADDRESS, PHONE, PRICE, RATING, *_NEARBY[:2]),
}
REQUESTS = (1, 2), (30, 70)
FIXED_VALUES = {
    RATING: {"4分以上": 2, "4.5分以上": 6, "5分": 2},
    TICKET: {
        **{"免费": 10, "不免费": 1, "20元以下": 2, "20-50元": 4, "50-100元": 3},
        **{"100-150元": 3, "150-200元": 3, "200元以上": 2},
    },
    COST: {
        **{"50元以下": 1, "50-100元": 15, "100-150元": 15, "150-500元": 5},
        **{"500-1000元": 2, "1000元以上": 1},
    },
}
"""For slots whose values are not from the database, the possible values and their weights."""
HOTEL_BANDS = tuple(range(100, 1000, 100))
HIGHEST_PRICE = 1000
SERVICE_COUNTS = (1, 2)
WIFI = "wifi"


@dataclass(slots=True, eq=False)
class SubGoal:
    """A sub-goal under construction.

    The venue of the sub-goal is near the venue of `source`; `ends` are the sub-goals at both ends
    of a trip.
    """

    domain: str
    constraints: dict[str, Value] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    source: SubGoal | None = None
    ends: tuple[SubGoal, SubGoal] | None = None


class GoalGenerator:
    """Generates goals with values of a database.

    Raises `DataError` with a list of all missing data if the database is incomplete.
    """

    def __init__(self, database: Database) -> None:
        def values(domain: str, slot: str) -> list[Any]:
            found = (entity.record.get(slot) for entity in database.entities(domain))
            return [value for value in found if value is not None]

        dishes, prices = values(RESTAURANT, DISHES), values(HOTEL, PRICE)
        self._database = database
        self._weights: dict[str, Mapping[str, float]] = {
            **FIXED_VALUES,
            DURATION: Counter(values(ATTRACTION, DURATION)),
            HOTEL_TYPE: Counter(values(HOTEL, HOTEL_TYPE)),
            PRICE: {
                **{
                    f"{low}-{low + 100}元": sum(low <= price <= low + 100 for price in prices)
                    for low in HOTEL_BANDS
                },
                f"{HIGHEST_PRICE}元以上": sum(price > HIGHEST_PRICE for price in prices),
            },
        }
        self._services: Mapping[str, float] = Counter(
            item for items in values(HOTEL, SERVICES) for item in items if item.strip()
        )
        counts = Counter(dish for together in dishes for dish in together)
        self._common_dishes = [dish for dish, count in counts.items() if count > 1]
        self._dishes_beside: dict[str, dict[str, None]] = {}
        for together in dishes:
            for dish in together:
                others = (other for other in together if other != dish)
                self._dishes_beside.setdefault(dish, {}).update(dict.fromkeys(others))
        lacking = [domain for domain in VENUE_DOMAINS if not database.entities(domain)]
        if not self._common_dishes:
            lacking.append(f"{DISHES} that two restaurants have")
        if not self._services:
            lacking.append(SERVICES)
        lacking += [slot for slot in (DURATION, HOTEL_TYPE) if not self._weights[slot]]
        if lacking:
            raise DataError(f"goals cannot be drawn from a database without {', '.join(lacking)}")

    def goal(self, rng: Rng) -> Goal:
        """Return a new goal."""
        venues = self._venues(rng)
        subgoals = [*venues, *self._nearby(venues, rng)]
        traffic = _traffic(subgoals, rng)
        return _flat(_in_order(venues, subgoals[len(venues) :], traffic))

    def _venues(self, rng: Rng) -> list[SubGoal]:
        order = rng.shuffled(VENUE_DOMAINS)
        chosen = [domain for domain in order if rng.happens(VENUE_CHANCE)] or order[:1]
        return [self._venue(domain, None, rng) for domain in chosen]

    def _nearby(self, venues: Sequence[SubGoal], rng: Rng) -> list[SubGoal]:
        """Return sub-goals near `venues`; these sub-goals get no nearby venues of their own."""
        nearby: list[SubGoal] = []
        for source in rng.shuffled(venues):
            for domain in VENUE_DOMAINS:
                if len(venues) + len(nearby) == MOST_SUBGOALS:
                    return nearby
                asked = NEARBY[domain] in source.requests
                if asked and rng.happens(NEARBY_CHANCE[source.domain][domain]):
                    nearby.append(self._venue(domain, source, rng))
        return nearby

    def _venue(self, domain: str, source: SubGoal | None, rng: Rng) -> SubGoal:
        constraints: dict[str, Value] = {}
        if source is None and rng.happens(NAME_CHANCE):
            constraints[NAME] = rng.choose(self._database.entities(domain)).name
        else:
            count = rng.weighted(*CONSTRAINTS)
            for slot in rng.shuffled(CONSTRAINED[domain])[:count]:
                constraints |= self._constraint(slot, rng)
        if source is not None:
            constraints = {NAME: "", **constraints}  # the text is set when sub-goals have numbers
        return SubGoal(domain, constraints, self._requests(domain, constraints, rng), source)

    def _constraint(self, slot: str, rng: Rng) -> dict[str, Value]:
        if slot == SERVICES:
            return {f"{SERVICE_PREFIX}{service}": YES for service in self._hotel_services(rng)}
        if slot == DISHES:
            return {DISHES: self._dishes(rng)}
        return {slot: _drawn(self._weights[slot], rng)}

    def _hotel_services(self, rng: Rng) -> list[str]:
        """Return one or two services, of which at most one is a kind of wifi."""
        chosen: list[str] = []
        for _ in range(rng.choose(SERVICE_COUNTS)):
            service = _drawn(self._services, rng)
            while service in chosen and len(chosen) < len(self._services):
                service = _drawn(self._services, rng)
            wifi_twice = WIFI in service and any(WIFI in other for other in chosen)
            if service not in chosen and not wifi_twice:
                chosen.append(service)
        return chosen

    def _dishes(self, rng: Rng) -> tuple[str, ...]:
        dish = rng.choose(self._common_dishes)
        if rng.happens(SECOND_DISH_CHANCE) and (others := tuple(self._dishes_beside[dish])):
            return (dish, rng.choose(others))
        return (dish,)

    def _requests(self, domain: str, constraints: dict[str, Value], rng: Rng) -> list[str]:
        requests = [] if NAME in constraints else [NAME]
        constrained = {slot.partition("-")[0] for slot in constraints}
        free = [slot for slot in REQUESTED[domain] if slot not in constrained]
        for slot in rng.shuffled(free)[: rng.weighted(*REQUESTS)]:
            requests += self._asked_services(constraints, rng) if slot == SERVICES else [slot]
        return requests

    def _asked_services(self, constraints: dict[str, Value], rng: Rng) -> list[str]:
        """Return the slots of zero to two services that are not constraints already."""
        asked: list[str] = []
        for _ in range(rng.choose(SERVICE_COUNTS)):
            slot = SERVICE_PREFIX + rng.choose(tuple(self._services))
            known = [*constraints, *asked]
            wifi_twice = WIFI in slot and any(WIFI in other for other in known)
            if slot not in known and not wifi_twice:
                asked.append(slot)
        return asked


def _drawn(weights: Mapping[str, float], rng: Rng) -> str:
    return rng.weighted(tuple(weights), tuple(weights.values()))


def _traffic(venues: Sequence[SubGoal], rng: Rng) -> list[SubGoal]:
    if not 2 <= len(venues) < MOST_SUBGOALS or not rng.happens(TRAFFIC_CHANCE):
        return []
    has_room = len(venues) + len(TRAFFIC_DOMAINS) <= MOST_SUBGOALS
    both = rng.happens(BOTH_TRAFFIC_CHANCE) and has_room
    domains = TRAFFIC_DOMAINS if both else (rng.choose(TRAFFIC_DOMAINS),)
    trips = []
    for domain in domains:
        start, end, *_ = rng.shuffled(venues)
        trips.append(SubGoal(domain, {}, list(REQUESTABLE[domain]), ends=(start, end)))
    return trips


def _in_order(
    venues: Sequence[SubGoal], nearby: Sequence[SubGoal], traffic: Sequence[SubGoal]
) -> list[SubGoal]:
    """Return sub-goals in order: a venue, then the venues near it; trips as early as possible."""
    placed: list[SubGoal] = []
    waiting = list(traffic)
    for venue in venues:
        for subgoal in (venue, *(near for near in nearby if near.source is venue)):
            placed.append(subgoal)
            for trip in [t for t in waiting if all(end in placed for end in t.ends or ())]:
                placed.append(trip)
                waiting.remove(trip)
    return placed


def _flat(subgoals: Sequence[SubGoal]) -> Goal:
    number = {subgoal: index for index, subgoal in enumerate(subgoals, start=1)}
    goal: list[SemanticTuple] = []
    for index, subgoal in enumerate(subgoals, start=1):
        constraints = dict(subgoal.constraints)
        if subgoal.source is not None:
            near = number[subgoal.source]
            constraints[NAME] = f"出现在id={near}的{NEARBY[subgoal.domain]}里"
        if subgoal.ends is not None:
            first, last = sorted(number[end] for end in subgoal.ends)
            constraints |= {DEPARTURE: f"id={first}", DESTINATION: f"id={last}"}
        for slot, value in constraints.items():
            goal.append(SemanticTuple(index, subgoal.domain, slot, value, False))
        for slot in subgoal.requests:
            empty: Value = () if slot in LIST_SLOTS else ""
            goal.append(SemanticTuple(index, subgoal.domain, slot, empty, False))
    return tuple(goal)


def goal_type(goal: Goal) -> str:
    """Return the paper's code of a goal's type: S, M, M+T, CM or CM+T.

    S means a single domain, M means several domains, C means a venue near another venue, and +T
    means traffic.
    """
    if goal[-1].subgoal == 1:
        return "S"
    depends = any(isinstance(line.value, str) and "出现在id" in line.value for line in goal)
    travels = any(line.domain in TRAFFIC_DOMAINS for line in goal)
    return ("CM" if depends else "M") + ("+T" if travels else "")
