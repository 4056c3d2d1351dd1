"""The bootstrap of units and runs, checked with scipy, enumeration, simulation and rliable."""

from __future__ import annotations

import importlib
import itertools
import math
from dataclasses import astuple
from itertools import product
from statistics import mean
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest
from scipy import stats

from mwzeval.multiwoz.scoring.bleu import Bleu, tokenize
from mwzeval.pydial.results import Aggregate, interquartile_mean, probability_of_improvement
from mwzeval.scores.table import Table
from mwzeval.statistics import bootstrap
from mwzeval.statistics.bootstrap import (
    SEED,
    evaluate,
    given_sums,
    in_blocks,
    percentile_interval,
    resampled_sums,
)
from mwzeval.statistics.runs import ResampledRuns, standard_deviation, variance_components
from tests.tables import interval_of, paired, present, ratio, swapped, table_of

scipy_stats: Any = importlib.import_module("scipy.stats")


def systems(gain: float = 0.05, units: int = 300, seed: int = 0) -> tuple[Table, Table]:
    """Return two systems; given the difficulty of a unit, its turns are independent."""
    random = np.random.default_rng(seed)
    total = random.integers(3, 15, units)
    ease = random.beta(4, 2, units)
    system, baseline = (
        random.binomial(total, np.clip(ease + plus, 0, 1)).astype(float) for plus in (gain, 0)
    )
    return tuple(table_of(right=right, all=total.astype(float)) for right in (system, baseline))  # type: ignore[return-value]


def many_trials(trials: int, units: int, seed: int) -> tuple[Table, Table]:
    """Return two systems of equal quality, with a column of values for each trial."""
    random = np.random.default_rng(seed)
    ease = random.normal(0, 1, (units, trials))
    names = tuple(f"trial{trial}" for trial in range(trials))
    system, baseline = (ease + random.gumbel(0, 1, ease.shape) for _ in range(2))
    unit_names = tuple(map(str, range(units)))
    return Table(unit_names, names, system), Table(unit_names, names, baseline)


def drawn_counts(units: int, samples: int, seed: int = SEED) -> NDArray[np.float64]:
    """Return the number of times that each unit is drawn, shape (samples, units)."""
    names = tuple(f"{unit:03d}" for unit in range(units))
    [sums] = resampled_sums([Table(names, names, np.eye(units))], samples=samples, seed=seed)
    return np.stack([np.asarray(sums.samples[name], dtype=np.float64) for name in names], axis=1)


def test_each_bootstrap_sample_draws_as_many_units_as_the_table_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = drawn_counts(50, 2000)
    assert (counts.sum(axis=1) == 50).all()
    # Each count is binomial(50, 1/50): mean 1, variance 0.98, and 37 % of units are not drawn.
    assert counts.var() == pytest.approx(0.98, abs=0.02)
    assert (counts == 0).mean() == pytest.approx((1 - 1 / 50) ** 50, abs=0.01)
    assert abs(counts.mean(axis=0) - 1).max() < 0.1
    assert (counts[:10] != drawn_counts(50, 10, seed=2)).any()
    # A change of NumPy's random stream would change published intervals.
    known = [[0, 3, 0, 0, 3, 0], [0, 1, 1, 1, 1, 2], [0, 3, 0, 2, 1, 0]]
    assert drawn_counts(6, 3).tolist() == known
    whole = drawn_counts(37, 101)
    monkeypatch.setattr(bootstrap, "BLOCK_CELLS", 37 * 7 + 3)
    assert (drawn_counts(37, 101) == whole).all()


def test_resampled_sums_equal_sums_of_the_drawn_rows_in_any_order() -> None:
    table, other = systems(units=20)
    shuffled = table.select(sorted(table.units, key=lambda unit: unit[::-1]))
    counts = drawn_counts(20, 40, seed=3)
    for sums, source in (
        *zip(resampled_sums([table, other], samples=40, seed=3), (table, other), strict=True),
        (resampled_sums([shuffled], samples=40, seed=3)[0], table),
    ):
        for index, column in enumerate(source.columns):
            rows = (source.values[np.repeat(np.arange(20), n.astype(int)), index] for n in counts)
            assert sums.samples[column].tolist() == [row.sum() for row in rows]
            assert sums.observed[column].tolist() == [source.sums()[column]]


