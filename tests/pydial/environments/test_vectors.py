"""Beliefs as vectors: sizes, contents, and the order of slots."""

from __future__ import annotations

import numpy as np
import pytest

from mwzeval.pydial.dialogue.acts import DONTCARE, Act, parse_act
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.domain import METHODS
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
from tests.places import read_json, shared
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
