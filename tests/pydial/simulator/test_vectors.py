"""Beliefs as vectors: sizes, contents, and the order of slots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mwzeval.pydial.acts import DONTCARE, Act, parse_act
from mwzeval.pydial.domain import METHODS
from mwzeval.pydial.simulator.codes import Codes
from mwzeval.pydial.simulator.system import order, sort_as_dictionary, write_vector
from mwzeval.pydial.simulator.tables import vector_names
from mwzeval.pydial.simulator.view import kernel_size
from tests.places import read_json, shared
from tests.pydial.real_domains import CODES, domain
from tests.pydial.simulator.parts import Tracker, simulation_of
from tests.pydial.simulator.random_acts import domain_named
from tests.pydial.small_domain import CAFES

ONTOLOGY = CAFES.ontology
NAMES = vector_names(Codes(CAFES))


@pytest.fixture(params=[False, True], ids=["clean", "legacy"])
def tracker(request: pytest.FixtureRequest) -> Tracker:
    return Tracker(CAFES, legacy=request.param).after(
        (
            "hello()",
            [
                ('inform(area="north",food="pie")', 0.6),
                ('inform(area="south")', 0.3),
                ("null()", 0.1),
            ],
        ),
        ("request(quiet)", [('inform(="dontcare")', 0.9), ("ack()", 0.1)]),
        ('inform(name="anna")', [("request(phone,area)", 0.6), ("bye()", 0.3), ("null()", 0.1)]),
    )


def neural_vector(tracker: Tracker) -> list[float]:
    vector = [0.0] * len(NAMES)
    write_vector(tracker.t, tracker.d, vector)
    return vector


def ordered(code: str, slots: list[str], sort: Any = order, *, legacy: bool = True) -> list[str]:
    simulation = simulation_of(domain_named(code), legacy=legacy)
    numbers = [simulation.codes.slot[slot] for slot in slots]
    sort(simulation.t, numbers, len(numbers))
    return [simulation.codes.slots[number] for number in numbers]


@pytest.mark.integration
@pytest.mark.parametrize("code", CODES)
def test_vector_sizes_match_the_published_sizes(code: str) -> None:
    task_domain = domain(code)
    facts = read_json(shared("data", "pydial", "domain_facts.json"))[task_domain.name]
    assert len(vector_names(Codes(task_domain))) == facts["nn_state_dim"]
    assert kernel_size(Codes(task_domain)) == facts["gp_state_dim"]


def test_neural_vector_contains_every_probability(tracker: Tracker) -> None:
    belief = tracker.belief
    expected: list[float] = []
    for slot, values in ONTOLOGY.informable.items():
        expected += [belief.probability(slot, value) for value in values]
        expected += [belief.slots[slot].none, belief.probability(slot, DONTCARE)]
    expected += belief.methods
    expected += [belief.discourse_acts.get(act, 0.0) for act in ONTOLOGY.discourse_acts]
    expected += [belief.requested.get(slot, 0.0) for slot in ONTOLOGY.requestable]
    expected += [belief.nothing_found, belief.offered, *tracker.d.matches]
    vector = neural_vector(tracker)
    np.testing.assert_allclose(vector, expected, rtol=1e-6)
    named = dict(zip(NAMES, vector, strict=True))
    assert named["area=south"] == pytest.approx(0.3)
    assert named["requested=phone"] == pytest.approx(0.6)
    assert named["quiet=dontcare"] == pytest.approx(0.9)


def test_kernel_vector_sorts_values_and_adds_complements_of_flags(tracker: Tracker) -> None:
    belief = tracker.belief
    expected: list[float] = []
    for slot, values in ONTOLOGY.values_and_dontcare.items():
        probabilities = [belief.probability(slot, value) for value in values]
        expected += [belief.slots[slot].none, *sorted(probabilities, reverse=True)]
    acts = (*ONTOLOGY.discourse_acts, "bye")
    expected += [belief.discourse_acts.get(act, 0.0) for act in acts]
    expected += belief.methods
    flags = [belief.requested.get(slot, 0.0) for slot in ONTOLOGY.requestable]
    flags += [*tracker.d.matches, belief.offered, bool(belief.offered_since_none)]
    for flag in flags:
        expected += [flag, 1 - flag]
    learning = tracker.view.kernel_vector(choosing=False)
    np.testing.assert_allclose(learning, expected)
    # In the published program, the probability of no method differs between choosing and learning.
    changed = tracker.view.kernel_vector(choosing=True) - learning
    assert np.count_nonzero(changed) <= 1
    rest = 1 - sum(belief.methods) - belief.methods[METHODS.index("none")]
    assert changed.sum() == pytest.approx(rest if tracker.simulation.legacy else 0)


def test_unknown_values_are_ignored_in_belief_vectors() -> None:
    tracker = Tracker(CAFES)
    tracker.update(Act("hello"), [(parse_act('inform(food="unheard of")'), 1.0)])
    assert tracker.belief.probability("food", "unheard of") == 1
    assert neural_vector(tracker)[NAMES.index("food=**NONE**")] == 0


@pytest.mark.integration
def test_tie_order_matches_python_2() -> None:
    orders = read_json(shared("data", "pydial", "legacy_tie_order.json"))["order"]
    assert sum(map(len, orders.values())) == 2117
    for code in CODES:
        for slots, listed in orders[domain(code).name].items():
            assert ordered(code, slots.split("|")) == listed.split("|")


@pytest.mark.parametrize(
    ("code", "slots", "offered"),
    [
        ("Cafes", "area food pricerange", "food pricerange name area"),
        ("Cafes", "area food", "food name area"),
        pytest.param(
            *("SFR", "allowedforkids area food pricerange"),
            "food allowedforkids pricerange name area",
            marks=pytest.mark.integration,
        ),
        pytest.param(
            *("LAP", "batteryrating driverange family utility"),
            "batteryrating driverange name family utility",
            marks=pytest.mark.integration,
        ),
    ],
)
def test_slots_are_in_trace_order_in_legacy_and_otherwise_alphabetical(
    code: str, slots: str, offered: str
) -> None:
    listed = ordered(code, slots.split())
    assert ordered(code, ["name", *listed], sort_as_dictionary) == offered.split()
    assert ordered(code, listed, legacy=False) == slots.split()