def test_intervals_of_a_score_and_of_a_difference_agree_with_scipy() -> None:
    system, baseline = systems()
    mine, theirs, total = system.column("right"), baseline.column("right"), system.column("all")
    how: dict[str, Any] = {"paired": True, "vectorized": True, "method": "percentile"}

    def expected(data: Any, statistic: Any) -> Any:
        random = np.random.default_rng(1)
        found = scipy_stats.bootstrap(data, statistic, n_resamples=20_000, rng=random, **how)
        return found.confidence_interval

    sums, against = resampled_sums([system, baseline], samples=20_000)
    difference = paired(ratio, sums, against)
    assert difference.observed == pytest.approx((mine.sum() - theirs.sum()) / total.sum())
    for interval, wanted in (
        (
            interval_of(ratio(sums.samples)),
            expected((mine, total), lambda a, n, axis: a.sum(axis=axis) / n.sum(axis=axis)),
        ),
        (
            interval_of(difference.samples),
            expected(
                (mine, theirs, total),
                lambda a, b, n, axis: (a.sum(axis=axis) - b.sum(axis=axis)) / n.sum(axis=axis),
            ),
        ),
    ):
        close = 0.04 * (wanted.high - wanted.low)
        assert (interval.low, interval.high) == pytest.approx((wanted.low, wanted.high), abs=close)
        assert interval.undefined == 0


def test_ratio_intervals_have_95_percent_coverage() -> None:
    trials, units = 1500, 250
    random = np.random.default_rng(7)
    total = random.integers(3, 15, (units, trials))
    right = random.binomial(total, random.beta(2, 1, (units, trials)))
    # The true rate is 2/3, because the length of a unit is independent of its rate.
    names = [f"{what}{trial}" for what in ("right", "all") for trial in range(trials)]
    values = np.hstack([right, total]).astype(float)
    [drawn] = resampled_sums([Table(tuple(map(str, range(units))), tuple(names), values)])
    rates = (
        drawn.samples[f"right{trial}"] / drawn.samples[f"all{trial}"] for trial in range(trials)
    )
    assert 0.93 <= np.mean([2 / 3 in interval_of(samples) for samples in rates]) <= 0.97


@pytest.mark.parametrize("test_type", ["ar", "bs"])
def test_p_values_of_bleu_agree_with_sacrebleu(test_type: Literal["ar", "bs"]) -> None:
    random = np.random.default_rng(31)
    words = [f"word{index}" for index in range(40)]
    references = [" ".join(random.choice(words, random.integers(6, 15))) for _ in range(120)]
    weak, strong = (
        [
            " ".join(w if random.random() < kept else random.choice(words) for w in text.split())
            for text in references
        ]
        for kept in (0.77, 0.8)
    )
    units = [f"sentence{index:03d}" for index in range(len(references))]
    bleu = Bleu("test", {u: [tokenize(text)] for u, text in zip(units, references, strict=True)})
    score = bleu.of

    def scored(texts: list[str]) -> Table:
        rows = bleu.rows((u, [tokenize(text)]) for u, text in zip(units, texts, strict=True))
        return Table.from_rows(bleu.columns, zip(units, rows, strict=True))

    baseline, better = scored(weak), scored(strong)
    theirs: Any = PairedTest(
        [("baseline", weak), ("system", strong)],
        {"BLEU": BLEU(references=[references])},
        None,
        test_type,
        2000,
    )()[1]["BLEU"][1]
    if test_type == "ar":
        ours = swapped(score, better, baseline, samples=2000).p_value()
    else:
        ours = paired(score, *resampled_sums([better, baseline], samples=2000)).p_value()
    assert 0.01 < ours < 0.1
    # sacreBLEU's bootstrap test shifts absolute differences, so it counts one tail only.
    sides = 1 if test_type == "ar" else 2
    assert ours == pytest.approx(sides * theirs.p_value, abs=0.015)


