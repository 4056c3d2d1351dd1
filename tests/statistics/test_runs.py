"""Many runs: variance against textbooks, the two-level bootstrap against simulation, rliable."""

from __future__ import annotations

import math
from itertools import product
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from mwzeval.pydial.aggregates import Aggregate, interquartile_mean, probability_of_improvement
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import SEED, resampled_sums
from mwzeval.statistics.runs import (
    ResampledRuns,
    standard_deviation,
    variance_components,
)
from tests.statistics.pairs import interval_of, paired
from tests.tables import ratio, table_of


def simulated(
    random: np.random.Generator, runs: int, units: int, run: float, unit: float, rest: float
) -> NDArray[np.float64]:
    return (
        random.normal(0, math.sqrt(run), (runs, 1))
        + random.normal(0, math.sqrt(unit), (1, units))
        + random.normal(0, math.sqrt(rest), (runs, units))
    )


def test_components_are_recovered_on_average() -> None:
    random = np.random.default_rng(1)
    found = [
        variance_components(simulated(random, 10, 60, run=0.5, unit=2, rest=1)) for _ in range(400)
    ]
    assert np.mean([components.run for components in found]) == pytest.approx(0.5, rel=0.06)
    assert np.mean([components.unit for components in found]) == pytest.approx(2, rel=0.04)
    assert np.mean([components.residual for components in found]) == pytest.approx(1, rel=0.02)


def test_the_standard_error_is_how_much_a_mean_over_runs_and_units_varies() -> None:
    random = np.random.default_rng(2)
    means = [simulated(random, 5, 20, run=0.5, unit=2, rest=1).mean() for _ in range(3000)]
    components = variance_components(simulated(random, 400, 2000, run=0.5, unit=2, rest=1))
    assert components.standard_error(5, 20) == pytest.approx(np.std(means), rel=0.08)
    assert components.standard_error(1, 10**9) == pytest.approx(math.sqrt(components.run), rel=1e-6)


def test_components_of_a_table_done_by_hand() -> None:
    # Run means 2 and 3, unit means 1 and 4; nothing is left: squares 2·0.5/1 = 1 and 2·4.5/1 = 9.
    components = variance_components(np.array([[0.5, 3.5], [1.5, 4.5]]))
    assert components.run == pytest.approx(0.5)
    assert components.unit == pytest.approx(4.5)
    assert components.residual == pytest.approx(0)


def test_runs_that_do_not_differ_have_no_variance_below_0() -> None:
    outcomes = np.array([[0.0, 1, 0, 1], [1, 0, 1, 0]])
    components = variance_components(outcomes)
    assert (components.run, components.unit) == (0, 0)
    assert components.residual > 0


def test_standard_deviation_is_that_of_a_sample() -> None:
    assert standard_deviation([60, 62, 64]) == 2


def tables(runs: int, units: int, seed: int, gain: float = 0.0) -> list[Table]:
    """Return runs of a system whose turns are right independently, given unit and run."""
    random = np.random.default_rng([1, seed])
    ease = np.random.default_rng(0).beta(4, 2, units)  # that of the units, for all systems
    total = np.random.default_rng(0).integers(3, 15, units)
    return [
        table_of(
            right=random.binomial(
                total, np.clip(ease + gain + random.normal(0, 0.04), 0, 1)
            ).astype(float),
            all=total.astype(float),
        )
        for _ in range(runs)
    ]


def resampled(of: list[Table], system: str, samples: int = 300, seed: int = SEED) -> ResampledRuns:
    sums = resampled_sums(of, samples=samples, seed=seed)
    values = [float(ratio(each.observed)[0]) for each in sums]
    of_units = np.mean([ratio(each.samples) for each in sums], axis=0)
    return ResampledRuns.of(values, of_units, system=system, seed=seed)


@pytest.mark.parametrize("gain", [0.0, 0.03])
def test_with_one_run_each_it_is_the_paired_bootstrap(gain: float) -> None:
    (system,), (baseline,) = tables(1, 80, seed=3, gain=gain), tables(1, 80, seed=4)
    expected = paired(ratio, *resampled_sums([system, baseline], samples=300))
    found = resampled([system], "a") - resampled([baseline], "b")
    assert (found.observed, found.p_value()) == (expected.observed, expected.p_value())
    assert (found.samples == expected.samples).all()


