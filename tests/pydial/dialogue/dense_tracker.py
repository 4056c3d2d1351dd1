"""The tracker's formulas written down for whole distributions: slow, and another way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.acts import DONTCARE, Act
from mwzeval.pydial.dialogue.domain import Ontology

Scored = list[tuple[Act, float]]


class DenseGoals:
    """Goals of all slots, for acts that only inform: b <- (1 - sum u) b + u."""

    def __init__(self, ontology: Ontology) -> None:
        self.values = {slot: [*values, DONTCARE] for slot, values in ontology.informable.items()}
        self.masses: dict[str, NDArray[np.float64]] = {
            slot: np.zeros(len(values)) for slot, values in self.values.items()
        }

    def update(self, hypotheses: Scored) -> None:
        total = sum(score for _, score in hypotheses)
        for slot, values in self.values.items():
            heard = np.zeros(len(values))
            for act, score in hypotheses:
                said = [item.value for item in act.items if item.slot == slot]
                if said:  # of several values the last counts
                    heard[values.index(str(said[-1]))] += score / total
            mass = max(0.0, 1.0 - heard.sum()) * self.masses[slot] + heard
            self.masses[slot] = mass / mass.sum() if mass.sum() > 1 else mass

    def probability(self, slot: str, value: str) -> float:
        return float(self.masses[slot][self.values[slot].index(value)])
