"""Resample units, or swap them between two systems, and score the column sums.

A unit (a dialogue) is drawn or left as a whole, so cases within it (turns) may depend on each
other. How often each unit is drawn makes a matrix of samples × units; its product with the table
is every resampled column sum, whatever the scores are.

Two systems have two questions. How far might the difference be off, on other units like these? The
interval of differences of sums that are resampled together answers it. If the two were
exchangeable, how often would chance alone make a difference as large? `swapped_differences`, or
`tests.mcnemar` for 0/1 outcomes: only their p values hold for small samples and any score.

Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 6 and 13; Koehn,
"Statistical Significance Tests for Machine Translation Evaluation", EMNLP 2004; Riezler and
Maxwell, "On Some Pitfalls in Automatic Evaluation and Significance Testing for MT", 2005; Noreen,
Computer-Intensive Methods for Testing Hypotheses, 1989.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.score import Interval
from mwzeval.scores.table import Table

SAMPLES = 1000
SEED = 12345
"""Defaults; they belong into the signature of what they make."""

Sums: TypeAlias = Mapping[str, NDArray[np.float64]]
"""Column sums by column: one number a sample, each array of shape (samples,)."""

ScoreFunction: TypeAlias = Callable[[Sums], NDArray[np.float64]]
"""A score of column sums, for all samples at once: arrays of shape (samples,) in, one out.

Arithmetic on columns is already one (`lambda sums: 100 * sums["right"] / sums["all"]`). NaN and
infinity say that a sample has no score; NumPy's warnings about them are off while a score function
runs.
"""

BLOCK_CELLS = 2**21
"""Draws held at a time (some 50 MB); the numbers drawn do not depend on it."""


ROUNDING = 1e-12
"""Differences this close, relative to the scores, are equal but for the order of arithmetic."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnSums:
    """Column sums as observed (arrays of shape (1,)) and of drawn units (shape (samples,)).

    Two of the same units, samples and seed are paired: sample by sample the same units were drawn.
    """

    observed: Sums
    samples: Sums


def resampled_sums(
    tables: Sequence[Table], *, samples: int = SAMPLES, seed: int = SEED
) -> list[DrawnSums]:
    """Resample the units of tables, which have the same units, with replacement.

    Units are drawn in the order of their names. Counts come out exact, hence the same on every
    machine; for fractions the last bits are those of the linear-algebra library. Raises
    `ValueError` for tables with different units.
    """
    return _drawn_sums(tables, _resample_counts, samples, seed)


def given_sums(
    tables: Sequence[Table], *, samples: int = SAMPLES, seed: int = SEED
) -> list[DrawnSums]:
    """Choose units that each of several systems gives away, each with probability ½.

    One matrix product of coin flips with each table gives the sums for all pairs of them: what one
    gives away the other gets (`swapped_differences`). Otherwise as `resampled_sums`.
    """
    return _drawn_sums(tables, _coin_flips, samples, seed)


