"""The demo domains of PyDial: invented values, in the numbers of the published domains."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tools.samples.dice import Dice
from tools.samples.text import indented_text, read_rows

FOLDER = Path(__file__).parent
UNKNOWN, ANSWERS_UNKNOWN = "not available", 0.15
METHODS = ["none", "byconstraints", "byname", "finished", "byalternatives", "restart"]
DISCOURSE_ACTS = ["ack", "hello", "none", "repeat", "silence", "thankyou"]


def pairs(first: str, second: str, count: int) -> list[str]:
    """Return combinations of words of two lists, with each word about equally often."""
    left, right = first.split(), second.split()
    combined = [
        f"{word} {right[(index + turn) % len(right)]}"
        for turn in range(len(right))
        for index, word in enumerate(left)
    ]
    return combined[:count]


WORDS: dict[str, str] = dict(read_rows(FOLDER / "pydial_words.tsv"))
PLANTS, PLACES = WORDS["plants"], WORDS["places"]
MADE = {
    "kinds": pairs(PLANTS, "garden border", 91),
    "quarters": pairs(PLANTS, PLACES, 155),
    "fees": [f"{fee} crowns a {span}" for span in ("month", "year") for fee in range(2, 50)],
}


class Slot(NamedTuple):
    """A slot; entities have the first `used` values only.

    With `skew` the values differ in how common they are; a share `unknown` of the entities has no
    known value.
    """

    name: str
    values: Sequence[str]
    used: Sequence[str]
    skew: float
    unknown: float


class Domain(NamedTuple):
    """A domain; with the probability `likeness` an entity has a value of a similar entity.

    Names beyond the number of entities are in the ontology only; if there are fewer names, some are
    given twice. `priced` slots are valued, but no constraints.
    """

    name: str
    entity: str
    size: int
    likeness: float
    names: Sequence[str]
    answers: Sequence[str]
    priced: Sequence[str] = ()


BICYCLES = [
    f"{family}-{letter}{number}"
    for number in range(10, 90, 5)
    for family in ("swift", "swallow", "heron")
    for letter in "crt"
]
ROOMS = pairs(PLANTS, "library books rooms shelves reader", 242)
DOMAINS = (
    Domain("DemoGardens", "garden", 110, 0.3, pairs(WORDS["colours"], PLANTS, 113),
           ("addr", "phone", "postcode", "motto", "description")),
    Domain("DemoLibraries", "library", 271, 0.3, ROOMS, ("addr", "phone", "postcode"), ("price",)),
    Domain("DemoBicycles", "bicycle", 123, 0.7, BICYCLES[:123],
           ("battery", "design", "dimension", "lamp", "drive", "saddle", "price", "motor",
            "weight")),
)  # fmt: skip


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    slots: dict[str, list[Slot]] = {domain.name: [] for domain in DOMAINS}
    for domain_name, name, skew, unknown, used, values in read_rows(FOLDER / "pydial_slots.tsv"):
        words = [word.replace("_", " ") for word in WORDS.get(values, values).split()]
        every = MADE.get(values, words)
        first = every[: int(used)] if used else every
        slots[domain_name].append(Slot(name, every, first, float(skew), float(unknown)))
    written: dict[str, str] = {}
    for domain in DOMAINS:
        of_domain = slots[domain.name]
        named = [slot.name for slot in of_domain]
        ontology = {
            "type": domain.entity,
            "requestable": ["name", *named, *domain.answers],
            "system_requestable": [name for name in named if name not in domain.priced],
            "method": METHODS,
            "discourseAct": DISCOURSE_ACTS,
            "informable": {
                **{slot.name: slot.values for slot in of_domain},
                "name": sorted(domain.names),
            },
        }
        rows = _rows(domain, of_domain)
        written[f"data/pydial/demo/db/{domain.name}-entities.json"] = indented_text(rows)
        written[f"data/pydial/demo/ontology/{domain.name}-rules.json"] = indented_text(ontology)
    return written


def _rows(domain: Domain, slots: Sequence[Slot]) -> list[dict[str, str]]:
    """Return the entities in the order that decides what is offered first."""
    dice = Dice(domain.name)
    names = dice.shuffled(domain.names)[: domain.size]
    names += [dice.pick(names) for _ in range(domain.size - len(names))]
    rows: list[dict[str, str]] = []
    for number, name in enumerate(names):
        row = {"id": str(number + 1), "name": name}
        model = dice.pick(rows) if rows else row
        for slot in slots:
            # The first entities have every value once.
            if number < len(slot.used):
                row[slot.name] = slot.used[number]
                continue
            unknown = dice.chance(slot.unknown)
            row[slot.name] = UNKNOWN if unknown else dice.skewed(slot.used, slot.skew)
            if dice.chance(domain.likeness):
                row[slot.name] = model[slot.name]
        rows.append(row | {answer: _answer(answer, dice) for answer in domain.answers})
    return rows


def _answer(slot: str, dice: Dice) -> str:
    if dice.chance(ANSWERS_UNKNOWN):
        return UNKNOWN
    if slot == "phone":
        return f"0{dice.number(1000, 9999)} {dice.number(100000, 999999)}"
    if slot == "addr":
        place = f"{dice.pick(PLANTS.split())} {dice.pick(PLACES.split())}"
        return f"{dice.number(1, 98)} {place}"
    if slot == "postcode":
        return f"g{dice.number(1, 40)} {dice.number(1, 9)}xy"
    if slot in ("price", "weight", "battery", "dimension"):
        return str(dice.number(100, 999))
    return f"{slot} of {dice.pick(PLANTS.split())} and {dice.pick(PLANTS.split())}"