def test_randomization_tests_agree_with_enumeration_and_scipy() -> None:
    system, baseline = systems(gain=0.15, units=10)
    mine, theirs = system.column("right"), baseline.column("right")
    differences = [
        float(np.sum(np.array(signs) * (mine - theirs)))
        for signs in itertools.product((1, -1), repeat=10)
    ]
    exact = np.mean(np.abs(differences) >= abs(float(np.sum(mine - theirs))) - 1e-9)
    p_value = swapped(ratio, system, baseline, samples=20_000).p_value()
    assert p_value == pytest.approx(exact, abs=0.015)
    system, baseline = systems(gain=0.02)
    expected = scipy_stats.permutation_test(
        (system.column("right"), baseline.column("right")),
        lambda a, b, axis: a.sum(axis=axis) - b.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
        rng=np.random.default_rng(1),
    ).pvalue
    p_value = swapped(ratio, system, baseline, samples=10_000).p_value()
    assert p_value == pytest.approx(expected, abs=0.015)


def test_equal_systems_have_uniform_p_values_and_intervals_with_zero() -> None:
    system, baseline = many_trials(trials=1000, units=60, seed=21)
    scores = [lambda s, name=name: s[name] for name in system.columns]
    sums = given_sums([system, baseline])
    p_values = [bootstrap.swapped_differences(score, *sums).p_value() for score in scores]
    assert scipy_stats.kstest(p_values, "uniform").pvalue > 0.05
    drawn = resampled_sums(many_trials(trials=1000, units=200, seed=22))
    results = [paired(score, *drawn) for score in scores]
    assert scipy_stats.kstest([result.p_value() for result in results], "uniform").pvalue > 0.05
    assert 0.93 <= np.mean([0 in interval_of(result.samples) for result in results]) <= 0.97


def test_row_and_system_order_do_not_change_results() -> None:
    system, baseline = systems(gain=0.02)
    shuffled = system.select(sorted(system.units, key=lambda unit: unit[::-1]))
    expected = swapped(ratio, system, baseline)
    for mine, theirs, sign in (shuffled, baseline, 1), (baseline, system, -1):
        differences = swapped(ratio, mine, theirs)
        assert differences.observed == sign * expected.observed
        assert differences.p_value() == expected.p_value()
    sums, against = resampled_sums([system, baseline])
    forth, back = paired(ratio, sums, against), paired(ratio, against, sums)
    assert (back.observed, back.p_value()) == (-forth.observed, forth.p_value())
    assert (back.samples == -forth.samples).all()


def test_p_values_are_1_without_and_minimal_with_a_large_difference() -> None:
    system, baseline = systems(gain=0.3)
    sums, against = resampled_sums([system, baseline])
    same = paired(ratio, sums, sums)
    assert (same.observed, same.p_value()) == (0, 1)
    assert not same.samples.any()
    assert swapped(ratio, system, system).p_value() == 1
    assert swapped(ratio, system, baseline).p_value() == 1 / 1001
    assert paired(ratio, sums, against).p_value() == 1 / 1001
    # Pairing means that both systems are resampled with the same draws.
    mine, theirs = systems()
    widths = []
    for seed in (SEED, 9):
        drawn = (*resampled_sums([mine]), *resampled_sums([theirs], seed=seed))
        interval = interval_of(paired(ratio, *drawn).samples)
        widths.append(interval.high - interval.low)
    assert widths[0] < 0.8 * widths[1]


