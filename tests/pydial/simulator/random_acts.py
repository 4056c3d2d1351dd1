"""Random acts with few values of a domain, so that acts and goals often match."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from mwzeval.pydial.acts import DONTCARE, NONE, Act, Item
from mwzeval.pydial.domain import Domain, load_domain
from tests.pydial.real_domains import CODES, domain
from tests.pydial.small_domain import CAFES

ENTITIES = 4
BARE = (
    "bye", "hello", "thankyou", "ack", "reqmore", "repeat", "null", "silence", "restart",
)  # fmt: skip
DOMAIN_CASES = [
    *("Cafes", "Demo-CR"),
    *(pytest.param(code, marks=pytest.mark.integration) for code in ("Demo-SFR", "Demo-LAP")),
    *(pytest.param(code, marks=pytest.mark.integration) for code in CODES),
]
"""A tiny domain, the embedded domains, and the domains of the benchmark."""


def domain_named(code: str) -> Domain:
    """Return one of these domains; skips the test without the real data."""
    if code == "Cafes":
        return CAFES
    return load_domain(code) if code.startswith("Demo-") else domain(code)


class RandomActs:
    """Acts about a few entities, and about one value per slot that they may lack."""

    def __init__(self, domain: Domain, random: Random) -> None:
        ontology = domain.ontology
        self.random = random
        self.constraint_slots = ontology.constraint_slots
        self.informable = tuple(ontology.informable)
        self.requestable = ontology.requestable
        self.answers = sorted({*ontology.only_requestable} - {"name"})
        self.entity_type = ontology.entity_type
        rows = random.sample(domain.table.rows, ENTITIES)
        self.values = {}
        for slot, values in ontology.informable.items():
            found = {row.get(slot, "").lower() for row in rows} & set(values)
            self.values[slot] = sorted({*found, *random.sample(values, 2)})
        self.names = self.values["name"]

    def some(self, members: Iterable[str], most: int) -> list[str]:
        candidates = sorted(members)
        return self.random.sample(candidates, min(len(candidates), self.random.randint(0, most)))

    def value(self, slot: str) -> str:
        """Draw one of the values of a slot or "dontcare"."""
        return self.random.choice([*self.values[slot], DONTCARE])

    def answer(self, slot: str) -> str:
        """Draw a value that a system may inform for a slot."""
        if slot not in self.values:
            return self.random.choice(["1", NONE, "not available"])
        return self.value(slot)

    def system_act(self) -> Act:
        """Draw a system act as in the benchmark, whose systems never request a name."""
        random = self.random
        kind = random.random()
        slot = random.choice(self.constraint_slots)
        if kind < 0.16:
            slot = random.choice((*self.constraint_slots, *self.answers[:2]))
            return Act("request", (Item(slot),))
        if kind < 0.3:
            slot = random.choice((*self.constraint_slots, "name"))
            return Act("confirm", (Item(slot, self.value(slot)),))
        if kind < 0.36:
            two = random.sample(self.values[slot], 2)
            return Act("select", tuple(Item(slot, value) for value in two))
        if kind < 0.52:
            return Act(random.choice(("bye", "null", "repeat", *["hello", "reqmore"] * 3)))
        return self.system_inform()

    def system_inform(self) -> Act:
        """Draw an offer, an answer, or a message that nothing (else) matches."""
        random = self.random
        slots = self.some((*self.constraint_slots, *self.answers), 4)
        items = [Item(slot, self.answer(slot)) for slot in slots]
        kind = random.random()
        names = [Item("name", random.choice(self.names) if kind < 0.6 else NONE)]
        if kind > 0.8:
            excluded = random.sample(self.names, random.randint(1, len(self.names)))
            names += [Item("name", name, True) for name in excluded]
        if random.random() < 0.6:
            return Act("inform", (*names, *items))
        return Act("inform", (*items[:1], *names, *items[1:]))

    def user_act(self, system: Act) -> Act:
        """Draw any user act of the error channel, often about the system act."""
        random = self.random
        twice = ["inform", "request", "confirm", "affirm", "negate", "deny", "reqalts"] * 2
        name = random.choice(["inform", "inform", "inform", "request", *twice, *BARE])
        if name in BARE:
            return Act(name)
        if name == "request":
            asked = random.sample(self.requestable, random.randint(1, 2))
            named = [Item("name", random.choice(self.names))] * (random.random() < 0.3)
            return Act(name, (*map(Item, asked), *named))
        if name == "deny":
            slot = random.choice((*self.informable, "type"))
            two = [Item(slot, self.answer(slot)) for _ in range(2)]
            return Act(name, tuple(two[: random.randint(0, 2)]))
        if name in ("affirm", "negate", "reqalts") and random.random() < 0.6:
            return Act(name)
        # The specification does not cover dontcare for a confirmed name.
        confirms_name = system.name == "confirm" and system.items[0].slot == "name"
        unclear = name == "confirm" or confirms_name
        if not unclear and random.random() < 0.2:
            first = Item("", random.choice((DONTCARE, DONTCARE, self.entity_type)))
            return Act(name, (first, *self.constraint_inform().items[:1]))
        if system.items and random.random() < 0.4:
            slot = system.items[0].slot
            return Act(name, (Item(slot, self.answer(slot)),))
        slots = self.some({*self.informable, *self.requestable, "type"}, 3)
        return Act(name, tuple(Item(slot, self.answer(slot)) for slot in slots))

    def constraint_inform(self) -> Act:
        """Draw the most frequent user act: values of some constraints."""
        slots = self.some(self.constraint_slots, 5)
        return Act("inform", tuple(Item(slot, self.value(slot)) for slot in slots))
