"""Beliefs as vectors of probabilities: one for neural policies, one for GP-SARSA.

Source: Casanueva et al. (2017), section 4, in the sizes of the published program (its Table 2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.acts import DONTCARE
from mwzeval.pydial.dialogue.belief import SPOKEN_BYE, Belief
from mwzeval.pydial.dialogue.ontology import METHODS, Ontology
from mwzeval.pydial.environments.summary import MATCHES, Summary

Vector = NDArray[np.float32]
ABOUT_MATCHES = 5 * MATCHES


class NeuralVector:
    """Lays out a belief: `names` say what each number is, shape (size,).

    For each informable slot its values in the order of the ontology, the mass of none of them and
    "dontcare"; methods; discourse acts; requested slots; whether nothing was found, whether an
    offer was made; what matches the accepted slots (`Summary.matches`).
    """

    def __init__(self, ontology: Ontology) -> None:
        names: list[str] = []
        self._values: list[tuple[str, int, dict[str, int]]] = []
        for slot, values in ontology.informable.items():
            places = {value: len(names) + index for index, value in enumerate(values)}
            none = len(names) + len(values)
            self._values.append((slot, none, {**places, DONTCARE: none + 1}))
            names += [f"{slot}={value}" for value in (*values, "**NONE**", DONTCARE)]
        self._methods = len(names)
        names += [f"method={method}" for method in METHODS]
        self._discourse = {act: len(names) + i for i, act in enumerate(ontology.discourse_acts)}
        names += [f"discourse_act={act}" for act in ontology.discourse_acts]
        self._requested = {slot: len(names) + i for i, slot in enumerate(ontology.requestable)}
        names += [f"requested={slot}" for slot in ontology.requestable]
        self._flags = len(names)
        names += ["nothing_found", "offered"]
        self._matches = len(names)
        names += [f"matches_{index}" for index in range(ABOUT_MATCHES)]
        self.names = tuple(names)
        self.size = len(names)
        self._nones = [none for _, none, _ in self._values]

    def __call__(self, belief: Belief, summary: Summary) -> Vector:
        """Return the vector of a belief, shape (size,)."""
        vector = np.zeros(self.size, dtype=np.float32)
        at: list[int] = []
        mass: list[float] = []
        slots = belief.slots
        for slot, none, places in self._values:
            believed = slots[slot]
            at.append(none)
            mass.append(believed.none)
            for value, probability in believed.values.items():
                place = places.get(value)
                if place is not None:
                    at.append(place)
                    mass.append(probability)
        for act, probability in belief.discourse_acts.items():
            if act in self._discourse:
                at.append(self._discourse[act])
                mass.append(probability)
        for slot, probability in belief.requested.items():
            at.append(self._requested[slot])
            mass.append(probability)
        vector[at] = mass
        start = self._methods
        vector[start : start + len(METHODS)] = belief.methods
        vector[self._flags] = belief.nothing_found
        vector[self._flags + 1] = belief.offered
        vector[self._matches :] = summary.matches
        return vector


class KernelVector:
    """Lays out a belief for GP-SARSA, shape (size,): what matters are inner products.

    For each informable slot the mass of no value and the other probabilities, sorted; discourse
    acts (with "bye"); methods; and a pair of p and 1 - p for each requested slot, each of what
    matches, whether an offer was made, and whether one was made since nothing was found.
    """

    def __init__(self, ontology: Ontology) -> None:
        self._values: list[tuple[str, int]] = []
        size = 0
        for slot, values in ontology.informable.items():
            self._values.append((slot, size))
            size += len(values) + 2
        acts = (*ontology.discourse_acts, SPOKEN_BYE)
        self._discourse = {act: size + index for index, act in enumerate(acts)}
        size += len(acts)
        self._methods = size
        size += len(METHODS)
        self._pairs = size
        self._requested = {slot: index for index, slot in enumerate(ontology.requestable)}
        self._asked = len(ontology.requestable)
        self._number = self._asked + ABOUT_MATCHES + 2
        self.size = size + 2 * self._number

    def __call__(
        self, belief: Belief, summary: Summary, *, legacy: bool = False
    ) -> NDArray[np.float64]:
        """Return the vector of a belief, shape (size,).

        In `legacy` the method "none" has the mass with which the published program chooses an
        action (what it keeps for learning is the vector without).
        """
        vector = np.zeros(self.size)
        at: list[int] = []
        mass: list[float] = []
        for slot, start in self._values:
            believed = belief.slots[slot]
            at.append(start)
            mass.append(believed.none)
            if believed.values:
                ranked = sorted(believed.values.values(), reverse=True)
                at += range(start + 1, start + 1 + len(ranked))
                mass += ranked
        for act, probability in belief.discourse_acts.items():
            at.append(self._discourse[act])
            mass.append(probability)
        vector[at] = mass
        start = self._methods
        vector[start : start + len(METHODS)] = belief.methods
        if legacy:
            vector[start] = 1.0 - sum(belief.methods)
        asked = [0.0] * self._asked
        for slot, probability in belief.requested.items():
            asked[self._requested[slot]] = probability
        since_none = bool(belief.offered_since_none)
        ones = np.array([*asked, *summary.matches, belief.offered, since_none], dtype=np.float64)
        pairs = vector[self._pairs :].reshape(self._number, 2)
        pairs[:, 0] = ones
        pairs[:, 1] = 1.0 - ones
        return vector
