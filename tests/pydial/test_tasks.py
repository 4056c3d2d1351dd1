"""Tasks and their parameters equal those of the benchmark."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from mwzeval.errors import UsageError
from mwzeval.pydial.simulator.channel import ERROR_SETS
from mwzeval.pydial.simulator.rng import Rng, rng_from
from mwzeval.pydial.tasks import (
    PUBLISHED_DOMAINS,
    PUBLISHED_TASKS,
    USERS,
    find_task,
    in_order,
    task_named,
    varied,
)
from mwzeval.pydial.user_parameters import (
    PATIENCE,
    STANDARD,
    USER_MODELS,
    user_model,
)
from tests.places import read_json, shared
from tests.pydial.real_domains import PUBLISHED_PARAMETERS
from tests.pydial.simulator.parts import UserParameters, simulation_of
from tests.pydial.small_domain import CAFES


@pytest.mark.integration
def test_published_tasks_match_the_eighteen_tasks_of_the_paper() -> None:
    published = read_json(shared("data", "pydial", "tasks.json"))["tasks"]
    assert len(published) == len(PUBLISHED_TASKS) == 18
    codes = list(PUBLISHED_DOMAINS)
    for theirs in published:
        task = task_named(f"{theirs['domain_code']}-{theirs['environment']}")
        model, reward = theirs["error_model"], theirs["reward"]
        assert theirs["task"] == f"T{task.environment}.{codes.index(task.domain) + 1}"
        assert PUBLISHED_DOMAINS[task.domain] == theirs["domain"]
        assert task.error_rate * 100 == pytest.approx(theirs["semantic_error_rate_percent"])
        assert task.error_set == model["parameter_set"]
        lengths = ERROR_SETS[task.error_set].correct_lengths if task.error_set else (1.0,)
        assert len(lengths) == model["nbest_size"]
        assert task.user_model == theirs["user_model"]
        assert set(theirs["masks"].values()) == {task.masked}
        assert task.max_exchanges == theirs["max_turns"]
        assert task.inform_count_accepted == theirs["inform_count_accepted"]
        assert task.max_informed_slots == theirs["max_inform_slots"]
        assert task.exchange_reward == reward["per_turn"]
        assert task.success_reward == reward["success"]
        demo = task_named(f"Demo-{task.name}")
        assert (demo.error_rate, demo.masked) == (task.error_rate, task.masked)


@pytest.mark.integration
def test_error_sets_match_the_benchmark() -> None:
    sets = read_json(shared("data", "pydial", "error_models.json"))["sets"]
    for name, ours in ERROR_SETS.items():
        theirs = {key: tuple(values) for key, values in sets[name].items()}
        assert theirs == {
            "correctNBLenDist": ours.correct_lengths,
            "incorrectNBLenDist": ours.incorrect_lengths,
            "incorrectNBPosDist": ours.incorrect_positions,
            "correctMean": ours.correct_means,
            "correctVar": ours.correct_variances,
            "incorrectMean": ours.incorrect_means,
            "incorrectVar": ours.incorrect_variances,
        }


@pytest.mark.integration
@pytest.mark.parametrize("name", ["standard", "unfriendly"])
def test_user_parameter_ranges_match_the_benchmark(name: str) -> None:
    published = read_json(shared("data", "pydial", "user_models.json"))["sets"][name]
    theirs = {
        PUBLISHED_PARAMETERS[key]: tuple(value) if isinstance(value, list) else (value, value)
        for key, value in published.items()
    }
    assert theirs == USER_MODELS[name]


def test_additional_user_models_lie_outside_the_benchmark_ranges() -> None:
    assert tuple(USER_MODELS) == USERS
    for name in USERS[2:]:
        changed = {k: r for k, r in USER_MODELS[name].items() if r != STANDARD[k]}
        assert changed
        for field, (low, high) in changed.items():
            for known in (STANDARD[field], USER_MODELS["unfriendly"][field]):
                assert high < known[0] or low > known[1], (name, field)
    assert set(user_model("impatient").patience or ()).isdisjoint(PATIENCE)


@pytest.mark.parametrize("name", USER_MODELS)
def test_drawn_user_parameters_cover_their_ranges(name: str) -> None:
    simulation, rng, drawn = simulation_of(CAFES), Rng(1), []
    simulation.set_user_model(user_model(name))
    for _ in range(2000):
        simulation.draw_user(rng)
        drawn.append(UserParameters._make(simulation.d.parameter))
    for field, (low, high) in USER_MODELS[name].items():
        values = [getattr(parameters, field) for parameters in drawn]
        width = high - low
        assert low <= min(values) <= low + width / 50
        assert high - width / 50 <= max(values) <= high


@pytest.mark.parametrize(
    ("task", "errors", "user", "name"),
    [
        ("CR-3", 0.4, None, "CR-3@errors=40"),
        ("CR-3", 0.125, "fickle", "CR-3@errors=12.5@user=fickle"),
        ("CR-5", None, "standard", "CR-5@user=standard"),
        ("CR-3@errors=40", 0.15, None, "CR-3"),
        ("Own-museums-1", 1.0, "own-me.2", "Own-museums-1@errors=100@user=own-me.2"),
        ("CR-1@errors=30", 0, None, "CR-1"),
    ],
)
def test_names_of_varied_tasks_encode_errors_and_users(
    task: str, errors: float | None, user: str | None, name: str
) -> None:
    before = task_named(task)
    other = varied(before, errors=errors, user=user)
    assert other.name == name
    assert task_named(name) == other
    assert other.base == before.base
    assert other.error_rate == (before.error_rate if errors is None else errors)
    assert other.user_model == (user or before.user_model)
    # All other parameters are those of the benchmark, except an error channel if required.
    base = task_named(other.base)
    assert (other.masked, other.environment) == (base.masked, base.environment)
    noisy = other.error_rate > 0 and base.error_set is None
    assert other.error_set == ("set1" if noisy else base.error_set)


@pytest.mark.parametrize(
    "name",
    [
        *("CR-3@errors=15", "CR-3@errors=040", "CR-3@errors=101", "CR-3@user=nobody", "CR-3@"),
        *("CR-7@errors=40", "CR-3@user=fickle@errors=40", "CR-3@errors=40@errors=40"),
    ],
)
def test_noncanonical_task_names_are_not_found(name: str) -> None:
    assert find_task(name) is None


def test_varied_tasks_are_sorted_after_their_base_task() -> None:
    names = ("CR-1", "CR-3", "CR-3@user=fickle", "CR-3@errors=20", "CR-3@errors=100", "CR-4")
    assert in_order(names[n] for n in (3, 5, 0, 4, 2, 1)) == names


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match='"CR-1"'):
        task_named("CR1")
    with pytest.raises(UsageError, match='"standard"'):
        user_model("standart")


def test_random_state_depends_on_the_generator_and_can_be_pickled() -> None:
    first, second = (rng_from(np.random.default_rng(3)) for _ in range(2))
    again = pickle.loads(pickle.dumps(first))
    numbers = [first.random() for _ in range(5)]
    assert numbers == [second.random() for _ in range(5)] == [again.random() for _ in range(5)]
