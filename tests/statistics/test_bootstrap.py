"""Draws, sums, intervals and swaps: against scipy, sacreBLEU, enumeration and simulation."""

from __future__ import annotations

import importlib
import itertools
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from mwzeval.metrics.bleu import Bleu, tokenize
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
from tests.statistics.pairs import interval_of, paired, swapped
from tests.tables import ratio, table_of

scipy_stats: Any = importlib.import_module("scipy.stats")


def systems(gain: float = 0.05, units: int = 300, seed: int = 0) -> tuple[Table, Table]:
    """Return two systems whose turns are right independently, given how hard the unit is."""
    random = np.random.default_rng(seed)
    total = random.integers(3, 15, units)
    ease = random.beta(4, 2, units)
    system, baseline = (
        random.binomial(total, np.clip(ease + plus, 0, 1)).astype(float) for plus in (gain, 0)
    )
    return tuple(table_of(right=right, all=total.astype(float)) for right in (system, baseline))  # type: ignore[return-value]


def many_trials(trials: int, units: int, seed: int) -> tuple[Table, Table]:
    """Return two systems without a difference, whose score is to be taken in many columns."""
    random = np.random.default_rng(seed)
    ease = random.normal(0, 1, (units, trials))
    names = tuple(f"trial{trial}" for trial in range(trials))
    system, baseline = (ease + random.gumbel(0, 1, ease.shape) for _ in range(2))
    unit_names = tuple(map(str, range(units)))
    return Table(unit_names, names, system), Table(unit_names, names, baseline)


def drawn_counts(units: int, samples: int, seed: int = SEED) -> NDArray[np.float64]:
    """Return how often each unit is drawn, shape (samples, units)."""
    names = tuple(f"{unit:03d}" for unit in range(units))
    [sums] = resampled_sums([Table(names, names, np.eye(units))], samples=samples, seed=seed)
    return np.stack([np.asarray(sums.samples[name], dtype=np.float64) for name in names], axis=1)


def test_every_sample_draws_as_many_units_as_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = drawn_counts(50, 2000)
    assert (counts.sum(axis=1) == 50).all()
    # Each count is binomial(50, 1/50): mean 1, variance 0.98, and 37 % of units are not drawn.
    assert counts.var() == pytest.approx(0.98, abs=0.02)
    assert (counts == 0).mean() == pytest.approx((1 - 1 / 50) ** 50, abs=0.01)
    assert abs(counts.mean(axis=0) - 1).max() < 0.1
    assert (counts[:10] != drawn_counts(50, 10, seed=2)).any()
    # A change of NumPy's stream would move published intervals: better noticed here.
    known = [[0, 3, 0, 0, 3, 0], [0, 1, 1, 1, 1, 2], [0, 3, 0, 2, 1, 0]]
    assert drawn_counts(6, 3).tolist() == known
    whole = drawn_counts(37, 101)
    monkeypatch.setattr(bootstrap, "BLOCK_CELLS", 37 * 7 + 3)
    assert (drawn_counts(37, 101) == whole).all()


def test_sums_are_those_of_the_drawn_rows_in_any_order() -> None:
    table, other = systems(units=20)
    shuffled = table.select(sorted(table.units, key=lambda unit: unit[::-1]))
    counts = drawn_counts(20, 40, seed=3)
    for sums, of in (
        *zip(resampled_sums([table, other], samples=40, seed=3), (table, other), strict=True),
        (resampled_sums([shuffled], samples=40, seed=3)[0], table),
    ):
        for position, column in enumerate(of.columns):
            rows = (of.values[np.repeat(np.arange(20), n.astype(int)), position] for n in counts)
            assert sums.samples[column].tolist() == [row.sum() for row in rows]
            assert sums.observed[column].tolist() == [of.sums()[column]]


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


