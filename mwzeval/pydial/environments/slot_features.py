"""What policies see of a belief that are of no domain: of the dialogue, and the same of each slot.

Source: Wang et al., "Learning Domain-Independent Dialogue Policies via Ontology Parameterisation",
2015; Casanueva et al., "Feudal Reinforcement Learning for Dialogue Management in Large Domains",
2018. Values are looked at by their probabilities, not by what they are, and entities by what a slot
would still tell of those that match.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log

import numpy as np

from mwzeval.pydial.dialogue.acts import DONTCARE
from mwzeval.pydial.dialogue.belief import Belief, SlotBelief
from mwzeval.pydial.dialogue.domain import DISCOURSE_ACTS, METHODS, NAME, Domain
from mwzeval.pydial.environments.features import ABOUT_MATCHES, REMEMBERED, Summary, Vector

ENOUGH = 4
"""Accepted slots are counted so far; with so many masks allow offers."""
LARGE = log(100.0)
"""The logarithm of a number of values or slots is in units of this."""
OF_DIALOGUE = (
    *(f"method={method}" for method in METHODS),
    *(f"discourse_act={act}" for act in DISCOURSE_ACTS),
    "nothing_found",
    "offered",
    *(f"matches_{index}" for index in range(ABOUT_MATCHES)),
    "share_of_matches",
    *(f"accepted>={number}" for number in range(1, ENOUGH + 1)),
    "name_best",
    "name=**NONE**",
    "likeliest_request",
    "expected_requests",
    "slots",
)
"""Names of the numbers about the dialogue, which come first."""
OF_SLOT = (
    "is_there",
    "best",
    "second",
    "third",
    "**NONE**",
    "dontcare",
    "entropy",
    "accepted",
    "accepted=dontcare",
    "requested",
    "values",
    "binary",
    "told_by_it",
)
"""Names of the numbers about a slot, which follow for each slot in the order of its actions."""


def slots_in(size: int) -> int:
    """Return how many slots a vector of a size has. Raises `ValueError` where none has that."""
    slots, rest = divmod(size - len(OF_DIALOGUE), len(OF_SLOT))
    if rest or slots < 1:
        raise ValueError(f"expected the size of a vector of slots, got {size}")
    return slots


class SlotVector:
    """Lays out a belief by slots, shape (size,): `OF_DIALOGUE`, then `OF_SLOT` for each slot.

    Slots are those of constraints. Probabilities are as they are believed. Entropies, that of a
    belief ("entropy") and that of the values of the entities that match what is accepted
    ("told_by_it"), are in units of the largest that the slot can have. Numbers of values and slots
    are logarithms in units of `LARGE`, the share of matches that of the logarithm of the number of
    entities; "expected_requests" is the sum of the probabilities of requests, in units of how many
    slots can be asked for.
    """

    def __init__(self, domain: Domain) -> None:
        ontology = domain.ontology
        self._slots = ontology.constraint_slots
        self._table = domain.table
        self._requestable = len(ontology.requestable)
        self._largest = [log(len(ontology.informable[slot])) for slot in self._slots]
        self._uncertain = [log(len(ontology.informable[slot]) + 2) for slot in self._slots]
        self._values = [log(len(ontology.informable[slot])) / LARGE for slot in self._slots]
        self._binary = [float(slot in ontology.binary_slots) for slot in self._slots]
        self._entities = log(1 + len(domain.table.rows))
        self._number = log(len(self._slots)) / LARGE
        self.size = len(OF_DIALOGUE) + len(self._slots) * len(OF_SLOT)
        self._told: dict[int, tuple[float, ...]] = {}

    def __call__(self, belief: Belief, summary: Summary) -> Vector:
        """Return the vector of a belief, shape (size,)."""
        numbers = self._of_dialogue(belief, summary)
        requested = belief.requested
        told = self._told_by_slots(summary.rows)
        for index, slot in enumerate(self._slots):
            believed = belief.slots[slot]
            first, second, third = _three_likeliest(believed)
            accepted = believed.accepted
            numbers += (
                1.0,
                first,
                second,
                third,
                believed.none,
                believed.values.get(DONTCARE, 0.0),
                entropy((believed.none, *believed.values.values())) / self._uncertain[index],
                accepted is not None,
                accepted == DONTCARE,
                requested.get(slot, 0.0),
                self._values[index],
                self._binary[index],
                told[index],
            )
        return np.array(numbers, dtype=np.float32)

    def _of_dialogue(self, belief: Belief, summary: Summary) -> list[float]:
        named = belief.slots[NAME]
        requested = belief.requested.values()
        return [
            *belief.methods,
            *(belief.discourse_acts.get(act, 0.0) for act in DISCOURSE_ACTS),
            belief.nothing_found,
            belief.offered,
            *summary.matches,
            log(1 + summary.number) / self._entities,
            *(summary.count >= number for number in range(1, ENOUGH + 1)),
            named.best.probability,
            named.none,
            max(requested, default=0.0),
            sum(requested) / self._requestable,
            self._number,
        ]

    def _told_by_slots(self, rows: int) -> tuple[float, ...]:
        """Return for each slot how much its value tells of some rows."""
        told = self._told.get(rows)
        if told is None:
            if len(self._told) >= REMEMBERED:
                self._told.clear()
            number = rows.bit_count()
            told = self._told[rows] = tuple(
                entropy(count / number for count in self._table.counts(slot, rows)) / largest
                for slot, largest in zip(self._slots, self._largest, strict=True)
            )
        return told


def _three_likeliest(believed: SlotBelief) -> tuple[float, float, float]:
    first, second = believed.best.probability, believed.second.probability
    if len(believed.values) < 3:
        return first, second, 0.0
    return first, second, sorted(believed.values.values(), reverse=True)[2]


def entropy(probabilities: Iterable[float]) -> float:
    """Return the entropy of probabilities, in nats; what is not above 0 counts for nothing."""
    return -sum(p * log(p) for p in probabilities if p > 0.0)
