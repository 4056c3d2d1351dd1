"""Write the embedded dialogue-management domains: `python -m tools.pydial_domains`.

The same shapes give the same bytes, on every machine and every Python version.
"""

from typing import Any

from tools.dice import Dice
from tools.files import indented_text, write
from tools.pydial_domains.domain_shapes import NAME, PLACES, PLANTS, SHAPES, Shape, Slot

FOLDER = "data/pydial/demo"
UNKNOWN = "not available"
ENTITY_SPREAD = 0.15
METHODS = ["none", "byconstraints", "byname", "finished", "byalternatives", "restart"]
DISCOURSE_ACTS = ["ack", "hello", "none", "repeat", "silence", "thankyou"]


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
        model = dice.pick(rows) if rows else row
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
        return f"0{dice.number(1000, 9999)} {dice.number(100000, 999999)}"
    if slot == "addr":
        place = f"{dice.pick(PLANTS.split())} {dice.pick(PLACES.split())}"
        return f"{dice.number(1, 98)} {place}"
    if slot == "postcode":
        return f"g{dice.number(1, 40)} {dice.number(1, 9)}xy"
    if slot in ("price", "weight", "battery", "dimension"):
        return str(dice.number(100, 999))
    return f"{slot} of {dice.pick(PLANTS.split())} and {dice.pick(PLANTS.split())}"


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    written: dict[str, str] = {}
    for shape in SHAPES:
        rows = entities(shape, Dice(shape.name))
        written[f"{FOLDER}/ontology/{shape.name}-rules.json"] = indented_text(ontology(shape))
        written[f"{FOLDER}/db/{shape.name}-entities.json"] = indented_text(rows)
    return written


if __name__ == "__main__":
    write(files(), __doc__)
