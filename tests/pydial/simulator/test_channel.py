"""Hypotheses and confidences have the distributions of the original."""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import sqrt
from statistics import fmean, stdev

import pytest

from mwzeval.pydial.acts import Act, parse_act
from mwzeval.pydial.simulator.channel import Confusion, _mishear, neighbours
from mwzeval.pydial.simulator.codes import USER_ACTS
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tasks import TASKS, task_named
from tests.pydial.real_domains import domain, statistics, task_name, traces
from tests.pydial.simulator.original_confusion import original_confusion
from tests.pydial.simulator.parts import nbest, simulation_of
from tests.pydial.small_domain import CAFES

NOISY = ("env3-CR", "env3-SFR", "env3-LAP", "env6-CR")
LISTS_PER_SEED, SEEDS = 500, 8
STANDARD_ERRORS = 3


@cache
def figures(task: str, text: str) -> dict[str, list[float]]:
    """Return the original's statistics of hypothesis lists: name → number for each list."""
    act, lists = parse_act(text), []
    # Confusion tables are drawn once per run, so several runs are needed.
    for seed in range(SEEDS):
        named = task_named(task_name(task))
        code = task.split("-")[1]
        simulation = Simulation(domain(code), named, legacy=True, confusion_seed=seed)
        rng = Rng(100 + seed)
        lists += [dict(nbest(simulation, act, rng)) for _ in range(LISTS_PER_SEED)]
    positions = [list(scores).index(act) if act in scores else -1 for scores in lists]
    return {
        **{str(place): [at == place for at in positions] for place in range(-1, 6)},
        "top_is_true": [max(scores, key=scores.__getitem__) == act for scores in lists],
        "true_in_list": [act in scores for scores in lists],
        "mean_conf_true_when_present": [scores[act] for scores in lists if act in scores],
        "mean_top_conf": [max(scores.values()) for scores in lists],
    }


@pytest.mark.parametrize("task", NOISY)
@pytest.mark.integration
def test_hypotheses_match_the_original_within_three_standard_errors(task: str) -> None:
    far: dict[tuple[str, str], float] = {}
    for text, theirs in statistics()[task]["confusion"].items():
        ours, n = figures(task, text), theirs["samples"]
        shares = {place: count / n for place, count in theirs["position_of_true"].items()}
        shares |= {key: theirs[key] for key in ("top_is_true", "true_in_list")}
        for key, share in shares.items():
            both = (share + fmean(ours[key])) / 2
            error = sqrt(both * (1 - both) * (1 / n + 1 / len(ours[key])))
            far[text, key] = (fmean(ours[key]) - share) / error
        for key in ("mean_conf_true_when_present", "mean_top_conf"):
            error = stdev(ours[key]) * sqrt(2 / len(ours[key]))
            far[text, key] = (fmean(ours[key]) - theirs[key]) / error
    assert {key: z for key, z in far.items() if abs(z) > STANDARD_ERRORS} == {}


@pytest.mark.integration
@pytest.mark.parametrize("task", ["env1-CR", "env1-SFR", "env1-LAP"])
def test_without_errors_the_true_act_is_certain(task: str) -> None:
    code = task.split("-")[1]
    simulation = simulation_of(domain(code), task=task_named(task_name(task)))
    for text in statistics()[task]["confusion"]:
        assert nbest(simulation, parse_act(text), Rng(1)) == [(parse_act(text), 1.0)]


def confused(confusion: Confusion, said: Act, heard: Act) -> tuple[str, bool] | None:
    """Return the confused part and whether the table lists the confusion; None if unknown."""
    if heard.name != said.name:
        near = heard.name in confusion.acts[said.name].words
        return None if heard.name == "null" else ("act", near)
    wrong = [pair for pair in zip(said.items, heard.items, strict=True) if pair[0] != pair[1]]
    if not wrong or wrong[0][0].slot not in confusion.slots:
        return None
    (slot, value, _), other = wrong[0]
    if slot != other.slot:
        return "slot", all(b.slot in confusion.slots[a.slot].words for a, b in wrong)
    alike = confusion.values_taken_for.get(slot, {}).get(str(value))
    return None if alike is None or len(wrong) > 1 else ("value", other.value in alike.words)


