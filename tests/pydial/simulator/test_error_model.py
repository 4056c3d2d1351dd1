"""Hypotheses and confidences are distributed as the original's are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import sqrt
from statistics import fmean, stdev

import pytest

from mwzeval.pydial.acts import Act, parse_act
from mwzeval.pydial.simulator.channel import _mishear
from mwzeval.pydial.simulator.error_model import USER_ACTS, neighbours
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tasks import TASKS, task_named
from tests.pydial.real_domains import domain, statistics, task_name
from tests.pydial.simulator.parts import nbest, simulation_of
from tests.pydial.small_domain import CAFES

NOISY = ("env3-CR", "env3-SFR", "env3-LAP", "env6-CR")
LISTS_PER_SEED, SEEDS = 500, 8
STANDARD_ERRORS = 3


@dataclass(frozen=True)
class Shares:
    """What a golden record counts, and how many lists it counted in."""

    samples: int
    shares: dict[str, float]
    means: dict[str, tuple[float, float]]
    """Mean and its standard error."""


def lists(task: str, act: Act) -> list[list[tuple[Act, float]]]:
    code = task.split("-")[1]
    found = []
    # Which words sound alike is drawn once a run, so that several runs are needed.
    for seed in range(SEEDS):
        named = task_named(task_name(task))
        simulation = Simulation(domain(code), named, legacy=True, confusion_seed=seed)
        rng = Rng(100 + seed)
        found += [nbest(simulation, act, rng) for _ in range(LISTS_PER_SEED)]
    return found


@cache
def ours(task: str, text: str) -> Shares:
    act = parse_act(text)
    found = lists(task, act)
    positions = Counter(
        next((str(place) for place, (hypothesis, _) in enumerate(nbest) if hypothesis == act), "-1")
        for nbest in found
    )
    best = [max(nbest, key=lambda pair: pair[1]) for nbest in found]
    present = [score for nbest in found for hypothesis, score in nbest if hypothesis == act]
    shares = {f"position {place}": count / len(found) for place, count in positions.items()}
    shares["top_is_true"] = fmean(hypothesis == act for hypothesis, _ in best)
    shares["true_in_list"] = 1 - shares.get("position -1", 0.0)
    tops = [score for _, score in best]
    means = {
        "mean_conf_true_when_present": (fmean(present), stdev(present) / sqrt(len(present))),
        "mean_top_conf": (fmean(tops), stdev(tops) / sqrt(len(tops))),
    }
    return Shares(len(found), shares, means)


@pytest.mark.parametrize("task", NOISY)
@pytest.mark.integration
def test_hypotheses_are_those_of_the_original_within_three_standard_errors(task: str) -> None:
    far: dict[tuple[str, str], float] = {}
    for text, theirs in statistics()[task]["confusion"].items():
        our = ours(task, text)
        shares = {
            f"position {k}": v / theirs["samples"] for k, v in theirs["position_of_true"].items()
        }
        shares |= {key: theirs[key] for key in ("top_is_true", "true_in_list")}
        for key, share in shares.items():
            both = (share + our.shares.get(key, 0.0)) / 2
            error = sqrt(both * (1 - both) * (1 / theirs["samples"] + 1 / our.samples))
            far[text, key] = (our.shares.get(key, 0.0) - share) / error
        for key, (mean, error) in our.means.items():
            far[text, key] = (mean - theirs[key]) / (error * sqrt(2))
    assert {key: z for key, z in far.items() if abs(z) > STANDARD_ERRORS} == {}


@pytest.mark.integration
@pytest.mark.parametrize("task", ["env1-CR", "env1-SFR", "env1-LAP"])
def test_without_errors_the_true_act_is_certain(task: str) -> None:
    code = task.split("-")[1]
    simulation = simulation_of(domain(code), task=task_named(task_name(task)))
    for text in statistics()[task]["confusion"]:
        assert nbest(simulation, parse_act(text), Rng(1)) == [(parse_act(text), 1.0)]


def test_neighbours_are_the_nearest_words_and_nearer_ones_are_likelier() -> None:
    words = ["north", "forth", "worth", "south", "centre", "west", "east", "dontcare"]
    table = neighbours(words, Rng(1))["north"]
    assert set(table.words[:2]) == {"forth", "worth"}
    assert len(table.words) == 6
    assert sum(table.probabilities) == pytest.approx(1)
    # Distances 1, 1, 2, 4, 5, 5: inverses scaled to sum 1, plus 0.15, scaled again.
    inverses = [1, 1, 1 / 2]
    assert table.probabilities[0] == table.probabilities[1] > table.probabilities[2]
    weight = [p * 1.9 - 0.15 for p in table.probabilities]
    assert [w / weight[0] for w in weight[:3]] == pytest.approx(inverses)


def test_ties_between_words_are_drawn_once_for_all() -> None:
    words = [f"word{letter}" for letter in "abcdefghijkl"]
    first, again, other = (neighbours(words, Rng(seed))["worda"].words for seed in (1, 1, 2))
    assert first == again != other


def misheard(text: str, rng: Rng, *, legacy: bool = False) -> Act:
    simulation = simulation_of(CAFES, legacy=legacy, task=TASKS["CR-6"])
    view, d = simulation.view, simulation.d
    d.rng = rng
    view.put_user(parse_act(text))
    _mishear(simulation.t, d, 0)
    return view.act(d.hypothesis_act[0], d.hypothesis_item[0], d.hypothesis_items[0])


def test_nothing_is_taken_for_the_name_but_the_name_is_taken_for_something() -> None:
    rng = Rng(2)
    heard = [misheard("request(phone)", rng, legacy=True) for _ in range(3000)]
    slots = {act.items[0].slot for act in heard if act.name == "request"}
    assert slots == set(CAFES.ontology.requestable) - {"name", "phone"}
    heard = [misheard('inform(name="anna")', rng, legacy=True) for _ in range(300)]
    assert {act.items[0].slot for act in heard if act.name == "inform"} > {"name"}


def test_goodbye_is_never_heard_of_another_act() -> None:
    rng = Rng(2)
    for name in set(USER_ACTS) - {"null"}:
        heard = {misheard(f"{name}()", rng).name for _ in range(300)}
        assert "bye" not in heard, name
        assert heard <= set(USER_ACTS), name


@pytest.mark.parametrize(
    ("act", "legacy", "share"),
    [
        # Of an act with a value the type is confused in a fifth of the tries, the slot in 0.3.
        ('inform(area="north")', False, 0.8),
        ('inform(area="north")', True, 0.8),
        # What only asks has no value to confuse: the slot is, or in legacy nothing, and redrawn.
        ("request(phone)", False, 0.8),
        ("request(phone)", True, 0.6),
    ],
)
def test_what_is_confused(act: str, legacy: bool, share: float) -> None:
    rng, n = Rng(3), 4000
    name = parse_act(act).name
    kept = sum(misheard(act, rng, legacy=legacy).name == name for _ in range(n)) / n
    # A goodbye that is drawn does not count, and is among the neighbours of some acts.
    assert share - 0.03 < kept < share + 0.1


@pytest.mark.integration
def test_wrong_lists_look_confident_in_legacy_only() -> None:
    act, means = parse_act('inform(area="north")'), {}
    for legacy in (True, False):
        simulation = simulation_of(CAFES, legacy=legacy, task=TASKS["CR-3"])
        rng = Rng(5)
        found = [nbest(simulation, act, rng) for _ in range(20_000)]
        absent = [nbest[0][1] for nbest in found if act not in dict(nbest)]
        means[legacy] = fmean(absent)
    assert means[True] > means[False] + 0.05
