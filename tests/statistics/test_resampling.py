"""The bootstrap of units: draws, sums, intervals, against scipy, sacreBLEU and simulation."""

from __future__ import annotations

import hashlib
import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from mwzeval.metrics.bleu import Bleu, tokenize
from mwzeval.scores.table import Table
from mwzeval.statistics import (
    bootstrap_interval,
    in_blocks,
    resample_counts,
    resampled_sums,
    resampling,
)
from tests.tables import ratio, table_of

scipy_stats: Any = importlib.import_module("scipy.stats")


def turns(seed: int = 0, units: int = 300) -> Table:
    random = np.random.default_rng(seed)
    total = random.integers(3, 15, units)
    right = random.binomial(total, random.beta(2, 2, units))
    return table_of(right=right.astype(float), all=total.astype(float))


def test_every_sample_draws_as_many_units_as_there_are() -> None:
    counts = resample_counts(50, 2000)
    assert counts.shape == (2000, 50)
    assert (counts.sum(axis=1) == 50).all()
    # Each count is binomial(50, 1/50): mean 1, variance 0.98, and 37 % of units are not drawn.
    assert counts.var() == pytest.approx(0.98, abs=0.02)
    assert (counts == 0).mean() == pytest.approx((1 - 1 / 50) ** 50, abs=0.01)
    assert abs(counts.mean(axis=0) - 1).max() < 0.1


def test_the_draws_are_known() -> None:
    # A change of NumPy's stream would move published intervals: better noticed here.
    assert resample_counts(6, 3).tolist() == [
        [0, 3, 0, 0, 3, 0],
        [0, 1, 1, 1, 1, 2],
        [0, 3, 0, 2, 1, 0],
    ]


def test_sums_are_those_of_the_drawn_rows() -> None:
    table = turns(units=20)
    sums = resampled_sums(table, samples=40, seed=3)
    counts = resample_counts(20, 40, seed=3)
    for position, column in enumerate(table.columns):
        expected = [
            sum(table.values[np.repeat(np.arange(20), row), position].tolist()) for row in counts
        ]
        assert sums.samples[column].tolist() == expected
        assert sums.observed[column].tolist() == [table.sums()[column]]


def test_the_size_of_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = resample_counts(37, 101)
    monkeypatch.setattr(resampling, "BLOCK_CELLS", 37 * 7 + 3)
    assert (resample_counts(37, 101) == whole).all()


def test_the_order_of_rows_changes_nothing() -> None:
    table = turns()
    order = np.random.default_rng(1).permutation(len(table.units))
    shuffled = table.select([table.units[row] for row in order])
    assert bootstrap_interval(ratio, resampled_sums(table)) == bootstrap_interval(
        ratio, resampled_sums(shuffled)
    )


def test_another_seed_draws_other_units() -> None:
    assert (resample_counts(30, 10, seed=1) != resample_counts(30, 10, seed=2)).any()


@pytest.mark.integration
def test_another_process_gives_the_same_bytes() -> None:
    program = (
        "import hashlib; from mwzeval.statistics import resample_counts;"
        "print(hashlib.sha256(resample_counts(100, 100).tobytes()).hexdigest())"
    )
    there = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    here = hashlib.sha256(resample_counts(100, 100).tobytes()).hexdigest()
    assert there.stdout.strip() == here