def test_the_interval_of_a_ratio_covers_the_truth_95_times_in_100() -> None:
    trials, units = 1500, 250
    random = np.random.default_rng(7)
    total = random.integers(3, 15, (units, trials))
    right = random.binomial(total, random.beta(2, 1, (units, trials)))
    # The truth is 2/3: how long a unit is does not depend on how well it goes.
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
    baseline, better = (
        Table.from_rows(
            bleu.columns,
            zip(
                units,
                bleu.rows((u, [tokenize(t)]) for u, t in zip(units, texts, strict=True)),
                strict=True,
            ),
        )
        for texts in (weak, strong)
    )
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
    # sacreBLEU's bootstrap test shifts absolute differences, so it sees one tail of the two.
    sides = 1 if test_type == "ar" else 2
    assert ours == pytest.approx(sides * theirs.p_value, abs=0.015)


def test_randomisation_agrees_with_enumeration_and_scipy() -> None:
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


def test_without_a_difference_p_values_are_uniform_and_intervals_have_0() -> None:
    system, baseline = many_trials(trials=1000, units=60, seed=21)
    scores = [lambda s, name=name: s[name] for name in system.columns]
    sums = given_sums([system, baseline])
    p_values = [bootstrap.swapped_differences(score, *sums).p_value() for score in scores]
    assert scipy_stats.kstest(p_values, "uniform").pvalue > 0.05
    drawn = resampled_sums(many_trials(trials=1000, units=200, seed=22))
    results = [paired(score, *drawn) for score in scores]
    assert scipy_stats.kstest([result.p_value() for result in results], "uniform").pvalue > 0.05
    assert 0.93 <= np.mean([0 in interval_of(result.samples) for result in results]) <= 0.97


def test_the_order_of_rows_and_of_systems_changes_nothing() -> None:
    system, baseline = systems(gain=0.02)
    shuffled = system.select(sorted(system.units, key=lambda unit: unit[::-1]))
    expected = swapped(ratio, system, baseline)
    found = [(shuffled, baseline, 1), (baseline, system, -1)]
    for mine, theirs, sign in found:
        differences = swapped(ratio, mine, theirs)
        assert differences.observed == sign * expected.observed
        assert differences.p_value() == expected.p_value()
    sums, against = resampled_sums([system, baseline])
    forth, back = paired(ratio, sums, against), paired(ratio, against, sums)
    assert (back.observed, back.p_value()) == (-forth.observed, forth.p_value())
    assert (back.samples == -forth.samples).all()


def test_the_ends_no_difference_and_a_large_one() -> None:
    system, baseline = systems(gain=0.3)
    sums, against = resampled_sums([system, baseline])
    same = paired(ratio, sums, sums)
    assert (same.observed, same.p_value()) == (0, 1)
    assert not same.samples.any()
    assert swapped(ratio, system, system).p_value() == 1
    assert swapped(ratio, system, baseline).p_value() == 1 / 1001
    assert paired(ratio, sums, against).p_value() == 1 / 1001
    # The same draws are what pairs.
    mine, theirs = systems()
    together, apart = (
        interval_of(
            paired(ratio, *resampled_sums([mine]), *resampled_sums([theirs], seed=seed)).samples
        )
        for seed in (SEED, 9)
    )
    assert together.high - together.low < 0.8 * (apart.high - apart.low)


def test_samples_without_a_score_are_counted_and_speak_for_chance() -> None:
    # One unit in five has the domain: 0.8^5 = 33 % of samples draw none.
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


def test_tables_of_other_units_are_not_drawn_together() -> None:
    system, baseline = systems(units=5)
    for draw in (resampled_sums, given_sums):
        with pytest.raises(ValueError, match="the same rows"):
            draw([system, baseline.select(baseline.units[1:])])


def test_blocks_add_up_consecutive_units() -> None:
    blocks = in_blocks(table_of(a=np.arange(5.0), b=np.ones(5)), 2)
    assert blocks.units == ("unit000000", "unit000002", "unit000004")
    assert blocks.values.tolist() == [[1, 2], [5, 2], [4, 1]]
    assert in_blocks(Table((), ("a",), np.zeros((0, 1))), 2).units == ()
