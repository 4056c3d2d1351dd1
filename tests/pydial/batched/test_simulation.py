"""Dialogues in batches are those of the scalar simulation, turn by turn, to the last bit."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.pydial.batched.decoding import decoded
from mwzeval.pydial.batched.kernel.sums import rounded, summed
from mwzeval.pydial.batched.simulation import BatchedSimulation, PlaceRng
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.dialogue.rng import rng_from
from mwzeval.pydial.dialogue.simulation import Simulation
from mwzeval.pydial.environments.decision_process import DecisionProcess
from mwzeval.pydial.tasks import DEMO, PUBLISHED_TASKS, TASKS
from tests.pydial.real_domains import domain

DEMO_TASKS = [name for name in TASKS if name.startswith(DEMO)]


def state_of(simulation: Simulation) -> dict[str, Any]:
    """Return all that can be told of a dialogue."""
    assert simulation.user is not None
    user, belief = simulation.user.state, simulation.belief
    return {
        "exchange": (simulation.exchange, simulation.ended),
        "acts": [str(simulation.system_act), str(simulation.said), str(user.last_said)],
        "heard": [(str(act), score) for act, score in simulation.heard],
        "goal": ([str(item) for item in user.goal.constraints], list(user.goal.requests.items())),
        "used": (user.goal.used, user.goal.told_nothing_matches),
        "agenda": [str(act) for act in user.agenda],
        "user": (user.parameters, user.patience, user.max_patience, user.first_offer_pending),
        "slots": {
            slot: (list(of.values.items()), of.none, of.best, of.second, of.accepted)
            for slot, of in belief.slots.items()
        },
        "methods": belief.methods,
        "discourse_acts": {act: mass for act, mass in belief.discourse_acts.items() if mass},
        "requested": {slot: mass for slot, mass in belief.requested.items() if mass},
        "offers": (belief.last_offered, belief.offered_since_none, belief.offered),
        "memory": (belief.nothing_found, simulation.tracker.offered_before),
    }


def play_both(process: DecisionProcess, places: int, steps: int, seed: int) -> int:
    """Play the same dialogues both ways with random actions; return how many have ended."""
    batch = BatchedSimulation(process, places)
    generators = [np.random.default_rng((seed, place)) for place in range(places)]
    batch.seed(range(places), generators)
    scalars = [process.sibling() for _ in range(places)]
    generator = np.random.default_rng(seed)
    actions = np.zeros(places, dtype=np.int64)
    begin, ends = np.ones(places, dtype=np.bool_), 0
    for _ in range(steps):
        batch.step(actions, begin)
        for place, scalar in enumerate(scalars):
            if begin[place]:
                vector, info = scalar.begin(rng_from(generators[place]))
                reward, ended = 0.0, False
            else:
                vector, reward, ended, info = scalar.step(actions[place])
            assert state_of(decoded(batch, place)) == state_of(scalar.simulation)
            np.testing.assert_array_equal(batch.vectors[place], vector)
            np.testing.assert_array_equal(batch.masks[place], scalar.mask)
            assert (batch.rewards[place], batch.ended[place]) == (reward, ended)
            if ended:
                assert batch.success[place] == info["success"]
                assert batch.out_of_time[place] == info["out_of_time"]
            # Half of the actions are such as a policy with masks would take.
            allowed = np.flatnonzero(scalar.mask)
            open_ones = allowed if generator.random() < 0.5 else np.arange(len(scalar.mask))
            actions[place] = generator.choice(open_ones)
        begin = batch.ended
        ends += int(begin.sum())
    return ends


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("name", DEMO_TASKS)
def test_dialogues_are_those_of_the_scalar_simulation(name: str, legacy: bool) -> None:
    task = TASKS[name]
    assert play_both(DecisionProcess(load_domain(task.domain), task, legacy=legacy), 2, 30, 1) > 0


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="for compiled code")
@pytest.mark.slow
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("name", PUBLISHED_TASKS)
def test_published_tasks_are_those_of_the_scalar_simulation(name: str, legacy: bool) -> None:
    task = TASKS[name]
    process = DecisionProcess(
        domain(task.domain),
        task,
        legacy=legacy,
        keep_alternatives=legacy,
        looks_again=legacy,
        goodbye="policy" if legacy else "user",
    )
    assert play_both(process, 32, 150, 2) > 100


def test_a_domain_larger_than_the_standard_has_larger_records() -> None:
    from mwzeval.pydial.batched.layout import STANDARD

    larger = STANDARD.at_least(slots=33, values=5000)
    assert (larger.slots, larger.values, larger.entities) == (64, 8192, STANDARD.entities)
    assert STANDARD.at_least(slots=4) == STANDARD


def test_what_policies_draw_comes_from_the_dialogue() -> None:
    task = TASKS["Demo-CR-1"]
    process = DecisionProcess(load_domain(task.domain), task)
    batch = BatchedSimulation(process, 2)
    generators = [np.random.default_rng(seed) for seed in (3, 4)]
    batch.seed(range(2), generators)
    batch.begin(np.ones(2, dtype=np.bool_))
    for place, generator in enumerate(generators):
        rng = rng_from(generator)
        process.begin(rng)
        mine = PlaceRng(batch, place)
        assert [mine.random() for _ in range(3)] == [rng.random() for _ in range(3)]
        assert [mine.choose("abc") for _ in range(9)] == [rng.choose("abc") for _ in range(9)]


def as_python(function: Any) -> Any:
    """Return a function as it was before it was compiled, if it was."""
    return getattr(function, "py_func", function)


@given(st.floats(0.01, 0.99))
def test_confidences_are_rounded_as_by_python(number: float) -> None:
    assert as_python(rounded)(number) == round(number, 4)


def test_numbers_next_to_the_middle_are_rounded_as_by_python() -> None:
    numbers = [middle / 32 % 1 for middle in range(150, 9900, 39)]
    for middle in range(150, 9900, 39):
        exact = (middle + 0.5) / 10_000
        numbers += [math.nextafter(exact, 0), exact, math.nextafter(exact, 1)]
    failures = [number for number in numbers if as_python(rounded)(number) != round(number, 4)]
    assert not failures


@given(st.lists(st.floats(0.0, 1.0), max_size=7))
def test_sums_are_those_of_python(numbers: list[float]) -> None:
    assert as_python(summed)(numbers, len(numbers)) == sum(numbers)
