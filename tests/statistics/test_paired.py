"""Paired bootstrap and randomisation: against scipy and enumeration, and under no difference."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from mwzeval.metrics.bleu import Bleu, tokenize
from mwzeval.scores.table import Table
from mwzeval.statistics import (
    given_sums,
    randomization_test,
    resampled_sums,
)
from tests.statistics.pairs import paired_bootstrap, randomization_test_of_units, swapped_sums
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


def test_the_interval_of_a_difference_agrees_with_scipy() -> None:
    system, baseline = systems()
    expected = scipy_stats.bootstrap(
        (system.column("right"), baseline.column("right"), system.column("all")),
        lambda a, b, n, axis: (a.sum(axis=axis) - b.sum(axis=axis)) / n.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=10_000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    result = paired_bootstrap(
        ratio, resampled_sums(system, samples=10_000), resampled_sums(baseline, samples=10_000)
    )
    width = expected.high - expected.low
    assert result.interval.low == pytest.approx(expected.low, abs=0.04 * width)
    assert result.interval.high == pytest.approx(expected.high, abs=0.04 * width)
    assert result.interval.method == "paired-bootstrap"
    assert result.difference == pytest.approx(
        system.sums()["right"] / system.sums()["all"]
        - baseline.sums()["right"] / baseline.sums()["all"]
    )


def test_pairing_makes_the_interval_narrower() -> None:
    system, baseline = systems()
    paired = paired_bootstrap(ratio, resampled_sums(system), resampled_sums(baseline))
    # The same seed is what pairs; rebuilt with another, the draws are independent.
    other = replace(resampled_sums(baseline, seed=9), seed=resampled_sums(system).seed)
    unpaired = paired_bootstrap(ratio, resampled_sums(system), other)
    assert paired.interval.high - paired.interval.low < 0.8 * (
        unpaired.interval.high - unpaired.interval.low
    )
    assert paired.p_value < unpaired.p_value


def test_randomisation_of_few_units_approaches_enumeration() -> None:
    system, baseline = systems(gain=0.15, units=10)
    mine, theirs = system.column("right"), baseline.column("right")
    differences = [
        float(np.sum(np.array(signs) * (mine - theirs)))
        for signs in itertools.product((1, -1), repeat=10)
    ]
    exact = np.mean(np.abs(differences) >= abs(float(np.sum(mine - theirs))) - 1e-9)
    result = randomization_test(ratio, swapped_sums(system, baseline, samples=20_000))
    assert result.p_value == pytest.approx(exact, abs=0.015)


def test_randomisation_agrees_with_scipy() -> None:
    system, baseline = systems(gain=0.02)
    expected = scipy_stats.permutation_test(
        (system.column("right"), baseline.column("right")),
        lambda a, b, axis: a.sum(axis=axis) - b.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
        rng=np.random.default_rng(1),
    ).pvalue
    result = randomization_test(ratio, swapped_sums(system, baseline, samples=10_000))
    assert result.p_value == pytest.approx(expected, abs=0.015)


def test_without_a_difference_p_values_of_randomisation_are_uniform() -> None:
    system, baseline = many_trials(trials=1000, units=60, seed=21)
    sums = swapped_sums(system, baseline)
    p_values = [
        randomization_test(lambda s, name=name: s[name], sums).p_value  # type: ignore[misc]
        for name in system.columns
    ]
    assert scipy_stats.kstest(p_values, "uniform").pvalue > 0.05


def test_without_a_difference_p_values_of_the_bootstrap_are_nearly_uniform() -> None:
    system, baseline = many_trials(trials=1000, units=200, seed=22)
    sums = resampled_sums(system), resampled_sums(baseline)
    results = [
        paired_bootstrap(lambda s, name=name: s[name], *sums)  # type: ignore[misc]
        for name in system.columns
    ]
    assert scipy_stats.kstest([result.p_value for result in results], "uniform").pvalue > 0.05
    assert 0.93 <= np.mean([0 in result.interval for result in results]) <= 0.97


def test_swapping_keeps_what_the_two_have_together() -> None:
    system, baseline = systems()
    sums = swapped_sums(system, baseline, samples=50)
    for column in system.columns:
        both = sums.system.samples[column] + sums.baseline.samples[column]
        assert (both == system.sums()[column] + baseline.sums()[column]).all()
    assert (sums.system.samples["right"] != system.sums()["right"]).all()


def test_a_statistic_of_units_is_swapped_as_sums_are() -> None:
    system, baseline = systems(gain=0.02, units=40)
    both = np.concatenate([system.values, baseline.values])

    def of_units(counts: NDArray[np.float64]) -> float:
        right, total = counts @ both
        return float(right / total)

    assert randomization_test_of_units(of_units, 40) == randomization_test(
        ratio, swapped_sums(system, baseline)
    )


@pytest.mark.parametrize("test_type", ["ar", "bs"])
def test_p_values_of_bleu_agree_with_sacrebleu(test_type: Literal["ar", "bs"]) -> None:
    random = np.random.default_rng(31)
    words = [f"word{index}" for index in range(40)]
    references = [" ".join(random.choice(words, random.integers(6, 15))) for _ in range(120)]

    def system(kept: float) -> Sequence[str]:
        return [
            " ".join(
                word if random.random() < kept else str(random.choice(words))
                for word in text.split()
            )
            for text in references
        ]

    texts = [("baseline", system(0.77)), ("system", system(0.8))]
    names = [f"sentence{index:03d}" for index in range(len(references))]
    bleu = Bleu("test", dict(zip(names, ([tokenize(text)] for text in references), strict=True)))
    baseline, better = (
        Table.from_rows(
            bleu.columns,
            zip(
                names,
                bleu.rows(zip(names, ([tokenize(text)] for text in hypotheses), strict=True)),
                strict=True,
            ),
        )
        for _, hypotheses in texts
    )
    samples = 2000
    theirs: Any = PairedTest(
        texts, {"BLEU": BLEU(references=[references])}, None, test_type, samples
    )()[1]["BLEU"][1]
    score = bleu.of
    ours = (
        randomization_test(score, swapped_sums(better, baseline, samples=samples)).p_value
        if test_type == "ar"
        else paired_bootstrap(
            score,
            resampled_sums(better, samples=samples),
            resampled_sums(baseline, samples=samples),
        ).p_value
    )
    assert 0.01 < ours < 0.1
    # sacreBLEU's bootstrap test shifts absolute differences, so it sees one tail of the two.
    sides = 1 if test_type == "ar" else 2
    assert ours == pytest.approx(sides * theirs.p_value, abs=0.015)


def test_the_order_of_rows_and_of_systems_changes_nothing() -> None:
    system, baseline = systems(gain=0.02)
    shuffled = system.select(sorted(system.units, key=lambda unit: unit[::-1]))
    expected = randomization_test(ratio, swapped_sums(system, baseline))
    assert randomization_test(ratio, swapped_sums(shuffled, baseline)) == expected
    reverse = randomization_test(ratio, swapped_sums(baseline, system))
    assert reverse == replace(expected, difference=-expected.difference)

    sums, against = resampled_sums(system), resampled_sums(baseline)
    forth = paired_bootstrap(ratio, sums, against)
    assert paired_bootstrap(ratio, resampled_sums(shuffled), against) == forth
    back = paired_bootstrap(ratio, against, sums)
    assert (back.difference, back.p_value) == (-forth.difference, forth.p_value)
    assert (back.interval.low, back.interval.high) == pytest.approx(
        (-forth.interval.high, -forth.interval.low)
    )


def test_a_system_does_not_differ_from_itself() -> None:
    system, _ = systems()
    sums = resampled_sums(system)
    bootstrap = paired_bootstrap(ratio, sums, sums)
    assert (bootstrap.difference, bootstrap.interval.low, bootstrap.interval.high) == (0, 0, 0)
    assert bootstrap.p_value == 1
    assert randomization_test(ratio, swapped_sums(system, system)).p_value == 1


def test_a_large_difference_has_the_smallest_p_value_that_samples_allow() -> None:
    system, baseline = systems(gain=0.3)
    assert randomization_test(ratio, swapped_sums(system, baseline)).p_value == 1 / 1001
    result = paired_bootstrap(ratio, resampled_sums(system), resampled_sums(baseline))
    assert result.p_value == 1 / 1001


def test_samples_without_a_score_speak_for_chance() -> None:
    nan_sometimes = table_of(right=np.array([1.0, 0]), all=np.array([1.0, 0]))
    never = table_of(right=np.array([0.0, 0]), all=np.array([1.0, 1]))
    result = randomization_test(ratio, swapped_sums(nan_sometimes, never))
    assert result.undefined == 0
    bootstrap = paired_bootstrap(ratio, resampled_sums(nan_sometimes), resampled_sums(never))
    assert bootstrap.interval.undefined == pytest.approx(250, abs=50)
    assert bootstrap.p_value == (1 + bootstrap.interval.undefined) / 1001


def test_a_score_without_a_value_cannot_be_compared() -> None:
    empty = table_of(right=np.zeros(3), all=np.zeros(3))
    full = table_of(right=np.ones(3), all=np.ones(3))
    with pytest.raises(ValueError, match="compare"):
        randomization_test(ratio, swapped_sums(full, empty))


def test_what_does_not_pair_is_an_error_that_says_why() -> None:
    system, baseline = systems(units=5)
    fewer = baseline.select(baseline.units[1:])
    with pytest.raises(ValueError, match="unit000000"):
        swapped_sums(system, fewer)
    (mine,) = given_sums([system])
    for how in ({"seed": 1}, {"samples": 9}):
        (theirs,) = given_sums([baseline], **how)
        with pytest.raises(ValueError, match="seed"):
            mine.swapped_with(theirs)
    with pytest.raises(ValueError, match="twice"):
        swapped_sums(system + system, baseline + baseline)
    with pytest.raises(ValueError, match="columns"):
        swapped_sums(system, Table(baseline.units, ("right", "every"), baseline.values))
