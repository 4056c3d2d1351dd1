"""The handcrafted policy against the simulated user: the original's figures, within its noise."""

from __future__ import annotations

from math import sqrt
from statistics import mean, variance

import pytest

from mwzeval.pydial.episodes import play
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.simulator.tables import put_channel
from mwzeval.pydial.tasks import PUBLISHED_TASKS, TASKS
from tests.places import read_json, shared
from tests.pydial.real_domains import domain
from tests.pydial.simulator.original_confusion import original_confusion

pytestmark = pytest.mark.integration
DIALOGUES = 500
WORST = 3.0
MANY = 24_000
"""Without errors dialogues are independent, and so many show a rule too many of the user."""
NOISY = [f"{code}-{environment}" for environment in "356" for code in ("CR", "SFR", "LAP")]
A_RUN = 1000
AGREEING = {"2": "1", "4": "3"}
"""Environments in which the policy does the same as in others, for it looks at no mask."""
Figures = dict[str, list[float]]


def played(name: str, seeds: int) -> Figures:
    """Return the success rate (percent) and the mean reward of each seed."""
    task = TASKS[name]
    of = domain(task.domain)
    policy = HandcraftedPolicy()
    figures: Figures = {"success": [], "reward": []}
    for seed in range(1, seeds + 1):
        simulation = Simulation(of, task, legacy=True, confusion_seed=seed)
        episodes = list(play(simulation, policy, DIALOGUES, seed))
        figures["success"].append(100 * mean(e.success for e in episodes))
        figures["reward"].append(mean(e.reward for e in episodes))
    return figures


def z_of(mine: list[float], theirs: list[float]) -> float:
    """Return how many standard errors two means are apart, over seeds."""
    spread = variance(mine) / len(mine) + variance(theirs) / len(theirs)
    # Four seeds of 97.0 % each are luck, not certainty: 500 dialogues cannot be that sure.
    rate = mean(mine)
    binomial = rate * (100 - rate) / DIALOGUES if 0 < rate < 100 else 0.0
    return (mean(mine) - mean(theirs)) / sqrt(max(spread, binomial / len(theirs), 1e-9))


def assert_as_the_original(name: str, figures: Figures) -> None:
    code, environment = name.split("-")
    golden = read_json(shared("golden", "pydial", "golden_hdc.json"))["tasks"]
    seeds = golden[f"env{environment}-{code}"]["per_seed"]
    for figure, mine in figures.items():
        z = z_of(mine, [seed[figure] for seed in seeds])
        assert abs(z) < WORST, (name, figure, z, mean(mine))


@pytest.mark.parametrize("name", ["CR-1", "SFR-3", "LAP-6"])
def test_a_few_seeds_do_as_the_original(name: str) -> None:
    assert_as_the_original(name, played(name, 3))


@pytest.mark.slow
def test_all_tasks_are_as_the_original_and_the_paper() -> None:
    figures: dict[str, Figures] = {}
    for name in PUBLISHED_TASKS:
        code, environment = name.split("-")
        like = f"{code}-{AGREEING.get(environment, environment)}"
        figures[name] = figures[like] if like in figures else played(name, 10)
        assert_as_the_original(name, figures[name])
    assert mean(mean(f["success"]) for f in figures.values()) == pytest.approx(92.1, abs=0.7)
    assert mean(mean(f["reward"]) for f in figures.values()) == pytest.approx(9.8, abs=0.2)


@pytest.mark.parametrize("name", ["CR-1", "SFR-1", "LAP-1"])
@pytest.mark.slow
def test_many_dialogues_without_errors_are_as_the_original(name: str) -> None:
    """Without errors dialogues are independent, and a rule too many of the user is seen."""
    code, environment = name.split("-")
    golden = read_json(shared("golden", "pydial", "golden_hdc.json"))["tasks"]
    theirs = golden[f"env{environment}-{code}"]
    of = domain(code)
    simulation = Simulation(of, TASKS[name], legacy=True)
    policy = HandcraftedPolicy()
    episodes = list(play(simulation, policy, MANY, 0))
    figures = {
        "success": ([100.0 * e.success for e in episodes], "success_percent", "success_std"),
        "reward": ([e.reward for e in episodes], "reward_mean", "reward_std"),
        "turns": ([float(e.exchanges) for e in episodes], "turns_mean", "turns_std"),
    }
    for figure, (mine, average, spread) in figures.items():
        error = sqrt(variance(mine) / len(mine) + theirs[spread] ** 2 / theirs["n"])
        z = (mean(mine) - theirs[average]) / error
        assert abs(z) < WORST, (name, figure, z, mean(mine), sqrt(variance(mine)))


@pytest.mark.slow
def test_noisy_tasks_are_as_the_original_where_the_same_sounds_alike() -> None:
    """With the tables of the original's seeds its runs differ from ours by their dialogues only.

    Most of what seeds differ by is what sounds alike, in all tasks of a seed: without it, figures
    of all noisy tasks together are twice as sharp.
    """
    golden = read_json(shared("golden", "pydial", "golden_hdc.json"))["tasks"]
    differences: dict[str, list[float]] = {"success": [], "reward": [], "turns": []}
    variances: dict[str, list[float]] = {"success": [], "reward": [], "turns": []}
    for name in NOISY:
        code, environment = name.split("-")
        theirs = golden[f"env{environment}-{code}"]
        of = domain(code)
        policy = HandcraftedPolicy()
        for run in theirs["per_seed"]:
            simulation = Simulation(of, TASKS[name], legacy=True)
            simulation.channel.confusion = original_confusion(code, run["seed"])
            put_channel(simulation.t, simulation.channel, simulation.codes)
            episodes = list(play(simulation, policy, A_RUN, run["seed"]))
            mine = {
                "success": [100.0 * e.success for e in episodes],
                "reward": [e.reward for e in episodes],
                "turns": [float(e.exchanges) for e in episodes],
            }
            for figure, of_dialogues in mine.items():
                differences[figure].append(mean(of_dialogues) - run[figure])
                variances[figure].append(variance(of_dialogues) * (1 / A_RUN + 1 / run["n"]))
    for figure, apart in differences.items():
        assert abs(sum(apart)) < WORST * sqrt(sum(variances[figure])), (figure, mean(apart))
        for name, at in zip(NOISY, range(0, len(apart), 4), strict=True):
            error = sqrt(sum(variances[figure][at : at + 4]))
            assert abs(sum(apart[at : at + 4])) < WORST * error, (name, figure)


@pytest.mark.parametrize("name", ["CR-2", "SFR-4"])
def test_masks_are_nothing_to_the_handcrafted_policy(name: str) -> None:
    masked = f"{name.split('-')[0]}-{AGREEING[name[-1]]}"
    assert played(name, 1) == played(masked, 1)
