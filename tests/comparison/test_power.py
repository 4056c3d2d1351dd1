"""Variance of trials, power of tests, and advice, checked with statsmodels and simulation."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.comparison.power import Spread, TwoSided, spread_of
from tests.command_lines import Run
from tests.places import GOOD, shared
from tests.tables import present

STATSMODELS = (
    (5, 45, 600, 0.05, 0.776879284166638),
    (2, 30, 1000, 0.01, 0.32002093319668407),
    (10, 60, 100, 0.05, 0.38479102357134537),
    (1, 50, 200, 0.05, 0.05921402616781093),
)
"""Difference, standard deviation, items, level and power, from `NormalIndPower().power(difference
/ deviation, items, level, ratio=0)` of statsmodels 0.15.0."""
SMALLEST = (
    (45, 600, TwoSided(0.05, 0.8), 5.146836932531139),
    (30, 1000, TwoSided(0.01, 0.9), 3.659377092100376),
)
"""Results of `solve_power(nobs1=items, alpha=…, power=…, ratio=0)` times the deviation."""
NEEDED = (
    (5, 45, TwoSided(0.05, 0.8), 635.7577033893629),
    (2, 30, TwoSided(0.01, 0.9), 3347.862110116971),
)
"""Results of `solve_power(effect_size=…, alpha=…, power=…, ratio=0)`."""


def test_power_smallest_difference_and_items_agree_with_statsmodels() -> None:
    for difference, deviation, items, alpha, expected in STATSMODELS:
        error = Spread(deviation**2, None).standard_error(items, 1)
        for signed in (difference, -difference):
            assert TwoSided(alpha).power_of(signed, error) == pytest.approx(expected, rel=1e-9)
    for deviation, items, test, smallest in SMALLEST:
        error = Spread(deviation**2, None).standard_error(items, 1)
        assert test.errors * error == pytest.approx(smallest, rel=2e-5)
        assert test.power_of(smallest, error) == pytest.approx(test.power, rel=5e-5)
    for difference, deviation, test, needed in NEEDED:
        assert test.items_needed(difference, Spread(deviation**2, None), 1) == math.ceil(needed)
    assert TwoSided().power_of(1, 0) == 1
    assert TwoSided().power_of(0, 0) == 0.05


def test_trials_needed_is_the_smallest_sufficient_number() -> None:
    spread, test = Spread(300, 1500), TwoSided()
    for items in (20, 60, 100, 200, 400, 900):
        trials = test.trials_needed(5, spread, items)
        if trials is None:
            assert test.items_needed(5, spread, math.inf) > items
        else:
            assert test.items_needed(5, spread, trials) <= items
            assert trials == 1 or test.items_needed(5, spread, trials - 1) > items
    assert test.trials_needed(5, Spread(1800, None), 10) is None


def test_spreads_with_equal_trial_counts_agree_with_anova() -> None:
    from scipy.stats import f_oneway

    random = np.random.default_rng(5)
    scores = list(random.normal(0, 1, size=(30, 1)) + random.normal(0, 2, size=(30, 4)))
    spread = spread_of(scores)
    within = present(spread.within)
    assert within == pytest.approx(np.mean([np.var(row, ddof=1) for row in scores]))
    squares = 4 * np.var([row.mean() for row in scores], ddof=1)
    assert squares / within == pytest.approx(f_oneway(*scores).statistic)
    assert spread.between == pytest.approx(max(0, (squares - within) / 4))


def test_spreads_with_unequal_trial_counts_are_unbiased() -> None:
    random = np.random.default_rng(7)
    numbers = random.integers(1, 6, size=40)
    found = []
    for _ in range(200):
        items = zip(random.normal(0, 3, size=40), numbers, strict=True)
        spread = spread_of([item + random.normal(0, 2, size=n) for item, n in items])
        found.append((spread.between, present(spread.within)))
    between, within = np.mean(found, axis=0)
    assert between == pytest.approx(9, rel=0.1)
    assert within == pytest.approx(4, rel=0.05)


def test_spreads_of_single_trials_have_no_within_item_variance() -> None:
    spread = spread_of([np.array([score]) for score in (1.0, 0, 0, 1)])
    assert spread.between == pytest.approx(1 / 3)
    assert spread.within is None


def test_predicted_power_agrees_with_simulated_systems() -> None:
    """The outcomes of both systems in the pilot are correlated over items."""
    random = np.random.default_rng(11)

    def trials(items: int, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rates = random.beta(1.2, 0.8, size=(items, 1))
        theirs = 0.7 * rates + 0.3 * random.beta(1, 1, size=(items, 1)) - 0.07
        mine, theirs = (
            (random.random((items, number)) < np.clip(rate, 0, 1)).astype(float)
            for rate in (rates, theirs)
        )
        return mine, theirs

    mine, theirs = trials(4000, 5)
    spread = spread_of(list(mine), list(theirs))
    difference = float(np.subtract(*trials(300_000, 1)).mean())
    test, repetitions = TwoSided(), 1000
    for items, number in ((60, 1), (60, 4), (150, 2)):
        means = [scores.mean(axis=1) for scores in trials(repetitions * items, number)]
        differences = np.subtract(*means).reshape(repetitions, items)
        errors = differences.std(axis=1, ddof=1) / math.sqrt(items)
        found = np.count_nonzero(np.abs(differences.mean(axis=1)) > 1.96 * errors)
        expected = test.power_of(difference, spread.standard_error(items, number))
        allowed = 4 * math.sqrt(expected * (1 - expected) / repetitions)
        assert found / repetitions == pytest.approx(expected, abs=allowed)


def test_equal_clusters_agree_with_statsmodels_errors_and_variances() -> None:
    """The expected numbers are results of statsmodels 0.15.0 on the data below.

    They are `OLS(d, 1).fit(cov_type="cluster", cov_kwds={"groups": g}).bse`, and `cov_re` and
    `scale` of `MixedLM(d, 1, groups=g).fit(reml=True)`, which iterates.
    """
    random = np.random.default_rng(21)
    group = np.repeat(np.arange(40), 5)
    values = list(np.round(random.normal(0, 0.6, 40)[group] + random.normal(0, 1, 200), 3)[:, None])
    spread = spread_of(values, clusters=group.tolist())
    assert spread.standard_error(200, 1) == pytest.approx(0.10933835640822154, rel=1e-9)
    assert spread.shared / 5 == pytest.approx(0.31363003, rel=1e-5)
    assert spread.between == pytest.approx(0.822824521524637, rel=1e-5)
    assert spread_of(values, [np.array([0.0])] * 200, clusters=group.tolist()) == spread


def in_clusters(
    random: np.random.Generator, sizes: NDArray[np.int64], trials: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draw clusters (variance 4), items (variance 2) and trials (variance 9)."""
    labels = np.repeat(np.arange(sizes.size), sizes)
    items = random.normal(0, 2, sizes.size)[labels] + random.normal(0, math.sqrt(2), labels.size)
    return labels, items[:, np.newaxis] + random.normal(0, 3, size=(labels.size, trials))


