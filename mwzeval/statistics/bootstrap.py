"""Resample units, or swap units between two systems, and compute scores of the column sums.

A unit (a dialogue) is drawn as a whole, so cases within it (turns) may depend on each other. The
numbers of times that units are drawn form a matrix of samples × units. The product of this matrix
and the table has the column sums of every resample, and any score can be computed from these sums.

A comparison of two systems asks two questions. First, how much could the difference between the
systems vary on other units? The interval of differences answers the first question; for this
interval, the systems are resampled jointly. Second, if the systems were exchangeable, how often
would such a large difference occur by chance? The p value of the difference answers the second
question. `tests.mcnemar` computes the p value for 0/1 outcomes, and `swapped_differences` gives the
p value of any score. The p values of both methods are also valid for small samples.

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
"""The default number of samples and the default seed; the signature of a score states these
values."""

Sums: TypeAlias = Mapping[str, NDArray[np.float64]]
"""Column sums by column: arrays of shape (samples,), one number per sample."""

ScoreFunction: TypeAlias = Callable[[Sums], NDArray[np.float64]]
"""A function from column sums to a score: it takes and returns arrays of shape (samples,).

Arithmetic on columns is such a function (`lambda sums: 100 * sums["right"] / sums["all"]`). NaN and
infinity mean that a sample has no score. NumPy's warnings about them are disabled during the call
of a score function.
"""

BLOCK_CELLS = 2**21
"""The number of draws that are in memory at a time (about 50 MB); it does not affect the result."""


ROUNDING = 1e-12
"""The largest relative difference between equal scores that rounding in another order may cause."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnSums:
    """Observed column sums (arrays of shape (1,)) and sums of drawn units (shape (samples,)).

    Two objects with the same units, samples and seed are paired, that is, they draw the same units.
    """

    observed: Sums
    samples: Sums


def resampled_sums(
    tables: Sequence[Table], *, samples: int = SAMPLES, seed: int = SEED
) -> list[DrawnSums]:
    """Resample units with replacement, and return the column sums of each resample for each table.

    Units are drawn in the order of their names. Sums of counts are exact and therefore the same on
    every machine. Sums of fractions may differ in the last bits, depending on the linear-algebra
    library. Raises `ValueError` if the tables have different units.
    """
    return _drawn_sums(tables, _resample_counts, samples, seed)


def given_sums(
    tables: Sequence[Table], *, samples: int = SAMPLES, seed: int = SEED
) -> list[DrawnSums]:
    """Choose the units that two systems swap, each unit with probability ½.

    The same units are drawn for all systems, so one matrix product per table is enough for all
    pairs of systems (`swapped_differences`). See also `resampled_sums`.
    """
    return _drawn_sums(tables, _coin_flips, samples, seed)


def swapped_differences(
    score: ScoreFunction, system: DrawnSums, baseline: DrawnSums
) -> Differences:
    """Return the differences of a score after random swaps of units between two systems.

    The p value of approximate randomization is p = (1 + #{|d*| ≥ |d|}) / (1 + samples), where d* is
    the difference after random swaps. The p value of approximate randomization is never below 1 /
    (1 + samples).
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
    """Observed and resampled differences of a score; values within `tolerance` are equal.

    `centre` is the mean that the samples would have on average if the two systems were equal.
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
        """Return the differences of two arrays of samples, shape (samples,), and of two scores."""
        with np.errstate(invalid="ignore"):
            samples = system - baseline
        tolerance = ROUNDING * max(abs(observed_system), abs(observed_baseline))
        return cls(observed_system - observed_baseline, samples, tolerance)

    def p_value(self) -> float:
        """Return the share of samples as far from `centre` as the observed value is from 0."""
        far = abs(self.observed) - self.tolerance
        # The near samples are counted, so samples without a score (NaN) are counted as far.
        near = int(np.count_nonzero(np.abs(self.samples - self.centre) < far))
        return (1 + self.samples.size - near) / (1 + self.samples.size)


def percentile_interval(
    values: NDArray[np.float64], confidence: float, method: str
) -> Interval | None:
    """Return the interval with the middle share `confidence` of the samples.

    Returns None if no sample has a value. Samples without a value are excluded and counted in
    `Interval.undefined`. The interval describes how the score varies on other units of the same
    kind. The interval does not describe the variation between training runs of the system. Do not
    use percentile intervals for statistics that resampling biases (see `Jackknife`). The interval
    and the p value of a difference may disagree near the significance level.
    """
    tail = (1 - confidence) / 2
    defined = values[np.isfinite(values)]
    if not defined.size:
        return None
    low, high = np.quantile(defined, [tail, 1 - tail]).tolist()
    return Interval(low, high, confidence, method, values.size - defined.size)


def evaluate(score: ScoreFunction, sums: Sums) -> NDArray[np.float64]:
    """Return the score of each sample; warnings of NumPy about undefined scores are suppressed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(score(sums), dtype=np.float64)


def in_blocks(table: Table, size: int) -> Table:
    """Return a table of sums over blocks of `size` consecutive units; the last block may be short.

    Use blocks for units that depend on neighboring units; at least about 50 blocks should remain. A
    block has the name of its first unit.
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
    """Return the sums of drawn units; `draw` returns their counts, shape (samples, units)."""
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
    # Uniform draws, counted afterwards, are ten times as fast as `Generator.multinomial`.
    drawn = generator.integers(0, units, size=(samples, units))
    drawn += np.arange(0, samples * units, units)[:, np.newaxis]
    counts = np.bincount(drawn.ravel(), minlength=samples * units)
    return counts.reshape(samples, units).astype(np.float64)


def _coin_flips(samples: int, units: int, generator: np.random.Generator) -> NDArray[np.float64]:
    return generator.integers(0, 2, size=(samples, units)).astype(np.float64)


def _by_column(columns: Sequence[str], sums: NDArray[np.float64]) -> Sums:
    by_row = np.ascontiguousarray(np.atleast_2d(sums).T)
    return dict(zip(columns, by_row, strict=True))