def literal_differences(
    mine: list[Table], theirs: list[Table], samples: int, seed: int
) -> NDArray[np.float64]:
    """Draw units, runs and the uncertainty of their variance one by one, with other draws."""
    random = np.random.default_rng(seed)
    units = len(mine[0].units)
    freedom = len(mine) + len(theirs) - 2

    def score(table: Table, chosen: NDArray[np.int64]) -> float:
        right = total = 0.0
        for unit in chosen.tolist():
            right += table.values[unit, 0]
            total += table.values[unit, 1]
        return right / total

    everything = np.arange(units)
    found = []
    for _ in range(samples):
        chosen = random.integers(0, units, units)
        widened = math.sqrt(freedom / random.chisquare(freedom))
        sides = []
        for runs in (mine, theirs):
            observed = [score(run, everything) for run in runs]
            drawn = [observed[random.integers(len(runs))] for _ in runs]
            of_runs = (mean(drawn) - mean(observed)) * math.sqrt(len(runs) / (len(runs) - 1))
            sides.append(mean(score(run, chosen) for run in runs) + widened * of_runs)
        found.append(sides[0] - sides[1])
    return np.array(found)


def test_it_agrees_with_a_literal_bootstrap_of_units_and_runs() -> None:
    mine, theirs = tables(3, 40, seed=5, gain=0.02), tables(4, 40, seed=6)
    found = resampled(mine, "a", samples=20_000) - resampled(theirs, "b", samples=20_000)
    literal = literal_differences(mine, theirs, samples=2000, seed=9)
    low, high = np.quantile(literal, [0.025, 0.975])
    interval = interval_of(found.samples)
    near = pytest.approx((low, high), abs=0.1 * (high - low))
    assert (interval.low, interval.high) == near
    far = np.abs(literal - np.median(literal)) >= abs(found.observed)
    assert found.p_value() == pytest.approx(far.mean(), abs=0.04)


def test_names_of_systems_decide_the_draws() -> None:
    mine = tables(3, 40, seed=5, gain=0.02)
    first, second = resampled(mine, "a"), resampled(mine, "b")
    assert (first.of_units == second.of_units).all()
    assert np.corrcoef(first.of_runs, second.of_runs)[0, 1] == pytest.approx(0, abs=0.2)
    assert (first - second).p_value() == 1


def test_runs_that_are_equal_add_nothing_to_the_interval() -> None:
    (system,), (baseline,) = tables(1, 80, seed=3), tables(1, 80, seed=4)
    one = resampled([system], "a") - resampled([baseline], "b")
    three = resampled([system] * 3, "a") - resampled([baseline] * 2, "b")
    assert three.p_value() == one.p_value()
    assert three.samples == pytest.approx(one.samples)


def test_the_variance_of_resampled_runs_is_that_of_their_mean() -> None:
    values = [0.2, 0.5, 0.3]
    runs = ResampledRuns.of(values, np.zeros(50_000), system="a")
    assert runs.value == pytest.approx(mean(values))
    assert np.var(runs.of_runs) == pytest.approx(np.var(values, ddof=1) / 3, rel=0.03)


@pytest.mark.parametrize("runs", [2, 3, 5])
@pytest.mark.parametrize("spread", [0.2, 1.0, 5.0])
def test_intervals_of_few_runs_cover_the_difference_of_the_systems(
    runs: int, spread: float
) -> None:
    """The noise of units is 1 for a run, independent between runs; `spread` is that of runs."""
    random = np.random.default_rng([runs, int(10 * spread)])
    covered = rejected = 0
    trials, samples = 300, 400
    for trial in range(trials):
        # By the central limit theorem, resampled means are normal around the observed ones.
        values = random.normal(0, spread, (2, runs)) + random.normal(0, 1, (2, runs))
        sides = [
            ResampledRuns.of(
                of.tolist(),
                of.mean() + random.normal(0, 1 / math.sqrt(runs), samples),
                system=f"{side}{trial}",
            )
            for side, of in enumerate(values)
        ]
        found = sides[0] - sides[1]
        covered += 0 in interval_of(found.samples)
        rejected += found.p_value() <= 0.05
    assert covered / trials >= 0.92
    assert rejected / trials <= 0.08