def test_spreads_of_unequal_clusters_and_trials_are_unbiased() -> None:
    random = np.random.default_rng(23)
    sizes = random.integers(1, 7, size=40)
    numbers = random.integers(1, 4, size=int(sizes.sum()))
    found = []
    for _ in range(300):
        labels, scores = in_clusters(random, sizes, 3)
        kept = [row[:n] for row, n in zip(scores, numbers.tolist(), strict=True)]
        spread = spread_of(kept, clusters=labels.tolist())
        found.append((spread.shared, spread.between, present(spread.within)))
    size = float(sizes @ sizes / sizes.sum())
    assert np.mean(found, axis=0).tolist() == pytest.approx([4 * size, 2, 9], rel=0.07)


def test_clusters_of_one_item_have_no_shared_variance() -> None:
    random = np.random.default_rng(27)
    scores = list(random.normal(0, 1, size=(30, 1)) + random.normal(0, 2, size=(30, 3)))
    alone = spread_of(scores, clusters=range(30))
    without = spread_of(scores)
    assert alone.between == pytest.approx(without.between)
    assert alone.shared == 0
    other = list(random.normal(0, 1, size=(30, 3)))
    difference = spread_of(scores, other, clusters=range(30))
    assert difference.between == pytest.approx(spread_of(scores, other).between)


Power = Callable[..., Any]


@pytest.fixture
def power(run: Run) -> Power:
    return lambda *words: json.loads(run("power", *words, "-f", "json").out)


def write(folder: Path, name: str, outcomes: np.ndarray[Any, Any]) -> str:
    lines = [
        f"item{item},{trial},{outcome:g}"
        for item, row in enumerate(outcomes)
        for trial, outcome in enumerate(row)
    ]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(["item,trial,success", *lines, ""]), encoding="utf-8")
    return str(path)


@pytest.mark.integration
def test_power_of_a_published_pilot_agrees_with_a_manual_computation(power: Power) -> None:
    file = str(shared("data", "agents", "tau_bench_gpt-4o_airline_rewards.tsv"))
    found = power(file, "--difference", "10", "--goals", "50", "--trials", "1,4")
    rows = np.loadtxt(file, skiprows=1)
    outcomes = 100 * rows[np.lexsort((rows[:, 1], rows[:, 0])), 2].reshape(50, 4)
    within = np.var(outcomes, axis=1, ddof=1).mean()
    between = np.var(outcomes.mean(axis=1), ddof=1) - within / 4
    (pilot,) = found["pilots"].values()
    assert pilot["value"] == 42
    assert pilot["variance_between_items"] == pytest.approx(between)
    assert pilot["variance_between_trials"] == pytest.approx(within)
    smallest = {(d["trials"], d["assumption"]): d["smallest_difference"] for d in found["designs"]}
    for trials in (1, 4):
        for assumption, of_items in (("independent", 2 * between), ("alike", 0)):
            error = math.sqrt((of_items + 2 * within / trials) / 50)
            assert smallest[trials, assumption] == pytest.approx(2.801585 * error, rel=1e-6)
    # A system is perfectly correlated with itself, which gives the best case ("alike").
    both = power(file, file, "--goals", "50", "--trials", "1,4")
    (paired,) = {d["smallest_difference"] for d in both["designs"] if d["trials"] == 4}
    assert paired == pytest.approx(smallest[4, "alike"])