def test_samples_without_a_score_are_counted_and_increase_p_values() -> None:
    # One unit of five has the domain, so 0.8^5 = 33 % of the samples do not draw it.
    rare = np.array([1.0, 0, 0, 0, 0])
    [drawn] = resampled_sums([table_of(right=rare, all=rare)])
    interval = interval_of(evaluate(ratio, drawn.samples))
    assert (interval.low, interval.high) == (1, 1)
    assert interval.undefined == pytest.approx(328, abs=40)
    sometimes = table_of(right=np.array([1.0, 0]), all=np.array([1.0, 0]))
    never = table_of(right=np.zeros(2), all=np.ones(2))
    found = paired(ratio, *resampled_sums([sometimes, never]))
    undefined = interval_of(found.samples).undefined
    assert undefined == pytest.approx(250, abs=50)
    assert found.p_value() == (1 + undefined) / 1001
    assert percentile_interval(np.full(3, np.nan), 0.95, "bootstrap") is None


def test_resampling_tables_with_different_units_is_an_error() -> None:
    system, baseline = systems(units=5)
    for draw in (resampled_sums, given_sums):
        with pytest.raises(ValueError, match="the same rows"):
            draw([system, baseline.select(baseline.units[1:])])


def test_blocks_sum_consecutive_units() -> None:
    blocks = in_blocks(table_of(a=np.arange(5.0), b=np.ones(5)), 2)
    assert blocks.units == ("unit000000", "unit000002", "unit000004")
    assert blocks.values.tolist() == [[1, 2], [5, 2], [4, 1]]
    assert in_blocks(Table((), ("a",), np.zeros((0, 1))), 2).units == ()


def simulated(
    random: np.random.Generator, runs: int, units: int, run: float, unit: float, rest: float
) -> NDArray[np.float64]:
    return (
        random.normal(0, math.sqrt(run), (runs, 1))
        + random.normal(0, math.sqrt(unit), (1, units))
        + random.normal(0, math.sqrt(rest), (runs, units))
    )


def test_variance_component_estimates_are_unbiased() -> None:
    random = np.random.default_rng(1)
    tables = (simulated(random, 10, 60, run=0.5, unit=2, rest=1) for _ in range(400))
    run, unit, residual = np.mean([astuple(variance_components(table)) for table in tables], axis=0)
    assert run == pytest.approx(0.5, rel=0.06)
    assert unit == pytest.approx(2, rel=0.04)
    assert residual == pytest.approx(1, rel=0.02)


def test_standard_errors_predict_the_deviation_of_simulated_means() -> None:
    random = np.random.default_rng(2)
    means = [simulated(random, 5, 20, run=0.5, unit=2, rest=1).mean() for _ in range(3000)]
    components = variance_components(simulated(random, 400, 2000, run=0.5, unit=2, rest=1))
    assert components.standard_error(5, 20) == pytest.approx(np.std(means), rel=0.08)
    assert components.standard_error(1, 10**9) == pytest.approx(math.sqrt(components.run), rel=1e-6)


def test_variance_components_match_hand_computed_tables() -> None:
    # Run means 2 and 3, unit means 1 and 4, no residual: mean squares 2·0.5/1 = 1 and 2·4.5/1 = 9.
    found = variance_components(np.array([[0.5, 3.5], [1.5, 4.5]]))
    assert astuple(found) == pytest.approx((0.5, 4.5, 0))
    # All means are ½, the residual mean square is 8·¼/3, and negative variances become 0.
    found = variance_components(np.array([[0.0, 1, 0, 1], [1, 0, 1, 0]]))
    assert astuple(found) == pytest.approx((0, 0, 2 / 3))
    assert standard_deviation([60, 62, 64]) == 2


def tables(runs: int, units: int, seed: int, gain: float = 0.0) -> list[Table]:
    """Return runs of a system; given the unit and the run, turns are independent."""
    random = np.random.default_rng([1, seed])
    ease = np.random.default_rng(0).beta(4, 2, units)  # the same units for all systems
    total = np.random.default_rng(0).integers(3, 15, units)
    rates = (np.clip(ease + gain + random.normal(0, 0.04), 0, 1) for _ in range(runs))
    return [
        table_of(right=random.binomial(total, rate).astype(float), all=total.astype(float))
        for rate in rates
    ]


