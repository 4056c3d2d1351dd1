"""pass^k, flips and intervals of repeated trials, checked with papers and simulation."""

from __future__ import annotations

import csv
import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.comparison import compare
from mwzeval.comparison.comparison import MCNEMAR, RANDOMIZATION
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, mean, of_items, percentage
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.trials import Trials, all_succeed, item_and_trial, some_differ, trial_name
from tests.places import shared
from tests.tables import named, present

SIGNATURE, SHARE = Signature.of("success", {"rev": 1}), percentage("won", of="dialogues")
SUCCESS = Measure("success", "Success", SIGNATURE, SHARE, cases="dialogues", outcome="won")
LENGTH = mean("turns", of="dialogues")
TURNS = Measure("turns", "Turns", Signature.of("turns", {}), LENGTH, lower_is_better=True)


def scored(won: dict[str, list[int]], *, single: bool = False) -> ScoredTable:
    """Return the scored table of trials, given item → outcome of each trial."""
    rows = [
        (item if single else f"{item}#{k}", {"won": outcome, "dialogues": 1, "turns": 3 + k})
        for item, outcomes in won.items()
        for k, outcome in enumerate(outcomes, 1)
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


def test_tau_bench_trials_give_the_published_pass_scores() -> None:
    scores = of_items(scored(airline())).scores()
    values = [named(scores, f"pass^{k}").value / 100 for k in (1, 2, 3, 4)]
    assert [f"{value:.3f}" for value in values] == ["0.420", "0.273", "0.220", "0.200"]
    flipping = sum(0 < sum(won) < len(won) for won in airline().values())
    assert named(scores, "flips^4").value == 100 * flipping / 50


def test_item_scores_have_signatures_and_count_items() -> None:
    items = of_items(scored(random_outcomes(40, 4, 1)))
    scores = items.scores(Resampling(samples=100))
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
    assert items.trials is not None
    assert len(items.trials.table.units) == 160


def test_items_with_few_trials_count_only_for_scores_they_allow() -> None:
    scores = of_items(scored({"a": [1, 1], "b": [1, 0], "c": [0]})).scores()
    for name, n in (("pass^1", 3), ("pass^2", 2), ("flips^2", 2), ("success", 3)):
        score = named(scores, name)
        assert score.value == pytest.approx(50)
        assert score.n == n


def test_single_trial_items_are_scored_without_trial_metrics() -> None:
    once = scored({"a": [1], "b": [0]})
    items = of_items(once)
    assert items.table.units == ("a", "b")
    assert items.measures == once.measures
    assert items.trials is None


def test_pass_scores_require_an_outcome() -> None:
    trials = scored({"a": [1, 1], "b": [1, 0]})
    for outcome in (None, "turns"):
        names = [measure.name for measure in of_items(trials, outcome=outcome).measures]
        assert names == ["success", "turns"]


def test_item_intervals_have_their_nominal_coverage() -> None:
    """Intervals that treat trials as independent cases (Wilson) are much too narrow."""
    repetitions, covered, by_trials = 200, 0, 0
    for seed in range(repetitions):
        trials = scored(random_outcomes(60, 6, seed))
        how = Resampling(samples=200)
        covered += 50 in present(named(of_items(trials).scores(how), "success").interval)
        by_trials += 50 in present(named(trials.scores(how), "success").interval)
    assert 0.90 <= covered / repetitions <= 0.98
    assert by_trials / repetitions < 0.85


@pytest.mark.parametrize("won", [0, 1])
def test_intervals_without_spread_equal_those_of_single_trials(won: int) -> None:
    once = scored({f"item{index}": [won] for index in range(30)}, single=True)
    often = of_items(scored({f"item{index}": [won] * 3 for index in range(30)}))
    expected = named(once.scores(Resampling()), "success").interval
    scores = often.scores(Resampling(samples=50))
    for name in ("success", "pass^1", "pass^3"):
        assert named(scores, name).interval == expected
    assert named(scores, "turns").interval is None  # all items have the same mean


def test_systems_are_compared_by_item_means_over_all_trials() -> None:
    won = random_outcomes(80, 4, 3)
    once = {item: outcomes[:1] for item, outcomes in won.items()}
    systems = {"four": of_items(scored(won)), "one": of_items(scored(once, single=True))}
    comparison = compare(systems, resampling=Resampling(samples=200))
    assert comparison.groups[0].units == tuple(won)
    success = comparison.measure("success")
    assert success.test == RANDOMIZATION
    expected = 100 * (np.mean(list(once.values())) - np.mean(list(won.values())))
    assert present(success.of("one").difference).value == pytest.approx(expected)
    # The order of the systems does not matter, and systems without pass^k are listed.
    turned = compare(dict(reversed(systems.items())), resampling=Resampling(samples=200))
    assert turned.measure("success").test == RANDOMIZATION
    assert comparison.lacking["pass^4"] == ("one",)
    both = compare({"a": systems["one"], "b": systems["one"]}, resampling=Resampling(samples=50))
    assert both.measure("success").test == MCNEMAR


def test_unequal_trial_counts_cause_no_false_differences() -> None:
    repetitions, found = 150, 0
    for seed in range(repetitions):
        random = np.random.default_rng(seed)
        rates = random.beta(0.5, 0.5, size=(50, 1))
        won = (random.random((50, 6)) < rates).astype(int)
        mine = {f"item{i}": row[:5].tolist() for i, row in enumerate(won)}
        theirs = {f"item{i}": row[5:].tolist() for i, row in enumerate(won)}
        systems = {"five": of_items(scored(mine)), "one": of_items(scored(theirs, single=True))}
        success = compare(systems, resampling=Resampling(samples=200)).measure("success")
        found += present(present(success.of("one").difference).p_value) <= 0.05
    # 5 % within three standard errors; without pairing by item, almost no test would reject.
    assert 0.01 <= found / repetitions <= 0.11


outcomes = st.lists(st.booleans(), min_size=1, max_size=9)


@given(won=outcomes, data=st.data())
def test_pass_and_flip_rates_agree_with_enumerated_trial_subsets(
    won: list[bool], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(won)))
    chosen = list(itertools.combinations(won, k))
    successes, trials = sum(won), len(won)
    assert all_succeed(successes, trials, k) == sum(map(all, chosen)) / len(chosen)
    assert some_differ(successes, trials, k) == pytest.approx(
        sum(any(subset) and not all(subset) for subset in chosen) / len(chosen)
    )
    # pass@k is related to pass^k of the failures by its published formula.
    some_succeed = sum(map(any, chosen)) / len(chosen)
    assert some_succeed == pytest.approx(1 - all_succeed(trials - successes, trials, k))


