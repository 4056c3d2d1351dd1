"""Pellingford: an invented town, its venues, its trains, and how to search them.

Telephone numbers are from the ranges that are kept free for fiction (01632 960xxx, 07700 900xxx);
no postcode begins with QX.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tools.dice import Dice

TOWN = "pellingford"
TOWNS = ("ashmere", "brackwater", "castle orrin", "dunhollow", "sallowfield", "tarnbridge")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
AREAS = ("centre", "east", "north", "south", "west")
CAR_COLOURS = ("black", "white", "silver", "green", "blue", "orange")
CAR_MAKES = ("corvane", "pallas", "merrick", "solent", "tindale", "vesper")
DEPARTMENTS = ("accident and emergency", "children's ward", "eye clinic", "heart clinic",
               "maternity unit", "fracture clinic")  # fmt: skip

_STREETS = (
    "tallow lane",
    "cooper's row",
    "saltgate",
    "weir street",
    "old brewery yard",
    "lantern hill",
    "mill race road",
    "bishop's walk",
    "rope street",
    "orchard rise",
    "fennel lane",
    "glassworks road",
    "north quay",
    "hawthorn avenue",
    "drovers road",
    "chandler street",
)

_RESTAURANTS = """
the pewter ladle|british|cheap|centre
osteria bellarosa|italian|moderate|centre
jade pavilion|chinese|expensive|centre
salt and sorrel|greek|expensive|south
maggie's table|british|moderate|north
the paper crane|japanese|moderate|east
tamarind court|indian|moderate|centre
lokanta zeytin|turkish|cheap|east
chez mirabelle|french|expensive|centre
casa colibri|mexican|cheap|south
green thumb kitchen|vegetarian|moderate|west
taverna kalliope|greek|moderate|north
saffron yard|indian|cheap|west
lemongrass wharf|thai|moderate|south
trattoria fontanella|italian|cheap|east
the drover's rest|british|expensive|west
bamboo ladder|chinese|cheap|north
vine and olive|turkish|moderate|centre
la petite ardoise|french|moderate|west
sakura lantern|japanese|expensive|centre
orchid boat|thai|expensive|east
pasta and pepper|italian|moderate|north
peppercorn palace|indian|expensive|south
dragon well|chinese|moderate|south
the turnip cart|vegetarian|cheap|centre
el farolito|mexican|moderate|east
old tollhouse grill|british|moderate|south
coriander street|indian|moderate|north
luigi's corner|italian|expensive|south
noodle foundry|thai|cheap|centre
"""

_ATTRACTIONS = """
clockmakers' museum|museum|centre|3 pounds
museum of lost umbrellas|museum|east|free
harbour mill gallery|museum|south|2 pounds
saint orla's college|college|centre|free
wexcombe college|college|west|4 pounds
quillon college|college|north|?
velvet owl|nightclub|centre|6 pounds
club marmalade|nightclub|south|5 pounds
the candlelit stage|theatre|centre|?
pellingford playhouse|theatre|west|12 pounds
hallowgate tower|architecture|north|2 pounds
the leaning granary|architecture|east|free
foxglove meadow|park|north|free
willow bend gardens|park|west|free
kingfisher pools|swimmingpool|east|4 pounds
north baths|swimmingpool|north|3 pounds
brindle punts|boat|south|9 pounds
swan landing boats|boat|centre|8 pounds
the magic lantern|cinema|west|7 pounds
rialto on the weir|cinema|south|?
tilbrook concert rooms|concerthall|centre|10 pounds
marble run arcade|entertainment|east|5 pounds
ninepin alley|entertainment|north|6 pounds
"""

_HOTELS = """
the brass otter|hotel|expensive|centre|5|yes|yes
weir street lodge|guesthouse|cheap|centre|3|yes|no
marigold guest house|guesthouse|cheap|north|4|yes|yes
the three herons|hotel|moderate|south|4|yes|yes
quayside grand|hotel|expensive|east|4|yes|yes
number nine rooms|guesthouse|moderate|east|4|yes|no
bramble cottage|guesthouse|cheap|west|4|no|yes
fenwick's rest|guesthouse|moderate|north|3|yes|yes
the stag and sickle|hotel|moderate|west|3|yes|yes
hotel aurelia|hotel|expensive|south|4|yes|no
pear tree house|guesthouse|moderate|south|4|yes|yes
old customs house|hotel|cheap|east|2|yes|yes
linden and daughters|guesthouse|cheap|centre|4|yes|yes
rookery lodge|guesthouse|cheap|south|2|no|yes
the wheatsheaf inn|hotel|moderate|north|4|yes|yes
aldous guest house|guesthouse|moderate|centre|3|yes|yes
"""


@dataclass(frozen=True)
class Venue:
    """One row of a database, slots named as in MultiWOZ 2.2 (`trainid`, `entrancefee`)."""

    domain: str
    slots: Mapping[str, str]

    def __getitem__(self, slot: str) -> str:
        """Return the value of a slot."""
        return self.slots[slot]


@dataclass(frozen=True)
class World:
    """Everything there is to find."""

    venues: Mapping[str, tuple[Venue, ...]]

    def find(self, domain: str, constraints: Mapping[str, str]) -> list[Venue]:
        """Return the venues that satisfy all constraints, in table order."""
        return [v for v in self.venues[domain] if _satisfies(v, constraints)]


def minutes(clock: str) -> int:
    """Return minutes since midnight of a time such as "17:05"."""
    return int(clock[:2]) * 60 + int(clock[3:])


def clock(minute: int) -> str:
    """Return the time of day such as "17:05"."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def build_world(dice: Dice) -> World:
    """Return the town; the dice decide house numbers, telephone numbers and timetables."""
    phones = dice.mixed([f"01632960{number:03d}" for number in range(990)])
    venues: dict[str, tuple[Venue, ...]] = {}
    tables = {
        "restaurant": (_RESTAURANTS, ("name", "food", "pricerange", "area")),
        "attraction": (_ATTRACTIONS, ("name", "type", "area", "entrancefee")),
        "hotel": (
            _HOTELS,
            ("name", "type", "pricerange", "area", "stars", "internet", "parking"),
        ),
    }
    for domain, (table, columns) in tables.items():
        rows = []
        for identity, line in enumerate(table.strip().split("\n")):
            slots = dict(zip(columns, line.split("|"), strict=True))
            slots["id"] = str(identity + 1)
            slots["address"] = f"{dice.number(1, 180)} {dice.pick(_STREETS)}"
            slots["phone"] = phones.pop()
            district = AREAS.index(slots["area"]) + 1
            slots["postcode"] = f"qx{district}{dice.number(1, 9)}{dice.code(2, 'abdefhjlnpqrstuw')}"
            rows.append(Venue(domain, slots))
        venues[domain] = tuple(rows)
    venues["train"] = tuple(_timetable(dice))
    return World(venues)


