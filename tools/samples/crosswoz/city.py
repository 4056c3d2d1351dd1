"""An invented city in the formats of the public database: venues, places nearby, stations."""

import random
from math import dist
from pathlib import Path
from typing import Any, NamedTuple

from mwzeval.crosswoz.corpus import names
from tools.samples.text import read_lists

WORDS = read_lists(Path(__file__).with_name("words.tsv"))
TABLES = {names.ATTRACTION: "attraction", names.RESTAURANT: "restaurant", names.HOTEL: "hotel"}
SIZES = {names.ATTRACTION: 42, names.RESTAURANT: 46, names.HOTEL: 42}
NEAR = 0.17
"""Venues closer than this are near each other; the city is a square of side 1."""
UNKNOWN = 0.08
"""Share of the ratings, tickets, prices and stations that the database does not have."""
TICKETS = (10, 15, 30, 40, 60, 80, 120, 160, 220)
DOMAIN_FIELD = "领域"
TAXI_ROW = ["出租 ($出发地 - $目的地)", {DOMAIN_FIELD: "出租", "车型": "#CX", "车牌": "#CP"}]
Row = tuple[str, dict[str, Any]]


class Site(NamedTuple):
    """A venue and its place."""

    domain: str
    name: str
    place: tuple[float, float]


def build_city(seed: int) -> dict[str, list[Row]]:
    """Return the rows of each database table, by the English name of its file."""
    dice = random.Random(f"{seed}/city")
    sites = [
        Site(domain, name, (dice.random(), dice.random()))
        for domain, size in SIZES.items()
        for name in dice.sample(
            [place + kind for place in WORDS["place", ""] for kind in WORDS["kind", domain]], size
        )
    ]
    stations = {name: (dice.random(), dice.random()) for name in WORDS["station", ""]}
    tables: dict[str, list[Row]] = {name: [] for name in (*TABLES.values(), "metro")}
    for site in sites:
        nearest = min(stations, key=lambda name: dist(stations[name], site.place))
        known = dice.random() >= UNKNOWN
        station = f"{nearest}地铁站{dice.choice('ABCD')}口" if known else None
        record = {DOMAIN_FIELD: site.domain, names.NAME: site.name}
        facts = _facts(site.domain, station, dice)
        tables[TABLES[site.domain]].append((site.name, record | facts | _nearby(site, sites)))
        metro = {DOMAIN_FIELD: names.METRO, names.NAME: site.name, names.STATION: station}
        tables["metro"].append((site.name, metro))
    return tables


def _nearby(site: Site, sites: list[Site]) -> dict[str, list[str]]:
    """Return the venues nearby, the nearest first; as in the public file hotels list no hotels."""

    def distance(other: Site) -> float:
        return dist(other.place, site.place)

    near = sorted((s for s in sites if s != site and distance(s) < NEAR), key=distance)
    nearby = {slot: [s.name for s in near if s.domain == d] for d, slot in names.NEARBY.items()}
    return nearby | ({names.NEARBY[names.HOTEL]: []} if site.domain == names.HOTEL else {})


def _facts(domain: str, station: str | None, dice: random.Random) -> dict[str, Any]:
    def known(value: object) -> object:
        return None if dice.random() < UNKNOWN else value

    def word(kind: str) -> str:
        return dice.choice(WORDS[kind, ""])

    rating = known(round(dice.triangular(3.4, 5.0, 4.7), 1))
    facts: dict[str, Any] = {
        names.ADDRESS: f"{word('district')}{word('street')}{dice.randint(1, 299)}号",
        names.STATION: station,
        names.PHONE: f"0999-{dice.randint(1_000_000, 9_999_999)}",
    }
    if domain == names.ATTRACTION:
        ticket = 0 if dice.random() < 0.4 else dice.choice(TICKETS)
        facts |= {names.TICKET: known(ticket), names.DURATION: word("duration")}
    elif domain == names.RESTAURANT:
        dishes = dice.sample(WORDS["dish", ""], dice.randint(3, 6))
        if dice.random() < 0.3:
            dishes.insert(0, word("dish tag"))
        facts |= {names.OPEN_HOURS: f"周一至周日 {word('hours')}", names.DISHES: dishes}
        facts[names.COST] = round(dice.lognormvariate(4.5, 0.6))
    else:
        level = dice.choices(range(4), (3, 4, 3, 2))[0]
        services = [s for s in WORDS["service", ""] if dice.random() < 0.25 + 0.15 * level]
        facts |= {names.HOTEL_TYPE: WORDS["hotel type", ""][level], names.SERVICES: services}
        facts[names.PRICE] = known(round(dice.uniform(130, 320) * (1 + level * 0.8)))
    return facts | {names.RATING: rating}
