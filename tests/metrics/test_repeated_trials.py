"""Scores of repeated trials: published figures, intervals of items, comparisons over items."""

from __future__ import annotations

import csv
from functools import cache

import numpy as np
import pytest

from mwzeval.comparison import compare
from mwzeval.comparison.comparison import MCNEMAR, RANDOMIZATION
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, of_items, percentage
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from tests.places import shared
from tests.tables import named

SUCCESS = Measure(
    "success",
    "Success",
    Signature.of("success", {"rev": 1}),
    percentage("won", of="dialogues"),
    cases="dialogues",
    outcome="won",
)
TURNS = Measure(
    "turns",
    "Turns",
    Signature.of("turns", {}),
    lambda sums: sums["turns"] / sums["dialogues"],
    lower_is_better=True,
)


def scored(won: dict[str, list[int]], *, single: bool = False) -> ScoredTable:
    """Return what is scored of trials, item → outcome of each."""
    rows = [
        (item if single else f"{item}#{k}", {"won": each, "dialogues": 1, "turns": 3 + k})
        for item, outcomes in won.items()
        for k, each in enumerate(outcomes, 1)
    ]
    return ScoredTable(Table.from_rows(("won", "dialogues", "turns"), rows), (SUCCESS, TURNS))


def random_outcomes(items: int, trials: int, seed: int) -> dict[str, list[int]]:
    random = np.random.default_rng(seed)
    rates = random.beta(1, 1, size=items)
    won = (random.random((items, trials)) < rates[:, np.newaxis]).astype(int)
    return {f"item{index}": row.tolist() for index, row in enumerate(won)}


@cache
def airline() -> dict[str, list[int]]:
    won: dict[str, list[int]] = {}
    file = shared("data", "agents", "tau_bench_gpt-4o_airline_rewards.tsv")
    with file.open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            won.setdefault(row["task"], []).append(round(float(row["reward"])))
    return won


def test_published_figures_of_trials() -> None:
    scores = of_items(scored(airline())).scores()
    values = [named(scores, f"pass^{k}").value / 100 for k in (1, 2, 3, 4)]
    assert [f"{value:.3f}" for value in values] == ["0.420", "0.273", "0.220", "0.200"]
    flipping = sum(0 < sum(won) < len(won) for won in airline().values())
    assert named(scores, "flips^4").value == 100 * flipping / 50


def test_scores_of_items_are_signed_and_count_items() -> None:
    of = of_items(scored(random_outcomes(40, 4, 1)))
    scores = of.scores(Resampling(samples=100))
    assert {score.name for score in scores} == {
        *("success", "turns", "flips^4"),
        *(f"pass^{k}" for k in range(1, 5)),
    }
    assert {score.n for score in scores} == {40}
    assert str(named(scores, "pass^2").signature).startswith(
        "pass^2|rev:1|trials:4|pass:unbiased|ci:95%-bootstrap|"
    )
    assert named(scores, "success").value == pytest.approx(named(scores, "pass^1").value)
    assert named(scores, "turns").value == pytest.approx(5.5)
    assert of.trials is not None
    assert len(of.trials.table.units) == 160


def test_items_with_fewer_trials_count_as_far_as_they_go() -> None:
    scores = of_items(scored({"a": [1, 1], "b": [1, 0], "c": [0]})).scores()
    first, second = (named(scores, f"pass^{k}") for k in (1, 2))
    assert first.value == pytest.approx(50)
    assert first.n == 3
    assert (second.value, second.n) == (50, 2)
    assert (named(scores, "flips^2").value, named(scores, "flips^2").n) == (50, 2)
    assert named(scores, "success").value == pytest.approx(50)


def test_one_trial_an_item_is_scored_as_ever() -> None:
    once = scored({"a": [1], "b": [0]})
    of = of_items(once)
    assert of.table.units == ("a", "b")
    assert of.measures == once.measures
    assert of.trials is None


def test_without_an_outcome_there_is_no_pass() -> None:
    trials = scored({"a": [1, 1], "b": [1, 0]})
    for outcome in (None, "turns"):
        names = [measure.name for measure in of_items(trials, outcome=outcome).measures]
        assert names == ["success", "turns"]


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """With trials for cases (Wilson) they would be much too narrow."""
    repetitions, covered, by_trials = 200, 0, 0
    for seed in range(repetitions):
        trials = scored(random_outcomes(60, 6, seed))
        how = Resampling(samples=200)
        interval = named(of_items(trials).scores(how), "success").interval
        naive = named(trials.scores(how), "success").interval
        assert interval is not None
        assert naive is not None
        covered += 50 in interval
        by_trials += 50 in naive
    assert 0.90 <= covered / repetitions <= 0.98
    assert by_trials / repetitions < 0.85


@pytest.mark.parametrize("won", [0, 1])
def test_without_a_spread_the_interval_is_that_of_one_trial_an_item(won: int) -> None:
    once = scored({f"item{index}": [won] for index in range(30)}, single=True)
    often = of_items(scored({f"item{index}": [won] * 3 for index in range(30)}))
    expected = named(once.scores(Resampling()), "success").interval
    scores = often.scores(Resampling(samples=50))
    for name in ("success", "pass^1", "pass^3"):
        assert named(scores, name).interval == expected
    assert named(scores, "turns").interval is None  # a resample of a constant has no spread


def test_systems_are_compared_by_item_with_all_their_trials() -> None:
    won = random_outcomes(80, 4, 3)
    once = {item: outcomes[:1] for item, outcomes in won.items()}
    systems = {
        "four": of_items(scored(won)),
        "one": of_items(scored(once, single=True)),
    }
    comparison = compare(systems, resampling=Resampling(samples=200))
    assert comparison.groups[0].units == tuple(won)
    success = comparison.measure("success")
    assert success.test == RANDOMIZATION
    expected = 100 * (np.mean(list(once.values())) - np.mean(list(won.values())))
    difference = success.of("one").difference
    assert difference is not None
    assert difference.value == pytest.approx(expected)
    # In either order; pass^k of systems that do not have it is told.
    turned = compare(dict(reversed(systems.items())), resampling=Resampling(samples=200))
    assert turned.measure("success").test == RANDOMIZATION
    assert comparison.lacking["pass^4"] == ("one",)
    both = compare({"a": systems["one"], "b": systems["one"]}, resampling=Resampling(samples=50))
    assert both.measure("success").test == MCNEMAR


def test_more_trials_of_one_system_find_no_difference_where_there_is_none() -> None:
    repetitions, found = 150, 0
    for seed in range(repetitions):
        random = np.random.default_rng(seed)
        rates = random.beta(0.5, 0.5, size=(50, 1))
        won = (random.random((50, 6)) < rates).astype(int)
        mine = {f"item{i}": row[:5].tolist() for i, row in enumerate(won)}
        theirs = {f"item{i}": row[5:].tolist() for i, row in enumerate(won)}
        comparison = compare(
            {"five": of_items(scored(mine)), "one": of_items(scored(theirs, single=True))},
            resampling=Resampling(samples=200),
        )
        difference = comparison.measure("success").of("one").difference
        assert difference is not None
        assert difference.p_value is not None
        found += difference.p_value <= 0.05
    # 5 % within three standard errors; without pairing by item it would be next to never.
    assert 0.01 <= found / repetitions <= 0.11
