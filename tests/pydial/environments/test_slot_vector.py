"""Beliefs by slots, against what beliefs and rows say when they are counted."""

from __future__ import annotations

from collections import Counter
from math import log
from random import Random

import numpy as np
import pytest

from mwzeval.pydial.dialogue.acts import DONTCARE
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.domain import Domain
from mwzeval.pydial.dialogue.tracker import Tracker
from mwzeval.pydial.environments.features import Summarizer
from mwzeval.pydial.environments.slot_features import (
    OF_DIALOGUE,
    OF_SLOT,
    SlotVector,
    slots_in,
)
from tests.pydial.dialogue.random_acts import RandomActs, domain_named

DEMO = ("Demo-CR", "Demo-SFR", "Demo-LAP")


def uncertainty(probabilities: list[float]) -> float:
    return float(sum(p * -np.log(p) for p in probabilities if p > 0))


def counted(domain: Domain, belief: Belief) -> list[float]:
    """Return the numbers of a belief, in the words of the module that lays them out."""
    ontology, rows = domain.ontology, domain.table.rows
    accepted = {
        slot: believed.accepted
        for slot in ontology.constraint_slots
        if (believed := belief.slots[slot]).accepted is not None
    }
    matching = [
        row
        for row in rows
        if all(row[slot].lower() == value for slot, value in accepted.items() if value != DONTCARE)
    ]
    named, asked = belief.slots["name"], list(belief.requested.values())
    numbers = [
        *belief.methods,
        *(belief.discourse_acts.get(act, 0.0) for act in
          ("ack", "hello", "none", "repeat", "silence", "thankyou")),
        float(belief.nothing_found),
        float(belief.offered),
        *(float(flag) for flag in Summarizer(domain)(belief).matches),
        log(len(matching) + 1) / log(len(rows) + 1),
        *(float(len(accepted) > below) for below in range(4)),
        max(named.values.values(), default=0.0),
        1 - sum(named.values.values()),
        max([0.0, *asked]),
        sum(asked) / len(ontology.requestable),
        log(len(ontology.constraint_slots)) / log(100),
    ]  # fmt: skip
    for slot in ontology.constraint_slots:
        believed, values = belief.slots[slot], ontology.informable[slot]
        masses = sorted(believed.values.values(), reverse=True)
        there = Counter(row[slot].lower() for row in matching)
        shares = [number / len(matching) for number in there.values()]
        numbers += [
            1.0,
            *(masses + [0.0] * 3)[:3],
            1 - sum(masses),
            belief.probability(slot, DONTCARE),
            uncertainty([*masses, 1 - sum(masses)]) / log(len(values) + 2),
            float(slot in accepted),
            float(accepted.get(slot) == DONTCARE),
            belief.requested.get(slot, 0.0),
            log(len(values)) / log(100),
            float(set(values) == {"0", "1"}),
            uncertainty(shares) / log(len(values)),
        ]
    return numbers


@pytest.mark.parametrize("code", ["Cafes", *DEMO])
def test_the_vector_is_what_is_counted(code: str) -> None:
    domain = domain_named(code)
    layout, summarizer, seen = SlotVector(domain), Summarizer(domain), set()
    assert layout.size == len(OF_DIALOGUE) + len(OF_SLOT) * len(domain.ontology.constraint_slots)
    for seed in range(12):
        random, tracker = Random(seed), Tracker(domain)
        acts = RandomActs(domain, random)
        tracker.begin()
        for _ in range(8):
            system = acts.system_act()
            heard = [(acts.user_act(system), score) for score in (0.5, 0.3, 0.15)]
            belief = tracker.update(system, heard)
            vector = layout(belief, summarizer(belief))
            assert vector.dtype == np.float32
            np.testing.assert_allclose(vector, counted(domain, belief), atol=1e-5)
            seen |= set(np.flatnonzero(vector[len(OF_DIALOGUE) :] % 1) % len(OF_SLOT))
    assert len(seen) >= 7, "the probabilities, entropies and sizes of slots were met"


def test_sizes_tell_the_number_of_slots() -> None:
    sizes = [SlotVector(domain_named(code)).size for code in DEMO]
    assert [slots_in(size) for size in sizes] == [3, 6, 11]
    for wrong in (0, len(OF_DIALOGUE), sizes[0] + 1):
        with pytest.raises(ValueError, match="slots"):
            slots_in(wrong)