def swapped_differences(
    score: ScoreFunction, system: DrawnSums, baseline: DrawnSums
) -> Differences:
    """Return the differences of a score after swapping units of two systems, of their given sums.

    Their p value is that of approximate randomization: p = (1 + #{|d*| ≥ |d|}) / (1 + samples),
    where d* is the difference after swapping units at random; never below 1 / (1 + samples).
    """
    columns = system.observed
    change = {name: baseline.samples[name] - system.samples[name] for name in columns}
    return Differences.between(
        evaluate(score, {name: columns[name] + change[name] for name in columns}),
        evaluate(score, {name: baseline.observed[name] - change[name] for name in columns}),
        float(evaluate(score, columns)[0]),
        float(evaluate(score, baseline.observed)[0]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Observed and drawn differences of a score; scores within `tolerance` are equal.

    `centre` is what the samples of two equal systems would have for a mean.
    """

    observed: float
    samples: NDArray[np.float64]
    tolerance: float
    centre: float = 0.0

    @classmethod
    def between(
        cls,
        system: NDArray[np.float64],
        baseline: NDArray[np.float64],
        observed_system: float,
        observed_baseline: float,
    ) -> Differences:
        """Return the differences of samples, shape (samples,) each, and of observed scores."""
        with np.errstate(invalid="ignore"):
            samples = system - baseline
        tolerance = ROUNDING * max(abs(observed_system), abs(observed_baseline))
        return cls(observed_system - observed_baseline, samples, tolerance)

    def p_value(self) -> float:
        """Return how often a sample is as far from `centre` as the observed difference from 0."""
        far = abs(self.observed) - self.tolerance
        # Counted the other way round, so that samples without a score are among the far ones.
        near = int(np.count_nonzero(np.abs(self.samples - self.centre) < far))
        return (1 + self.samples.size - near) / (1 + self.samples.size)


def percentile_interval(values: NDArray[np.float64], confidence: float, method: str) -> Interval:
    """Return the middle `confidence` of the samples of a score, or of a paired difference.

    Samples without a value are left out and counted in `Interval.undefined`. The interval is that
    of the score on other units like these; it says nothing about another training run of the
    system. Not for statistics that resampling biases (see `Jackknife`). An interval of differences
    and their p value may disagree at the border.

    Raises:
        ValueError: When no sample has a value.
    """
    tail = (1 - confidence) / 2
    defined = values[np.isfinite(values)]
    if not defined.size:
        raise ValueError("the score is undefined in every sample, so there is no interval")
    low, high = np.quantile(defined, [tail, 1 - tail]).tolist()
    return Interval(low, high, confidence, method, values.size - defined.size)


def evaluate(score: ScoreFunction, sums: Sums) -> NDArray[np.float64]:
    """Return the score of each sample; without NumPy's warnings of samples that have none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(score(sums), dtype=np.float64)


def in_blocks(table: Table, size: int) -> Table:
    """Return a table whose units are `size` consecutive units added up, the last one what is left.

    For units that depend on their neighbours; at least some 50 blocks should remain. A block has
    the name of its first unit.
    """
    starts = range(0, len(table.units), size)
    if size == 1 or not starts:
        return table
    return Table(table.units[::size], table.columns, np.add.reduceat(table.values, starts, axis=0))


def _drawn_sums(
    tables: Sequence[Table],
    draw: Callable[[int, int, np.random.Generator], NDArray[np.float64]],
    samples: int,
    seed: int,
) -> list[DrawnSums]:
    """Return the sums of drawn units: `draw` returns how often each is, (samples, units)."""
    units = sorted(tables[0].units)
    if any(sorted(table.units) != units for table in tables):
        raise ValueError("tables that are resampled together must have the same rows")
    rows = [t.values[sorted(range(len(units)), key=t.units.__getitem__)] for t in tables]
    generator = np.random.Generator(np.random.PCG64(seed))
    size = max(1, BLOCK_CELLS // len(units))
    products = []
    for start in range(0, samples, size):
        drawn = draw(min(size, samples - start), len(units), generator)
        products.append([drawn @ values for values in rows])
    found = []
    for table, values, of_table in zip(tables, rows, zip(*products, strict=True), strict=True):
        observed = _by_column(table.columns, values.sum(axis=0))
        found.append(DrawnSums(observed, _by_column(table.columns, np.vstack(of_table))))
    return found


def _resample_counts(
    samples: int, units: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    # Uniform draws that are then counted: ten times as fast as Generator.multinomial.
    drawn = generator.integers(0, units, size=(samples, units))
    drawn += np.arange(0, samples * units, units)[:, np.newaxis]
    counts = np.bincount(drawn.ravel(), minlength=samples * units)
    return counts.reshape(samples, units).astype(np.float64)


def _coin_flips(samples: int, units: int, generator: np.random.Generator) -> NDArray[np.float64]:
    return generator.integers(0, 2, size=(samples, units)).astype(np.float64)


def _by_column(columns: Sequence[str], sums: NDArray[np.float64]) -> Sums:
    by_row = np.ascontiguousarray(np.atleast_2d(sums).T)
    return dict(zip(columns, by_row, strict=True))