@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=5),
    st.lists(st.floats(-100, 100), min_size=1, max_size=5),
    st.floats(-50, 50),
    st.integers(0, 2**32),
)
def test_what_is_added_to_all_runs_is_added_to_the_difference_and_its_interval(
    mine: list[float], theirs: list[float], plus: float, seed: int
) -> None:
    noise = np.random.default_rng(seed).normal(0, 1, (2, 200))

    def of(values: list[float], system: int) -> ResampledRuns:
        of_units = mean(values) + noise[system]
        return ResampledRuns.of(values, of_units, system="ab"[system], seed=seed)

    before = of(mine, 0) - of(theirs, 1)
    after = of([value + plus for value in mine], 0) - of(theirs, 1)
    assert after.observed == pytest.approx(before.observed + plus, abs=1e-9)
    assert after.samples == pytest.approx(before.samples + plus, abs=1e-9, rel=1e-9)
    turned = of(theirs, 1) - of(mine, 0)
    assert (turned.observed, turned.p_value()) == (-before.observed, before.p_value())


def scores_of(runs: int, tasks: int, shift: int) -> NDArray[np.float64]:
    """Return scores of no meaning, some of them equal."""
    run, task = np.indices((runs, tasks))
    return np.asarray((run * 37 + task * 53 + run * task * 7 + shift) % 61 + 3.0 * task)


FIRST, SECOND, FEW = scores_of(10, 18, 0), scores_of(10, 18, 5), scores_of(5, 3, 2)
# Value, low and high of 2,000 resamples (NumPy's seed 1) by rliable 1.2.0 with arch 5.6.0:
# `get_interval_estimates` of `aggregate_iqm` and `probability_of_improvement`.
FIGURES: list[tuple[Aggregate, tuple[float, float, float]]] = [
    (interquartile_mean(FIRST), (54.84444444444444, 52.1775, 57.522222222222226)),
    (interquartile_mean(SECOND), (56.05555555555556, 53.25361111111111, 58.61138888888889)),
    (interquartile_mean(FEW), (33.0, 21.33055555555556, 43.666666666666664)),
    (
        probability_of_improvement(FIRST, SECOND),
        (0.4527777777777778, 0.3947152777777778, 0.5100069444444445),
    ),
    (
        probability_of_improvement(SECOND, FIRST),
        (0.5472222222222223, 0.48944444444444446, 0.6052847222222222),
    ),
]


@pytest.mark.parametrize(("found", "figures"), FIGURES)
def test_aggregates_are_those_of_rliable(
    found: Aggregate, figures: tuple[float, float, float]
) -> None:
    value, low, high = figures
    assert found.value == pytest.approx(value)
    assert found.interval is not None
    # Both are quantiles of 2,000 random resamples.
    near = pytest.approx((low, high), abs=0.08 * (high - low))
    assert (found.interval.low, found.interval.high) == near


def test_intervals_are_of_all_resamples_within_tasks() -> None:
    """Two runs in two tasks have 2^4 resamples, which can be listed."""
    scores = np.array([[1.0, 20.0], [4.0, 30.0]])
    drawn = list(product((0, 1), repeat=4))
    means = [
        stats.trim_mean([*scores[[a, b], 0], *scores[[c, d], 1]], 0.25) for a, b, c, d in drawn
    ]
    found = interquartile_mean(scores).interval
    assert found is not None
    assert (found.low, found.high) == (min(means), max(means))


def test_probabilities_count_ties_half() -> None:
    mine, theirs = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [2.0]])
    assert probability_of_improvement(mine, theirs).value == pytest.approx(0.5)
    assert probability_of_improvement(mine + 5, theirs) == Aggregate(
        1.0, probability_of_improvement(mine + 9, theirs).interval
    )


def test_one_run_has_no_interval() -> None:
    assert interquartile_mean(FIRST[:1]).interval is None
    assert probability_of_improvement(FIRST, SECOND[:1]).interval is None