def resample(runs: list[Table], system: str, samples: int = 300, seed: int = SEED) -> ResampledRuns:
    sums = resampled_sums(runs, samples=samples, seed=seed)
    values = [float(ratio(run.observed)[0]) for run in sums]
    of_units = np.mean([ratio(run.samples) for run in sums], axis=0)
    return ResampledRuns.of(values, of_units, system=system, seed=seed)


@pytest.mark.parametrize("gain", [0.0, 0.03])
def test_hierarchical_bootstrap_of_single_runs_is_the_paired_bootstrap(gain: float) -> None:
    (system,), (baseline,) = tables(1, 80, seed=3, gain=gain), tables(1, 80, seed=4)
    expected = paired(ratio, *resampled_sums([system, baseline], samples=300))
    found = resample([system], "a") - resample([baseline], "b")
    assert (found.observed, found.p_value()) == (expected.observed, expected.p_value())
    assert (found.samples == expected.samples).all()


def literal_differences(
    mine: list[Table], theirs: list[Table], samples: int, seed: int
) -> NDArray[np.float64]:
    """Draw units, runs and the uncertainty of the run variance in a plain loop."""
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


def test_hierarchical_bootstrap_agrees_with_a_literal_implementation() -> None:
    mine, theirs = tables(3, 40, seed=5, gain=0.02), tables(4, 40, seed=6)
    found = resample(mine, "a", samples=20_000) - resample(theirs, "b", samples=20_000)
    literal = literal_differences(mine, theirs, samples=2000, seed=9)
    low, high = np.quantile(literal, [0.025, 0.975])
    interval = interval_of(found.samples)
    near = pytest.approx((low, high), abs=0.1 * (high - low))
    assert (interval.low, interval.high) == near
    far = np.abs(literal - np.median(literal)) >= abs(found.observed)
    assert found.p_value() == pytest.approx(far.mean(), abs=0.04)


def test_system_names_determine_the_draws_of_runs() -> None:
    mine = tables(3, 40, seed=5, gain=0.02)
    first, second = resample(mine, "a"), resample(mine, "b")
    assert (first.of_units == second.of_units).all()
    assert np.corrcoef(first.of_runs, second.of_runs)[0, 1] == pytest.approx(0, abs=0.2)
    assert (first - second).p_value() == 1


def test_resampled_runs_have_the_variance_of_their_mean() -> None:
    values = [0.2, 0.5, 0.3]
    runs = ResampledRuns.of(values, np.zeros(50_000), system="a")
    assert runs.value == pytest.approx(mean(values))
    assert np.var(runs.of_runs) == pytest.approx(np.var(values, ddof=1) / 3, rel=0.03)


@pytest.mark.parametrize("runs", [2, 3, 5])
@pytest.mark.parametrize("spread", [0.2, 1.0, 5.0])
def test_intervals_of_few_runs_cover_the_true_difference(runs: int, spread: float) -> None:
    """Sampling noise of a run has standard deviation 1; runs differ by `spread`."""
    random = np.random.default_rng([runs, int(10 * spread)])
    covered = rejected = 0
    trials, samples = 300, 400
    for trial in range(trials):
        # By the central limit theorem, resampled means are normal around the observed means.
        values = random.normal(0, spread, (2, runs)) + random.normal(0, 1, (2, runs))
        noise = random.normal(0, 1 / math.sqrt(runs), (2, samples))
        sides = [
            ResampledRuns.of(scores.tolist(), scores.mean() + noise[side], system=f"{side}{trial}")
            for side, scores in enumerate(values)
        ]
        found = sides[0] - sides[1]
        covered += 0 in interval_of(found.samples)
        rejected += found.p_value() <= 0.05
    assert covered / trials >= 0.92
    assert rejected / trials <= 0.08


