"""What the system believes: sparse distributions, kept with what policies ask of them most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mwzeval.pydial.dialogue.domain import METHODS, NAME, Ontology

SPOKEN_BYE = "bye"
"""A discourse act that the tracker knows beside those of the ontology."""


class Ranked(NamedTuple):
    """A value and its probability."""

    value: str
    probability: float


NOTHING = Ranked("", 0.0)


class SlotBelief:
    """The distribution of one slot over its values and "dontcare"; `none` is what is left over.

    Only values with some probability are there. `best` and `second` are the two likeliest values
    (`NOTHING` where there are fewer). `accepted` is the best value if it beats `none` and exceeds
    1 / (number of values - 0.1), else None.
    """

    __slots__ = ("accepted", "best", "none", "second", "threshold", "values")

    def __init__(self, values: int) -> None:
        self.threshold = 1 / (values - 0.1)
        self.forget()

    def forget(self) -> None:
        """Be sure of nothing again."""
        self.values: dict[str, float] = {}
        self.none = 1.0
        self.best = self.second = NOTHING
        self.accepted: str | None = None

    def update(self, scores: Mapping[str, float]) -> None:
        """Take in the scores of the values that hypotheses gave; they sum up to 1 at most."""
        values = self.values
        total = sum(scores.values())
        if values:
            kept = 1.0 - total
            values = {v: kept * p for v, p in values.items()} if kept > 0.0 else {}
            for value, score in scores.items():
                values[value] = values.get(value, 0.0) + score
            total = sum(values.values())
        else:
            values = dict(scores)
        if total > 1.0:
            values = {value: p / total for value, p in values.items()}
            total = 1.0
        self.values = values
        self.none = 1.0 - total
        self._rank()

    def _rank(self) -> None:
        best, second = "", ""
        highest, next_highest = 0.0, 0.0
        for value, probability in self.values.items():
            if probability > highest:
                second, next_highest = best, highest
                best, highest = value, probability
            elif probability > next_highest:
                second, next_highest = value, probability
        self.best, self.second = Ranked(best, highest), Ranked(second, next_highest)
        self.accepted = best if highest > self.none and highest > self.threshold else None


class Belief:
    """What is believed after an exchange. A tracker changes it; everyone else reads.

    `methods` are the probabilities of `METHODS`; `discourse_acts` and `requested` hold only what
    has some probability. `last_offered` is a name or "", `offered_since_none` the names that were
    offered since nothing was found the last time, in order and with repetitions. `revision` grows
    whenever the belief about a slot changes.
    """

    __slots__ = (
        "discourse_acts",
        "last_offered",
        "methods",
        "nothing_found",
        "offered",
        "offered_since_none",
        "requested",
        "revision",
        "slots",
    )

    def __init__(self, ontology: Ontology) -> None:
        self.slots = {slot: SlotBelief(len(of)) for slot, of in ontology.informable.items()}
        self.revision = 0
        self.begin()

    def begin(self) -> None:
        """Start a dialogue: nothing is known, nothing was said."""
        for slot in self.slots.values():
            if slot.values:
                slot.forget()
        self.revision += 1
        self.methods = [1.0] + [0.0] * (len(METHODS) - 1)
        self.discourse_acts: dict[str, float] = {}
        self.requested: dict[str, float] = {}
        self.last_offered = ""
        self.offered_since_none: list[str] = []
        self.nothing_found = False
        self.offered = False

    def probability(self, slot: str, value: str) -> float:
        """Return the probability of a value."""
        return self.slots[slot].values.get(value, 0.0)

    def top_name(self) -> str | None:
        """Return the likeliest name, None where no name is likelier than each."""
        named = self.slots[NAME]
        return named.best.value if named.best.probability > named.none else None
