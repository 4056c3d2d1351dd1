"""Beliefs as vectors, by values and by slots: sizes, contents, and the order of slots."""

from __future__ import annotations

from collections import Counter
from math import log
from random import Random

import numpy as np
import pytest

from mwzeval.pydial.dialogue.acts import DONTCARE, Act, parse_act
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.domain import METHODS, Domain
from mwzeval.pydial.dialogue.tracker import Tracker
from mwzeval.pydial.environments.features import (
    KernelVector,
    NeuralVector,
    Summarizer,
    Summary,
    after_name,
    alphabetical,
    by_legacy_hash,
)
from mwzeval.pydial.environments.slot_features import (
    OF_DIALOGUE,
    OF_SLOT,
    SlotVector,
    slots_in,
)
from tests.places import read_json, shared
from tests.pydial.dialogue.random_acts import RandomActs, domain_named
from tests.pydial.real_domains import CODES, domain
from tests.pydial.small_domain import CAFES

ONTOLOGY = CAFES.ontology


@pytest.fixture
def exchange() -> tuple[Belief, Summary]:
    tracker = Tracker(CAFES)
    tracker.begin()
    for system, heard in (
        ("hello()", [('inform(area="north",food="pie")', 0.7), ('inform(area="south")', 0.3)]),
        ("request(quiet)", [('inform(="dontcare")', 0.9), ("ack()", 0.1)]),
        ('inform(name="anna")', [("request(phone,area)", 0.6), ("bye()", 0.4)]),
    ):
        belief = tracker.update(parse_act(system), [(parse_act(a), s) for a, s in heard])
    return belief, Summarizer(CAFES)(belief)


@pytest.mark.integration
@pytest.mark.parametrize("code", CODES)
def test_sizes_are_the_published_ones(code: str) -> None:
    of = domain(code)
    facts = read_json(shared("data", "pydial", "domain_facts.json"))[of.name]
    assert NeuralVector(of.ontology).size == facts["nn_state_dim"]
    assert KernelVector(of.ontology).size == facts["gp_state_dim"]


def test_the_neural_vector_holds_every_probability(exchange: tuple[Belief, Summary]) -> None:
    belief, summary = exchange
    layout = NeuralVector(ONTOLOGY)
    expected: list[float] = []
    for slot, values in ONTOLOGY.informable.items():
        expected += [belief.probability(slot, value) for value in values]
        expected += [belief.slots[slot].none, belief.probability(slot, DONTCARE)]
    expected += belief.methods
    expected += [belief.discourse_acts.get(act, 0.0) for act in ONTOLOGY.discourse_acts]
    expected += [belief.requested.get(slot, 0.0) for slot in ONTOLOGY.requestable]
    expected += [belief.nothing_found, belief.offered, *summary.matches]
    vector = layout(belief, summary)
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector, expected, rtol=1e-6)
    named = dict(zip(layout.names, vector.tolist(), strict=True))
    assert named["area=south"] == pytest.approx(0.3)
    assert named["requested=phone"] == pytest.approx(0.6)
    assert named["quiet=dontcare"] == pytest.approx(0.9)


def test_the_kernel_vector_sorts_values_and_pairs_the_rest(
    exchange: tuple[Belief, Summary],
) -> None:
    belief, summary = exchange
    expected: list[float] = []
    for slot, values in ONTOLOGY.values_and_dontcare.items():
        of = [belief.probability(slot, value) for value in values]
        expected += [belief.slots[slot].none, *sorted(of, reverse=True)]
    acts = (*ONTOLOGY.discourse_acts, "bye")
    expected += [belief.discourse_acts.get(act, 0.0) for act in acts]
    expected += belief.methods
    flags = [belief.requested.get(slot, 0.0) for slot in ONTOLOGY.requestable]
    flags += [*summary.matches, belief.offered, bool(belief.offered_since_none)]
    for flag in flags:
        expected += [flag, 1 - flag]
    layout = KernelVector(ONTOLOGY)
    np.testing.assert_allclose(layout(belief, summary), expected)
    # The published program chooses with another mass of no method than it learns from.
    changed = layout(belief, summary, legacy=True) - layout(belief, summary)
    none = METHODS.index("none")
    assert np.count_nonzero(changed) <= 1
    assert changed.sum() == pytest.approx(1 - sum(belief.methods) - belief.methods[none])


def test_vectors_are_new_ones(exchange: tuple[Belief, Summary]) -> None:
    layout = NeuralVector(ONTOLOGY)
    first = layout(*exchange)
    first[:] = -1
    assert (layout(*exchange) >= 0).all()
    tracker = Tracker(CAFES)
    tracker.begin()
    tracker.update(Act("hello"), [(parse_act('inform(food="unheard of")'), 1.0)])
    vector = layout(tracker.belief, Summarizer(CAFES)(tracker.belief))
    assert vector[layout.names.index("food=**NONE**")] == 0


@pytest.mark.integration
def test_ties_are_broken_as_by_python_2() -> None:
    order = read_json(shared("data", "pydial", "legacy_tie_order.json"))["order"]
    sets = [(slots, listed) for of in order.values() for slots, listed in of.items()]
    assert len(sets) == 2117
    wrong = {s for s, listed in sets if "|".join(by_legacy_hash(tuple(s.split("|")))) != listed}
    assert not wrong


@pytest.mark.parametrize(
    ("slots", "offered"),
    [
        (("area", "food", "pricerange"), ("food", "pricerange", "name", "area")),
        (("area", "food"), ("food", "name", "area")),
        (
            by_legacy_hash(("allowedforkids", "area", "food", "pricerange")),
            ("food", "allowedforkids", "pricerange", "name", "area"),
        ),
        (
            by_legacy_hash(("batteryrating", "driverange", "family", "utility")),
            ("batteryrating", "driverange", "name", "family", "utility"),
        ),
    ],
)
def test_offers_list_their_slots_as_in_the_traces(
    slots: tuple[str, ...], offered: tuple[str, ...]
) -> None:
    assert after_name(slots, "name") == offered


def test_the_clean_order_is_that_of_the_alphabet() -> None:
    assert alphabetical(("food", "area")) == ("area", "food")


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