def test_the_interval_agrees_with_scipy() -> None:
    table = turns()
    expected = scipy_stats.bootstrap(
        (table.column("right"), table.column("all")),
        lambda right, every, axis: right.sum(axis=axis) / every.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    interval = bootstrap_interval(ratio, resampled_sums(table, samples=20_000))
    width = expected.high - expected.low
    assert interval.low == pytest.approx(expected.low, abs=0.03 * width)
    assert interval.high == pytest.approx(expected.high, abs=0.03 * width)
    assert (interval.method, interval.undefined) == ("bootstrap", 0)


def test_the_interval_of_a_ratio_covers_the_truth_95_times_in_100() -> None:
    trials, units = 1500, 250
    random = np.random.default_rng(7)
    total = random.integers(3, 15, (units, trials))
    right = random.binomial(total, random.beta(2, 1, (units, trials)))
    # The truth is 2/3: how long a unit is does not depend on how well it goes.
    names = [f"{what}{trial}" for what in ("right", "all") for trial in range(trials)]
    values = np.hstack([right, total]).astype(float)
    sums = resampled_sums(Table(tuple(map(str, range(units))), tuple(names), values))

    def covers(trial: int) -> bool:
        interval = bootstrap_interval(lambda s: s[f"right{trial}"] / s[f"all{trial}"], sums)
        return 2 / 3 in interval

    assert 0.93 <= np.mean([covers(trial) for trial in range(trials)]) <= 0.97


def test_units_are_drawn_whole() -> None:
    # All turns of a dialogue are alike, so a hundred dialogues know no more than a hundred turns.
    random = np.random.default_rng(3)
    outcome = random.integers(0, 2, 100).astype(float)
    one = resampled_sums(table_of(right=outcome, all=np.ones(100)))
    many = resampled_sums(table_of(right=20 * outcome, all=np.full(100, 20.0)))
    assert bootstrap_interval(ratio, one) == bootstrap_interval(ratio, many)


def test_bleu_of_single_sentences_has_the_interval_of_sacrebleu() -> None:
    random = np.random.default_rng(11)
    words = [f"word{index}" for index in range(40)]
    references = [" ".join(random.choice(words, random.integers(6, 15))) for _ in range(200)]
    hypotheses = [
        " ".join(
            word if random.random() < 0.8 else str(random.choice(words)) for word in text.split()
        )
        for text in references
    ]
    names = [f"sentence{index:03d}" for index in range(len(references))]
    bleu = Bleu("test", dict(zip(names, ([tokenize(text)] for text in references), strict=True)))
    rows = bleu.rows(zip(names, ([tokenize(text)] for text in hypotheses), strict=True))
    table = Table.from_rows(bleu.columns, zip(names, rows, strict=True))
    # Typed as anything, because sacreBLEU keeps mean and half width in private attributes.
    theirs: Any = BLEU().corpus_score(hypotheses, [references], n_bootstrap=2000)
    score = bleu.of
    sums = resampled_sums(table, samples=2000)
    interval = bootstrap_interval(score, sums)
    assert score(sums.observed)[0] == pytest.approx(theirs.score)
    assert (interval.high - interval.low) / 2 == pytest.approx(theirs._ci, rel=0.08)
    assert (interval.high + interval.low) / 2 == pytest.approx(theirs._mean, abs=0.1 * theirs._ci)


def test_samples_without_a_score_are_left_out_and_counted() -> None:
    # One unit in five has the domain: 0.8^5 = 33 % of samples draw none.
    table = table_of(right=np.array([1.0, 0, 0, 0, 0]), all=np.array([1.0, 0, 0, 0, 0]))
    interval = bootstrap_interval(ratio, resampled_sums(table))
    assert (interval.low, interval.high) == (1, 1)
    assert interval.undefined == pytest.approx(328, abs=40)


def test_a_score_without_any_value_has_no_interval() -> None:
    with pytest.raises(ValueError, match="sample"):
        bootstrap_interval(ratio, resampled_sums(table_of(right=np.zeros(3), all=np.zeros(3))))


def test_a_score_function_returns_a_number_a_sample() -> None:
    with pytest.raises(ValueError, match=r"\(1000,\)"):
        bootstrap_interval(lambda sums: np.array(1.0), resampled_sums(turns()))


@pytest.mark.parametrize(("units", "samples"), [(0, 10), (10, 0), (-1, 10)])
def test_nothing_to_draw_is_an_error(units: int, samples: int) -> None:
    with pytest.raises(ValueError, match=r"unit|sample"):
        resample_counts(units, samples)


def test_blocks_add_up_consecutive_units() -> None:
    blocks = in_blocks(table_of(a=np.arange(5.0), b=np.ones(5)), 2)
    assert blocks.units == ("unit000000", "unit000002", "unit000004")
    assert blocks.values.tolist() == [[1, 2], [5, 2], [4, 1]]
    assert in_blocks(Table((), ("a",), np.zeros((0, 1))), 2).units == ()
    with pytest.raises(ValueError, match="unit"):
        in_blocks(blocks, 0)