@pytest.mark.parametrize(
    ("name", "item", "trial"),
    [
        ("sng0073#2", "sng0073", 2),
        ("sng0073", "sng0073", None),
        ("a#b#12", "a#b", 12),
        ("a#b", "a#b", None),
        ("#1", "#1", None),
        ("sng0073#", "sng0073#", None),
        ("sng0073#²", "sng0073#²", None),
        ("sng0073#1234567890", "sng0073#1234567890", None),
    ],
)
def test_trial_names_consist_of_item_and_trial_number(
    name: str, item: str, trial: int | None
) -> None:
    assert item_and_trial(name) == (item, trial)
    assert trial_name(item, trial) == name


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9)), max_size=12))
def test_each_item_counts_once_for_any_number_of_trials(rows: list[tuple[str, int]]) -> None:
    values = np.array([[number] for _, number in rows], dtype=float).reshape(len(rows), 1)
    units = tuple(f"{item}#{index}" for index, (item, _) in enumerate(rows))
    trials = Trials.of(Table(units, ("x",), values))
    table = trials.by_item()
    grouped = {item: [n for name, n in rows if name == item] for item, _ in rows}
    assert table.units == tuple(grouped)
    assert trials.counts.tolist() == [len(numbers) for numbers in grouped.values()]
    assert table.column("x").tolist() == [sum(n) / len(n) for n in grouped.values()]
    for usual in range(1, 13):
        enough = sum(len(numbers) >= usual for numbers in grouped.values())
        assert (usual <= trials.usual) == (2 * enough >= len(grouped) > 0)