def test_two_pilots_determine_the_correlation_between_systems(tmp_path: Path, power: Power) -> None:
    random = np.random.default_rng(3)
    rates = random.random((400, 1))
    mine = write(tmp_path, "mine", random.random((400, 3)) < rates)
    theirs = write(tmp_path, "theirs", random.random((400, 3)) < 0.5 * rates + 0.25)
    asked = ("--goals", "300", "--trials", "2")
    (of_two,) = power(mine, theirs, *asked)["designs"]
    independent, alike = power(mine, *asked)["designs"]
    assert of_two["assumption"] == "paired"
    smallest = [design["smallest_difference"] for design in (alike, of_two, independent)]
    assert smallest == sorted({*smallest})


def clustered(path: Path, seed: int) -> str:
    """Write scores of 60 clusters of three items that are correlated within a cluster."""
    random = np.random.default_rng(seed)
    lines = [
        f"item{cluster}-{item},text{cluster},{level + random.normal(0, 1):.3f}"
        for cluster, level in enumerate(random.normal(0, 1, 60))
        for item in range(3)
    ]
    path.write_text("\n".join(["item,cluster,score", *lines, ""]), encoding="utf-8")
    return str(path)


def test_clusters_increase_the_number_of_items_needed(power: Power, tmp_path: Path) -> None:
    files = [clustered(tmp_path / f"{name}.csv", seed) for seed, name in enumerate("ab")]
    found = power(files[0], "--goals", "180")
    clusters = found["clusters"]
    assert (clusters["number"], clusters["size"]) == (60, 3)
    assert clusters["design_effect"] == pytest.approx(1 + 2 * clusters["correlation"])
    assert clusters["correlation"] == pytest.approx(0.5, abs=0.15)
    # With clusters of equal size, the standard error is that of the cluster means.
    rows = [line.split(",") for line in Path(files[0]).read_text("utf-8").split()[1:]]
    means = np.array([float(row[2]) for row in rows]).reshape(60, 3).mean(axis=1)
    error = math.sqrt(2 * np.var(means, ddof=1) / 60)
    assert found["designs"][0]["smallest_difference"] == pytest.approx(2.801585 * error, rel=1e-6)
    both = power(*files, "--goals", "180")
    (variances,) = both["variance_of_difference"].values()
    assert variances["between_clusters"] == pytest.approx(2, rel=0.4)


def test_advice_depends_on_the_number_of_available_items(tmp_path: Path, power: Power) -> None:
    random = np.random.default_rng(4)
    outcomes = random.random((200, 4)) < random.choice((0.3, 0.7), size=(200, 1))
    file = write(tmp_path, "pilot", outcomes)
    for arguments, advice in (
        ("20", "take 1 trial of"),
        ("20 --goals 4000", "take 1 trial of"),
        ("20 --goals 40", "trials of each of 40 items"),
        ("2 --goals 40", "items are needed: with 40 items, no difference below"),
    ):
        found = power(file, "--difference", *arguments.split())
        assert advice in found["advice"].partition(";")[0]


def test_the_corpus_size_limits_the_items_unless_goals_are_given(power: Power) -> None:
    for asked, items in (((), {50, 62}), (("--goals", "200"), {200})):
        found = power(GOOD, "-s", "--difference", "3", *asked)
        assert found["items_in_corpus"] == 62
        assert {design["items"] for design in found["designs"]} == items
        assert "more than the corpus has" in found["advice"]
        assert "adding items" not in found["advice"]
    assert "adding items" in power(GOOD, "-s", "--goals", "20")["advice"]


@pytest.mark.integration
@pytest.mark.usefixtures("elsewhere")
def test_items_of_live_runs_are_limited_only_with_all_goals_of_a_corpus(
    power: Power, run: Run
) -> None:
    live = ("live", "--agent", "rule-convlab", "--corpus", "sample", "-q", "-o")
    for goals, known in (("corpus:test", 62), ("corpus:test:40", None), ("sampled:30", None)):
        assert run(*live, f"{goals}.jsonl", "--goals", goals).code == 0
        assert power(f"{goals}.jsonl", "--difference", "3")["items_in_corpus"] == known