values = st.lists(st.floats(-100, 100), min_size=1, max_size=5)


@given(values, values, st.floats(-50, 50), st.integers(0, 2**32))
def test_a_constant_added_to_all_runs_shifts_difference_and_interval(
    mine: list[float], theirs: list[float], plus: float, seed: int
) -> None:
    noise = np.random.default_rng(seed).normal(0, 1, (2, 200))

    def runs_of(values: list[float], system: int) -> ResampledRuns:
        of_units = mean(values) + noise[system]
        return ResampledRuns.of(values, of_units, system="ab"[system], seed=seed)

    before = runs_of(mine, 0) - runs_of(theirs, 1)
    after = runs_of([value + plus for value in mine], 0) - runs_of(theirs, 1)
    assert after.observed == pytest.approx(before.observed + plus, abs=1e-9)
    assert after.samples == pytest.approx(before.samples + plus, abs=1e-9, rel=1e-9)
    turned = runs_of(theirs, 1) - runs_of(mine, 0)
    assert (turned.observed, turned.p_value()) == (-before.observed, before.p_value())


def scores_of(runs: int, tasks: int, shift: int) -> NDArray[np.float64]:
    """Return arbitrary scores with ties."""
    run, task = np.indices((runs, tasks))
    return np.asarray((run * 37 + task * 53 + run * task * 7 + shift) % 61 + 3.0 * task)


FIRST, SECOND, FEW = scores_of(10, 18, 0), scores_of(10, 18, 5), scores_of(5, 3, 2)
# Value, low and high from 2,000 resamples (NumPy's seed 1) by rliable 1.2.0 with arch 5.6.0:
# `get_interval_estimates` of `aggregate_iqm` and `probability_of_improvement`.
FIGURES: list[tuple[Aggregate, tuple[float, float, float]]] = [
    (interquartile_mean(FIRST), (54.84444444444444, 52.1775, 57.522222222222226)),
    (interquartile_mean(SECOND), (56.05555555555556, 53.25361111111111, 58.61138888888889)),
    (interquartile_mean(FEW), (33.0, 21.33055555555556, 43.666666666666664)),
    (probability_of_improvement(FIRST, SECOND), (0.45277777778, 0.3947152777778, 0.5100069444444)),
    (probability_of_improvement(SECOND, FIRST), (0.54722222222, 0.4894444444444, 0.6052847222222)),
]


@pytest.mark.parametrize(("found", "figures"), FIGURES)
def test_aggregates_agree_with_rliable(
    found: Aggregate, figures: tuple[float, float, float]
) -> None:
    value, low, high = figures
    assert found.value == pytest.approx(value)
    interval = present(found.interval)
    # Both intervals are quantiles of 2,000 random resamples.
    near = pytest.approx((low, high), abs=0.08 * (high - low))
    assert (interval.low, interval.high) == near


def test_aggregate_intervals_resample_runs_within_tasks() -> None:
    """Two runs in two tasks have 2^4 resamples, which the test enumerates."""
    scores = np.array([[1.0, 20.0], [4.0, 30.0]])
    drawn = list(product((0, 1), repeat=4))
    means = [
        stats.trim_mean([*scores[[a, b], 0], *scores[[c, d], 1]], 0.25) for a, b, c, d in drawn
    ]
    found = present(interquartile_mean(scores).interval)
    assert (found.low, found.high) == (min(means), max(means))


def test_probability_of_improvement_counts_ties_as_half() -> None:
    mine, theirs = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [2.0]])
    assert probability_of_improvement(mine, theirs).value == pytest.approx(0.5)
    assert probability_of_improvement(mine + 5, theirs) == Aggregate(
        1.0, probability_of_improvement(mine + 9, theirs).interval
    )


def test_aggregates_of_one_run_have_no_interval() -> None:
    assert interquartile_mean(FIRST[:1]).interval is None
    assert probability_of_improvement(FIRST, SECOND[:1]).interval is None
