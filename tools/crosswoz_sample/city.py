"""An invented city in the formats of the public database: venues, what is near them, stations."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import dist
from typing import Any

from mwzeval.crosswoz.corpus.names import (
    ADDRESS,
    ATTRACTION,
    COST,
    DURATION,
    HOTEL,
    HOTEL_TYPE,
    METRO,
    NAME,
    NEARBY,
    OPEN_HOURS,
    PHONE,
    PRICE,
    RATING,
    RESTAURANT,
    STATION,
    TICKET,
)
from mwzeval.crosswoz.corpus.names import (
    DISHES as DISHES_SLOT,
)
from mwzeval.crosswoz.corpus.names import (
    SERVICES as SERVICES_SLOT,
)
from tools.crosswoz_sample.city_words import (
    ATTRACTION_KINDS,
    DISH_TAGS,
    DISHES,
    DISTRICTS,
    DURATIONS,
    HOTEL_KINDS,
    HOTEL_TYPES,
    HOURS,
    PLACES,
    RESTAURANT_KINDS,
    SERVICES,
    STATIONS,
    STREETS,
)

SIZES = {ATTRACTION: 42, RESTAURANT: 46, HOTEL: 42}
KINDS = {ATTRACTION: ATTRACTION_KINDS, RESTAURANT: RESTAURANT_KINDS, HOTEL: HOTEL_KINDS}
NEAR = 0.17
"""Venues closer than this are near each other; the city is a square of side 1."""
UNKNOWN = 0.08
"""Share of the ratings, tickets, prices and stations that the database does not know."""
DOMAIN_FIELD = "领域"
TAXI_ROW = ["出租 ($出发地 - $目的地)", {DOMAIN_FIELD: "出租", "车型": "#CX", "车牌": "#CP"}]
Row = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Site:
    """A venue and where it is."""

    domain: str
    name: str
    place: tuple[float, float]


def build_city(seed: int) -> dict[str, list[Row]]:
    """Return the rows of each database table, by the English name of its file."""
    dice = random.Random(f"{seed}/city")
    sites = list(_sites(dice))
    stations = [(name, (dice.random(), dice.random())) for name in STATIONS]
    tables: dict[str, list[Row]] = {"attraction": [], "restaurant": [], "hotel": [], "metro": []}
    files = {ATTRACTION: "attraction", RESTAURANT: "restaurant", HOTEL: "hotel"}
    for site in sites:
        nearest = min(stations, key=lambda station: dist(station[1], site.place))[0]
        station = None if dice.random() < UNKNOWN else f"{nearest}地铁站{dice.choice('ABCD')}口"
        record: dict[str, Any] = {DOMAIN_FIELD: site.domain, NAME: site.name}
        record |= _facts(site.domain, station, dice)
        record |= _nearby(site, sites)
        tables[files[site.domain]].append((site.name, record))
        metro = {DOMAIN_FIELD: METRO, NAME: site.name, STATION: station}
        tables["metro"].append((site.name, metro))
    return tables


def _sites(dice: random.Random) -> Iterator[Site]:
    for domain, size in SIZES.items():
        names = [place + kind for place in PLACES for kind in KINDS[domain]]
        for name in dice.sample(names, size):
            yield Site(domain, name, (dice.random(), dice.random()))


def _nearby(site: Site, sites: Sequence[Site]) -> dict[str, list[str]]:
    """Return the venues nearby, the nearest first; as in the public file hotels list no hotels."""
    near = sorted(
        (other for other in sites if other != site and dist(other.place, site.place) < NEAR),
        key=lambda other: dist(other.place, site.place),
    )
    return {
        slot: [
            other.name
            for other in near
            if other.domain == domain and not site.domain == domain == HOTEL
        ]
        for domain, slot in NEARBY.items()
    }


def _facts(domain: str, station: str | None, dice: random.Random) -> dict[str, Any]:
    def known(value: Any) -> Any:
        return None if dice.random() < UNKNOWN else value

    rating = known(round(dice.triangular(3.4, 5.0, 4.7), 1))
    facts: dict[str, Any] = {
        ADDRESS: f"{dice.choice(DISTRICTS)}{dice.choice(STREETS)}{dice.randint(1, 299)}号",
        STATION: station,
        PHONE: f"0999-{dice.randint(1_000_000, 9_999_999)}",
    }
    if domain == ATTRACTION:
        ticket = 0 if dice.random() < 0.4 else dice.choice((10, 15, 30, 40, 60, 80, 120, 160, 220))
        facts |= {TICKET: known(ticket), DURATION: dice.choice(DURATIONS)}
    elif domain == RESTAURANT:
        dishes = dice.sample(DISHES, dice.randint(3, 6))
        if dice.random() < 0.3:
            dishes.insert(0, dice.choice(DISH_TAGS))
        facts[OPEN_HOURS] = f"周一至周日 {dice.choice(HOURS)}"
        facts |= {DISHES_SLOT: dishes, COST: round(dice.lognormvariate(4.5, 0.6))}
    else:
        level = dice.choices(range(4), (3, 4, 3, 2))[0]
        services = [service for service in SERVICES if dice.random() < 0.25 + 0.15 * level]
        facts |= {HOTEL_TYPE: HOTEL_TYPES[level], SERVICES_SLOT: services}
        facts[PRICE] = known(round(dice.uniform(130, 320) * (1 + level * 0.8)))
    return facts | {RATING: rating}
