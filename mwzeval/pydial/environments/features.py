"""What policies see of a belief: a summary, and vectors of probabilities.

A summary holds the accepted slots and what matches them. There are two vectors, one for neural
policies and one for GP-SARSA. Source: Casanueva et al. (2017), section 4, in the sizes of the
published program (its Table 2).

Where nothing else decides, slots are ordered as by the published program, which ran on Python 2,
whose dictionaries are ordered by hash. That order is the same in every run, so it is part of the
benchmark: of equally probable slots it says which is counted first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.acts import DONTCARE
from mwzeval.pydial.dialogue.belief import SPOKEN_BYE, Belief
from mwzeval.pydial.dialogue.domain import METHODS, Domain, Ontology, Pairs, effective

Slots = tuple[str, ...]
_ALL_BITS = 2**64 - 1
SMALLEST = 8


def alphabetical(slots: Slots) -> Slots:
    """Return the slots from a to z."""
    return tuple(sorted(slots))


@lru_cache(2**14)
def by_legacy_hash(slots: Slots) -> Slots:
    """Return the slots as a Python 2 dictionary lists them that they were put in alphabetically."""
    return _dictionary_order(sorted(slots))


@lru_cache(2**14)
def after_name(slots: Slots, name: str) -> Slots:
    """Return the name and the slots as the Python 2 dictionary of an offer lists them."""
    return _dictionary_order((name, *slots))


def _dictionary_order(keys: Iterable[str]) -> Slots:
    """Return distinct keys in the order of a 64-bit Python 2 dictionary that they are put in."""
    table: list[str | None] = [None] * SMALLEST
    for used, key in enumerate(keys, start=1):
        _put(key, table)
        if used * 3 >= len(table) * 2:
            size = SMALLEST
            while size <= used * 4:
                size *= 2
            old, table = table, [None] * size
            for present in old:
                if present is not None:
                    _put(present, table)
    return tuple(key for key in table if key is not None)


def _put(key: str, table: list[str | None]) -> None:
    place = perturbed = python2_hash(key)
    size = len(table)
    while table[place % size] is not None:
        place = (5 * place + perturbed + 1) & _ALL_BITS
        perturbed >>= 5
    table[place % size] = key


def python2_hash(text: str) -> int:
    """Return the hash of a text, which is not empty, in a 64-bit Python 2."""
    hashed = ord(text[0]) << 7
    for character in text:
        hashed = ((1000003 * hashed) & _ALL_BITS) ^ ord(character)
    return hashed ^ len(text)


CERTAIN = 0.5
"""A slot is asked for, and a discourse act made, if that is likelier than this."""
MATCHES = 5
"""For the best 1, 2, … of so many accepted slots it is told how many entities match."""
FEW = 4
REMEMBERED = 2**14
NO_METHOD = METHODS.index("none")
TOLD_IF_LIKELY = frozenset({"finished", "restart"})


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """The accepted slots of a belief and what the entity table says about them.

    `accepted` holds (slot, value), the likeliest first; `listed` the same pairs in the order of the
    slots. `rows` is the bit set of matching entities. `matches` are five truth values for each
    k = 1..5, about the k likeliest: no entity, one, 2 to 4, more, and whether another slot would
    tell the matching ones apart.
    """

    accepted: Pairs
    listed: Pairs
    rows: int
    number: int
    discriminable: bool
    matches: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many slots are accepted."""
        return len(self.accepted)


