"""Goals have the distribution of the original, and the conditions of a completed goal."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations, product
from math import prod, sqrt

import pytest

from mwzeval.errors import DataError
from mwzeval.pydial.acts import DONTCARE, Item
from mwzeval.pydial.domain import Domain, EntityTable, ontology_from_json
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator.goals import achieved as is_achieved
from mwzeval.pydial.simulator.goals import draw_goal
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tasks import TASKS
from tests.pydial.real_domains import CODES, domain, statistics
from tests.pydial.simulator.parts import simulation_of
from tests.pydial.small_domain import CAFES

DRAWN = 12_000
STANDARD_ERRORS = 3


def counts_of_ours(code: str) -> dict[str, Counter[str]]:
    simulation, table, rng = simulation_of(domain(code), legacy=True), domain(code).table, Rng(11)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for _ in range(DRAWN):
        goal = simulation.draw_user(rng)
        wanted = {item.slot: str(item.value) for item in goal.constraints}
        rows = table.everything
        for slot, value in wanted.items():
            rows &= table.everything if value == DONTCARE else table.having(slot, value)
        counts["constraint_slot_counts"].update(list(wanted))
        counts["request_slot_counts"].update(list(goal.requests))
        counts["num_dontcare_constraints"][str([*wanted.values()].count(DONTCARE))] += 1
        counts["matching_entities"][str(rows.bit_count())] += 1
        counts["num_requests_incl_name"][str(len(goal.requests))] += 1
        counts["patience"][str(simulation.d.patience)] += 1
    return counts


@pytest.mark.parametrize("code", CODES)
@pytest.mark.integration
def test_goals_match_the_original_within_three_standard_errors(code: str) -> None:
    theirs = dict(statistics()[f"env1-{code}"]["goals"])
    n, ours = theirs.pop("n"), counts_of_ours(code)
    assert theirs.keys() == ours.keys()
    far = {}
    for what, counted in theirs.items():
        for key in {*counted, *ours[what]}:
            our, their = ours[what][key], counted.get(key, 0)
            share = (our + their) / (DRAWN + n)
            difference = our / DRAWN - their / n
            if abs(difference) > STANDARD_ERRORS * sqrt(share * (1 - share) * (1 / n + 1 / DRAWN)):
                far[what, key] = difference
    assert not far


def test_goal_frequencies_match_the_enumerated_probabilities() -> None:
    ontology, rows = CAFES.ontology, CAFES.table.rows
    weights: Counter[frozenset[Item]] = Counter()
    for slots in permutations(ontology.constraint_slots, 3):
        spaces = [ontology.values_and_dontcare[slot] for slot in slots]
        for values in product(*spaces):
            pairs = list(zip(slots, values, strict=True))
            matching = sum(all(v in (DONTCARE, row[s]) for s, v in pairs) for row in rows)
            if matching in (2, 3):
                weights[frozenset(map(Item, slots, values))] += 1 / prod(map(len, spaces))  # type: ignore[assignment]
    simulation, n = simulation_of(CAFES), 20_000
    simulation.d.rng = Rng(2)
    drawn: Counter[frozenset[Item]] = Counter()
    for _ in range(n):
        assert draw_goal(simulation.t, simulation.d)
        drawn[frozenset(simulation.view.goal.constraints)] += 1
    assert set(drawn) <= set(weights)
    expected = {goal: n * weight / weights.total() for goal, weight in weights.items()}
    chi_square = sum((drawn[goal] - number) ** 2 / number for goal, number in expected.items())
    degrees = len(weights) - 1
    assert abs(chi_square - degrees) < 4 * sqrt(2 * degrees)


def test_drawn_patience_includes_six_turns_unless_legacy() -> None:
    rng = Rng(1)
    for legacy, turns in ((False, {4, 5, 6}), (True, {4, 5})):
        simulation, found = simulation_of(CAFES, legacy=legacy), set()
        for _ in range(200):
            simulation.draw_user(rng)
            found.add(simulation.d.patience)
        assert found == turns


def test_a_domain_without_acceptable_goals_is_refused() -> None:
    plain = {
        "type": "inn",
        "requestable": ["name", "area"],
        "system_requestable": ["area"],
        "informable": {"name": ["x"], "area": ["north", "south"]},
    }
    ontology = ontology_from_json("Inns", plain)
    one_inn = Domain(ontology, EntityTable(ontology, [{"name": "x", "area": "north"}]))
    with pytest.raises(DataError, match="Inns"):
        Simulation(one_inn, TASKS["CR-1"]).begin(Rng(1))


@pytest.mark.parametrize(
    ("constraints", "requests", "achieved"),
    [
        ([Item("area", "north")], {"name": "anna"}, True),
        ([Item("area", "north")], {"name": "ANNA"}, True),
        ([Item("area", "north")], {"name": "anna", "phone": "not available"}, True),
        ([Item("area", "north")], {"name": "anna", "phone": None}, False),
        ([Item("area", "north")], {"name": None}, False),
        ([Item("area", "north")], {"name": "none"}, False),
        ([Item("area", "south")], {"name": "anna"}, False),
        ([Item("area", DONTCARE)], {"name": "anna"}, True),
        ([Item("area", "north"), Item("name", "anna")], {"name": "anna"}, True),
        ([Item("area", "north"), Item("name", "bella")], {"name": "anna"}, False),
        ([Item("area", "north"), Item("name", DONTCARE)], {"name": "anna"}, True),
        ([Item("name", "anna", True), Item("area", "north")], {"name": "anna"}, False),
        ([Item("name", "bella", True), Item("area", "north")], {"name": "anna"}, True),
        # Two cafés in the north and south are called "twin"; either of them may satisfy the goal.
        ([Item("area", "south")], {"name": "twin"}, True),
        ([Item("area", "centre")], {"name": "twin"}, False),
    ],
)
def test_goals_need_a_matching_venue_and_all_answers(
    constraints: list[Item], requests: dict[str, str | None], achieved: bool
) -> None:
    simulation = simulation_of(CAFES)
    simulation.view.put_goal(Goal(constraints, requests))
    assert is_achieved(simulation.t, simulation.d) is achieved
