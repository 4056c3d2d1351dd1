"""Write the embedded dialogue-management domains; run as a script, without arguments.

The same shapes give the same bytes, on every machine and every Python version.
"""

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from domain_shapes import NAME, PLACES, PLANTS, SHAPES, Shape, Slot

FOLDER = Path(__file__).resolve().parents[1] / "pydial" / "demo"
UNKNOWN = "not available"
ENTITY_SPREAD = 0.15
METHODS = ["none", "byconstraints", "byname", "finished", "byalternatives", "restart"]
DISCOURSE_ACTS = ["ack", "hello", "none", "repeat", "silence", "thankyou"]


class Dice:
    """Choices from a seed. Only `random.Random.random` is promised to be stable."""

    def __init__(self, seed: str) -> None:
        self._source = random.Random(seed)

    def number(self, end: int) -> int:
        """Return a number from 0 up to, but without, the end."""
        return int(self._source.random() * end)

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._source.random() < probability

    def pick(self, options: Sequence[str]) -> str:
        """Return one of the options."""
        return options[self.number(len(options))]

    def skewed(self, options: Sequence[str], skew: float) -> str:
        """Return one of the options, earlier ones more often; without skew all alike."""
        weights = [1 / (1 + index) ** skew for index in range(len(options))]
        drawn = self._source.random() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            drawn -= weight
            if drawn < 0:
                return option
        return options[-1]

    def shuffled(self, items: Sequence[str]) -> list[str]:
        """Return the items in another order."""
        return [x for _, _, x in sorted((self._source.random(), i, x) for i, x in enumerate(items))]


def ontology(shape: Shape) -> dict[str, Any]:
    """Return the ontology of a shape, as its file has it."""
    constraints = [slot.name for slot in shape.constraints]
    valued = (*shape.constraints, *shape.other_valued)
    requestable = [NAME, *(slot.name for slot in valued), *shape.answers]
    informable = {slot.name: [*slot.used, *slot.unused] for slot in valued}
    return {
        "type": shape.entity_type,
        "requestable": requestable,
        "system_requestable": constraints,
        "method": METHODS,
        "discourseAct": DISCOURSE_ACTS,
        "informable": {**informable, NAME: sorted(shape.names)},
    }


def entities(shape: Shape, dice: Dice) -> list[dict[str, str]]:
    """Return the entities of a shape in the order that decides what is offered first."""
    names = dice.shuffled(shape.names)[: shape.entities]
    # Where there are less names than entities, some have branches.
    names += [dice.pick(names) for _ in range(shape.entities - len(names))]
    rows: list[dict[str, str]] = []
    for number, name in enumerate(names, start=1):
        row = {"id": str(number), NAME: name}
        model = rows[dice.number(len(rows))] if rows else row
        for slot in (*shape.constraints, *shape.other_valued):
            row[slot.name] = value_of(slot, number - 1, dice)
            if number > len(slot.used) and dice.chance(shape.likeness):
                row[slot.name] = model[slot.name]
        row |= {slot: answer(slot, dice) for slot in shape.answers}
        rows.append(row)
    return rows


def value_of(slot: Slot, index: int, dice: Dice) -> str:
    """Return an entity's value; the first entities see to it that every value is used."""
    if index < len(slot.used):
        return slot.used[index]
    return UNKNOWN if dice.chance(slot.unknown) else dice.skewed(slot.used, slot.skew)


def answer(slot: str, dice: Dice) -> str:
    """Return a fact that has no list of values."""
    if dice.chance(ENTITY_SPREAD):
        return UNKNOWN
    if slot == "phone":
        return f"0{dice.number(9000) + 1000} {dice.number(900000) + 100000}"
    if slot == "addr":
        place = f"{dice.pick(PLANTS.split())} {dice.pick(PLACES.split())}"
        return f"{dice.number(98) + 1} {place}"
    if slot == "postcode":
        return f"g{dice.number(40) + 1} {dice.number(9) + 1}xy"
    if slot in ("price", "weight", "battery", "dimension"):
        return str(dice.number(900) + 100)
    return f"{slot} of {dice.pick(PLANTS.split())} and {dice.pick(PLANTS.split())}"


def files(shape: Shape) -> dict[str, str]:
    """Return the texts of a domain's files by their places in the folder."""

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, indent=1) + "\n"

    rows = entities(shape, Dice(shape.name))
    return {
        f"ontology/{shape.name}-rules.json": text(ontology(shape)),
        f"db/{shape.name}-entities.json": text(rows),
    }


def main() -> None:
    """Write the files of all shapes."""
    for shape in SHAPES:
        for place, text in files(shape).items():
            path = FOLDER / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path, file=sys.stderr)


if __name__ == "__main__":
    main()
