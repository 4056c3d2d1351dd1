"""Pellingford: an invented town, its venues and its trains, and a search of them.

Telephone numbers are from the ranges that are reserved for fiction (01632 960xxx, 07700 900xxx);
no postcode begins with QX.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.samples.dice import Dice
from tools.samples.text import read_lists, read_rows

FOLDER = Path(__file__).parent
PHRASES = read_lists(FOLDER / "phrases.tsv")
TOWN = "pellingford"
TOWNS = PHRASES["world", "town", ""]
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
AREAS = ("centre", "east", "north", "south", "west")
SLOTS = {row[0]: row[1:] for row in read_rows(FOLDER / "slots.tsv")}
OLD_NAMES = {slot: names[0] for slot, names in SLOTS.items()}

Venue = Mapping[str, str]
"""A row of a database, with slots named as in MultiWOZ 2.2 (`trainid`, `entrancefee`)."""


def phrases(speaker: str, kind: str, key: str = "") -> tuple[str, ...]:
    """Return the phrases for a domain or slot if there are special ones, or else for all."""
    return PHRASES.get((speaker, kind, key)) or PHRASES[speaker, kind, ""]


class World:
    """All venues and trains; the dice decide house numbers, telephone numbers and timetables."""

    def __init__(self, dice: Dice) -> None:
        self.venues: dict[str, list[Venue]] = {}
        phones = dice.mixed([f"01632960{number:03d}" for number in range(990)])
        for domain in ("restaurant", "attraction", "hotel"):
            columns, *rows = read_rows(FOLDER / f"{domain}.tsv")
            self.venues[domain] = []
            for number, row in enumerate(rows, start=1):
                slots = {**dict(zip(columns, row, strict=True)), "id": str(number)}
                street = PHRASES["world", "street", ""]
                slots["address"] = f"{dice.number(1, 180)} {dice.pick(street)}"
                slots["phone"] = phones.pop()
                district = f"qx{AREAS.index(slots['area']) + 1}{dice.number(1, 9)}"
                slots["postcode"] = district + dice.code(2, "abdefhjlnpqrstuw")
                self.venues[domain].append(slots)
        self.venues["train"] = _timetable(dice)

    def find(self, domain: str, constraints: Mapping[str, str]) -> list[Venue]:
        """Return the venues that satisfy all constraints, in table order."""
        return [
            venue
            for venue in self.venues[domain]
            if all(_satisfies(venue, *constraint) for constraint in constraints.items())
        ]


def clock(minute: int) -> str:
    """Return the time of day such as "17:05"."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def _timetable(dice: Dice) -> list[Venue]:
    identities = dice.mixed([f"TR{number}" for number in range(1000, 10000)])
    trains: list[Venue] = []
    for distance, town in enumerate(TOWNS):
        duration = 23 + 14 * distance
        for departure, destination in ((TOWN, town), (town, TOWN)):
            first = 5 * 60 + dice.number(0, 11) * 5 + dice.number(1, 2)
            trains += [
                {
                    "trainid": identities.pop(),
                    "departure": departure,
                    "destination": destination,
                    "day": day,
                    "leaveat": clock(leave),
                    "arriveby": clock(leave + duration),
                    "duration": f"{duration} minutes",
                    "price": f"{6.4 + 5.3 * distance:.2f} pounds",
                }
                for day in DAYS
                for leave in range(first, 24 * 60 - duration, 4 * 60)
            ]
    return trains


def _satisfies(venue: Venue, slot: str, value: str) -> bool:
    own = venue.get(slot, "?")
    if own == "?" or value == "dontcare":
        return True
    # Times have the form "HH:MM", so that they are ordered as texts.
    if slot == "leaveat":
        return own >= value
    return own <= value if slot == "arriveby" else own == value


def database(world: World) -> dict[str, list[Any]]:
    """Return the rows of each `*_db.json` of MultiWOZ."""
    tables: dict[str, list[Any]] = {}
    for domain, venues in world.venues.items():
        tables[domain] = []
        for index, venue in enumerate(venues):
            row: dict[str, Any] = {OLD_NAMES[slot]: value for slot, value in venue.items()}
            if domain != "train":
                # In the sea, so that no coordinates are those of a real place.
                east = index % 7 * 0.0041 + len(domain) * 0.0007
                row["location"] = [round(54.2 + index * 0.0013, 6), round(5.1 + east, 6)]
            if domain == "restaurant":
                row |= {"type": "restaurant", "introduction": ""}
            if domain == "attraction":
                row |= {"openhours": "?", "pricerange": _level(row["entrance fee"])}
            if domain == "hotel":
                single = {"cheap": 42, "moderate": 68, "expensive": 115}[row["pricerange"]] + index
                row["price"] = {"double": str(single + 24), "single": str(single)}
                row["takesbookings"] = "yes"
            tables[domain].append(dict(sorted(row.items())))
    station = {"address": "1 Saltgate, Pellingford", "id": 0, "name": "Saltgate Police Station"}
    tables["police"] = [{**station, "phone": "01632960999"}]
    tables["hospital"] = [
        {"department": department, "id": index, "phone": f"07700900{900 + index}"}
        for index, department in enumerate(PHRASES["world", "department", ""])
    ]
    colours, makes = (PHRASES["world", f"car {what}", ""] for what in ("colour", "make"))
    phones = ["^[0-9]{11}$"]
    tables["taxi"] = [{"taxi_colors": colours, "taxi_phone": phones, "taxi_types": makes}]
    return tables


def _level(fee: str) -> str:
    if fee in ("free", "?"):
        return fee
    pounds = int(fee.split()[0])
    return "cheap" if pounds < 5 else "moderate" if pounds < 9 else "expensive"