@pytest.mark.integration
def test_original_confusions_are_in_the_neighbour_tables() -> None:
    found: Counter[tuple[str, bool] | None] = Counter()
    for trace in traces():
        confusion = original_confusion(trace["task"].split("-")[1], trace["seed"])
        for turn in trace["turns"][1:]:
            said = parse_act(turn["user_true"])
            found.update(confused(confusion, said, parse_act(text)) for text, _ in turn["nbest"])
    del found[None]
    assert found == {("act", True): 180, ("slot", True): 42, ("value", True): 47}


def test_neighbours_are_the_nearest_words_weighted_by_distance() -> None:
    words = ["north", "forth", "worth", "south", "centre", "west", "east", "dontcare"]
    table = neighbours(words, Rng(1))["north"]
    assert set(table.words[:2]) == {"forth", "worth"}
    assert len(table.words) == 6
    # Distances 1, 1, 2, 4, 4, 5: the inverses are normalised, increased by 0.15, and normalised.
    inverses = [1, 1, 1 / 2, 1 / 4, 1 / 4, 1 / 5]
    weights = [inverse / sum(inverses) + 0.15 for inverse in inverses]
    assert table.probabilities == pytest.approx([w / sum(weights) for w in weights])


def test_ties_between_neighbours_depend_only_on_the_seed() -> None:
    words = [f"word{letter}" for letter in "abcdefghijkl"]
    first, again, other = (neighbours(words, Rng(seed))["worda"].words for seed in (1, 1, 2))
    assert first == again != other


def misheard(text: str, number: int, *, legacy: bool = False) -> list[Act]:
    """Return confused acts for an act."""
    simulation = simulation_of(CAFES, legacy=legacy, task=TASKS["CR-6"])
    view, d = simulation.view, simulation.d
    d.rng = Rng(2)
    view.put_user(parse_act(text))
    found = []
    for _ in range(number):
        _mishear(simulation.t, d, 0)
        found.append(view.act(d.hypothesis_act[0], d.hypothesis_item[0], d.hypothesis_items[0]))
    return found


def test_slots_are_never_confused_with_name_but_name_is_confused() -> None:
    heard = misheard("request(phone)", 3000, legacy=True)
    slots = {act.items[0].slot for act in heard if act.name == "request"}
    assert slots == set(CAFES.ontology.requestable) - {"name", "phone"}
    heard = misheard('inform(name="anna")', 300, legacy=True)
    assert {act.items[0].slot for act in heard if act.name == "inform"} > {"name"}


def test_other_acts_are_never_confused_with_bye() -> None:
    for name in set(USER_ACTS) - {"null"}:
        assert {act.name for act in misheard(f"{name}()", 300)} <= {*USER_ACTS} - {"bye"}, name


@pytest.mark.parametrize(
    ("act", "legacy", "share"),
    [
        # For an act with a value, the type is confused with probability 0.2, the slot with 0.3.
        ('inform(area="north")', False, 0.8),
        ('inform(area="north")', True, 0.8),
        # A request has no value: its slot is confused instead, or in legacy the draw is repeated.
        ("request(phone)", False, 0.8),
        ("request(phone)", True, 0.6),
    ],
)
def test_acts_keep_their_type_with_the_expected_share(act: str, legacy: bool, share: float) -> None:
    name, n = parse_act(act).name, 4000
    kept = sum(heard.name == name for heard in misheard(act, n, legacy=legacy)) / n
    # A drawn goodbye, which is a neighbour of some acts, is redrawn.
    assert share - 0.03 < kept < share + 0.1


@pytest.mark.integration
def test_wrong_hypothesis_lists_have_higher_confidence_in_legacy() -> None:
    act, means = parse_act('inform(area="north")'), {}
    for legacy in (True, False):
        simulation, rng = simulation_of(CAFES, legacy=legacy, task=TASKS["CR-3"]), Rng(5)
        found = [nbest(simulation, act, rng) for _ in range(20_000)]
        means[legacy] = fmean(nbest[0][1] for nbest in found if act not in dict(nbest))
    assert means[True] > means[False] + 0.05
