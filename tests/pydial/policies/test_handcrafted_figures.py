"""The handcrafted policy with the simulated user reproduces the original's figures."""

from __future__ import annotations

from functools import cache
from math import sqrt
from statistics import mean, variance
from typing import Any

import pytest

from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.simulator.tables import put_channel
from mwzeval.pydial.tasks import PUBLISHED_TASKS, TASKS
from tests.places import read_json, shared
from tests.pydial.real_domains import CODES, domain
from tests.pydial.runs import handcrafted_episodes
from tests.pydial.simulator.original_confusion import original_confusion

pytestmark = pytest.mark.integration
DIALOGUES = 500
WORST = 3.0
MANY = 24_000
"""Without errors, dialogues are independent; this number reveals a wrong rule of the user."""
NOISY = [f"{code}-{environment}" for environment in "356" for code in CODES]
A_RUN = 1000
AGREEING = {"2": "1", "4": "3"}
"""Environment → environment with equal dialogues, because the policy ignores masks."""
FIGURES = ("success", "reward", "turns")
Figures = dict[str, list[float]]


def original(name: str) -> dict[str, Any]:
    code, environment = name.split("-")
    golden = read_json(shared("golden", "pydial", "golden_hdc.json"))["tasks"]
    record: dict[str, Any] = golden[f"env{environment}-{code}"]
    return record


def simulation(name: str, confusion_seed: int = 0) -> Simulation:
    task = TASKS[name]
    return Simulation(domain(task.domain), task, legacy=True, confusion_seed=confusion_seed)


def figures_of(simulation: Simulation, number: int, seed: int) -> Figures:
    """Return success (percent), reward and turns of each dialogue."""
    episodes = handcrafted_episodes(simulation, range(number), seed)
    return {
        "success": [100.0 * e.success for e in episodes],
        "reward": [e.reward for e in episodes],
        "turns": [float(e.exchanges) for e in episodes],
    }


@cache
def of_seeds(name: str, seeds: int) -> Figures:
    """Return the success rate and the mean reward of each seed."""
    runs = [figures_of(simulation(name, s), DIALOGUES, s) for s in range(1, seeds + 1)]
    return {figure: [mean(run[figure]) for run in runs] for figure in ("success", "reward")}


def z_of(mine: list[float], theirs: list[float]) -> float:
    """Return the difference of two means over seeds, in standard errors."""
    spread = variance(mine) / len(mine) + variance(theirs) / len(theirs)
    # The spread of few equal seeds is too small, so it is at least that of a binomial rate.
    rate = mean(mine)
    binomial = rate * (100 - rate) / DIALOGUES if 0 < rate < 100 else 0.0
    return (mean(mine) - mean(theirs)) / sqrt(max(spread, binomial / len(theirs), 1e-9))


def assert_as_the_original(name: str, figures: Figures) -> None:
    for figure, mine in figures.items():
        z = z_of(mine, [seed[figure] for seed in original(name)["per_seed"]])
        assert abs(z) < WORST, (name, figure, z, mean(mine))


@pytest.mark.parametrize("name", ["CR-1", "SFR-3", "LAP-6"])
def test_figures_of_a_few_seeds_match_the_original(name: str) -> None:
    assert_as_the_original(name, of_seeds(name, 3))


@pytest.mark.slow
def test_figures_of_all_tasks_match_the_original_and_the_paper() -> None:
    figures: dict[str, Figures] = {}
    for name in PUBLISHED_TASKS:
        code, environment = name.split("-")
        figures[name] = of_seeds(f"{code}-{AGREEING.get(environment, environment)}", 10)
        assert_as_the_original(name, figures[name])
    assert mean(mean(f["success"]) for f in figures.values()) == pytest.approx(92.1, abs=0.7)
    assert mean(mean(f["reward"]) for f in figures.values()) == pytest.approx(9.8, abs=0.2)


@pytest.mark.parametrize("name", ["CR-1", "SFR-1", "LAP-1"])
@pytest.mark.slow
def test_figures_without_errors_match_the_original(name: str) -> None:
    theirs = original(name)
    averages = {"success": "success_percent", "reward": "reward_mean", "turns": "turns_mean"}
    for figure, mine in figures_of(simulation(name), MANY, 0).items():
        error = sqrt(variance(mine) / MANY + theirs[f"{figure}_std"] ** 2 / theirs["n"])
        z = (mean(mine) - theirs[averages[figure]]) / error
        assert abs(z) < WORST, (name, figure, z, mean(mine), sqrt(variance(mine)))


@pytest.mark.slow
def test_noisy_tasks_match_the_original_with_its_confusion_tables() -> None:
    """With the confusion tables of the original's seeds, runs differ only by their dialogues.

    Most of the variance between seeds comes from the confusion tables, which all tasks of a seed
    share. Without it, the test of all noisy tasks together is twice as precise.
    """
    apart: dict[tuple[str, str], tuple[float, float]] = {}
    for name in NOISY:
        totals = dict.fromkeys(FIGURES, (0.0, 0.0))
        for run in original(name)["per_seed"]:
            noisy = simulation(name)
            confusion = original_confusion(name.split("-")[0], run["seed"])
            put_channel(noisy.t, noisy.task, confusion, noisy.codes)
            for figure, mine in figures_of(noisy, A_RUN, run["seed"]).items():
                difference, spread = totals[figure]
                difference += mean(mine) - run[figure]
                totals[figure] = difference, spread + variance(mine) * (1 / A_RUN + 1 / run["n"])
        apart |= {(name, figure): total for figure, total in totals.items()}
    for figure in FIGURES:
        differences, spreads = zip(*(apart[name, figure] for name in NOISY), strict=True)
        apart["all", figure] = sum(differences), sum(spreads)
    far = {key: total for key, total in apart.items() if abs(total[0]) >= WORST * sqrt(total[1])}
    assert not far


@pytest.mark.parametrize("name", ["CR-2", "SFR-4"])
def test_masks_do_not_affect_the_handcrafted_policy(name: str) -> None:
    masked = f"{name.split('-')[0]}-{AGREEING[name[-1]]}"
    assert of_seeds(name, 1) == of_seeds(masked, 1)