class Summarizer:
    """Makes summaries of the beliefs about a domain, each once."""

    def __init__(self, domain: Domain, *, legacy: bool = False) -> None:
        self._slots = domain.ontology.constraint_slots
        self._table = domain.table
        self.order = by_legacy_hash if legacy else alphabetical
        self._known: dict[Pairs, Summary] = {}
        self._last: tuple[Belief | None, int, Summary] = (None, 0, self._summary(()))

    def __call__(self, belief: Belief) -> Summary:
        """Return the summary of a belief."""
        last, revision, summary = self._last
        if last is belief and revision == belief.revision:
            return summary
        summary = self._summary_of(belief)
        self._last = belief, belief.revision, summary
        return summary

    def _summary_of(self, belief: Belief) -> Summary:
        accepted = {
            slot: believed
            for slot in self._slots
            if (believed := belief.slots[slot]).accepted is not None
        }
        ordered = self.order(tuple(accepted))
        if len(ordered) > 1:
            ordered = tuple(
                sorted(ordered, key=lambda s: accepted[s].best.probability, reverse=True)
            )
        pairs = tuple((slot, accepted[slot].best.value) for slot in ordered)
        summary = self._known.get(pairs)
        if summary is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            summary = self._known[pairs] = self._summary(pairs)
        return summary

    def _summary(self, accepted: Pairs) -> Summary:
        order = self.order(tuple(slot for slot, _ in accepted))
        values = dict(accepted)
        rows = self._table.matching(effective(accepted))
        return Summary(
            accepted=accepted,
            listed=tuple((slot, values[slot]) for slot in order),
            rows=rows,
            number=rows.bit_count(),
            discriminable=self._table.discriminable(accepted),
            matches=tuple(
                flag for k in range(1, MATCHES + 1) for flag in self._about(accepted[:k])
            ),
        )

    def _about(self, pairs: Pairs) -> tuple[int, ...]:
        number = self._table.matching(effective(pairs)).bit_count()
        return (
            int(number == 0),
            int(number == 1),
            int(1 < number <= FEW),
            int(number > FEW),
            int(self._table.discriminable(pairs)),
        )


def method_of(belief: Belief, *, legacy: bool = False) -> str:
    """Return how the user goes about it: one of `METHODS` but "none", which is "byconstraints".

    In `legacy` the mass of "none" is what the others and itself leave over, which is next to
    nothing: the likeliest other method counts, however unlikely it is.
    """
    methods = list(belief.methods)
    if legacy:
        methods[NO_METHOD] = 1.0 - sum(methods)
    best = max(methods)
    method = METHODS[methods.index(best)]
    if method == "none" or (method in TOLD_IF_LIKELY and best <= CERTAIN):
        return "byconstraints"
    return method


def is_said(belief: Belief, *discourse_acts: str) -> bool:
    """Tell whether one of some discourse acts was probably made."""
    return any(belief.discourse_acts.get(act, 0.0) > CERTAIN for act in discourse_acts)


def asked_slots(belief: Belief) -> tuple[str, ...]:
    """Return the slots that the user probably asks for."""
    return tuple(slot for slot, p in belief.requested.items() if p > CERTAIN)


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
        self.places: list[tuple[str, int, dict[str, int]]] = []
        for slot, values in ontology.informable.items():
            places = {value: len(names) + index for index, value in enumerate(values)}
            none = len(names) + len(values)
            self.places.append((slot, none, {**places, DONTCARE: none + 1}))
            names += [f"{slot}={value}" for value in (*values, "**NONE**", DONTCARE)]
        self.methods = len(names)
        names += [f"method={method}" for method in METHODS]
        self.discourse = {act: len(names) + i for i, act in enumerate(ontology.discourse_acts)}
        names += [f"discourse_act={act}" for act in ontology.discourse_acts]
        self.requested = {slot: len(names) + i for i, slot in enumerate(ontology.requestable)}
        names += [f"requested={slot}" for slot in ontology.requestable]
        self.flags = len(names)
        names += ["nothing_found", "offered"]
        self._matches = len(names)
        names += [f"matches_{index}" for index in range(ABOUT_MATCHES)]
        self.names = tuple(names)
        self.size = len(names)
        self._nones = [none for _, none, _ in self.places]

    def __call__(self, belief: Belief, summary: Summary) -> Vector:
        """Return the vector of a belief, shape (size,)."""
        vector = np.zeros(self.size, dtype=np.float32)
        at: list[int] = []
        mass: list[float] = []
        slots = belief.slots
        for slot, none, places in self.places:
            believed = slots[slot]
            at.append(none)
            mass.append(believed.none)
            for value, probability in believed.values.items():
                place = places.get(value)
                if place is not None:
                    at.append(place)
                    mass.append(probability)
        for act, probability in belief.discourse_acts.items():
            if act in self.discourse:
                at.append(self.discourse[act])
                mass.append(probability)
        for slot, probability in belief.requested.items():
            at.append(self.requested[slot])
            mass.append(probability)
        vector[at] = mass
        start = self.methods
        vector[start : start + len(METHODS)] = belief.methods
        vector[self.flags] = belief.nothing_found
        vector[self.flags + 1] = belief.offered
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