def _timetable(dice: Dice) -> list[Venue]:
    identities = dice.mixed([f"TR{number}" for number in range(1000, 10000)])
    trains = []
    for distance, town in enumerate(TOWNS):
        duration = 23 + 14 * distance
        price = 6.4 + 5.3 * distance
        for departure, destination in ((TOWN, town), (town, TOWN)):
            first = 5 * 60 + dice.number(0, 11) * 5 + dice.number(1, 2)
            for day in DAYS:
                for leave in range(first, 24 * 60 - duration, 4 * 60):
                    slots = {
                        "trainid": identities.pop(),
                        "departure": departure,
                        "destination": destination,
                        "day": day,
                        "leaveat": clock(leave),
                        "arriveby": clock(leave + duration),
                        "duration": f"{duration} minutes",
                        "price": f"{price:.2f} pounds",
                    }
                    trains.append(Venue("train", slots))
    return trains


def _satisfies(venue: Venue, constraints: Mapping[str, str]) -> bool:
    for slot, value in constraints.items():
        if slot not in venue.slots or value == "dontcare":
            continue
        own = venue[slot]
        if slot == "leaveat":
            if minutes(own) < minutes(value):
                return False
        elif slot == "arriveby":
            if minutes(own) > minutes(value):
                return False
        elif own not in (value, "?"):
            return False
    return True
