"""Bootstrap of units: resample rows of a table, and score the resampled column sums.

A unit (a dialogue) is drawn or left as a whole, so cases within it (turns) may depend on each
other. How often each unit is drawn makes a matrix of samples × units; its product with the table
is every resampled column sum, whatever the scores are.

Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 6 and 13; for BLEU,
Koehn, "Statistical Significance Tests for Machine Translation Evaluation", EMNLP 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.score import Interval
from mwzeval.scores.table import Table
from mwzeval.statistics.intervals import CONFIDENCE, checked_confidence

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


@dataclass(frozen=True, slots=True, eq=False)
class ResampledSums:
    """Column sums as observed (arrays of shape (1,)) and of each resample (shape (samples,)).

    Two of the same units, samples and seed are paired: sample by sample the same units were drawn.
    """

    units: tuple[str, ...]
    seed: int
    observed: Sums
    samples: Sums
    n_samples: int


def resampled_sums(table: Table, *, samples: int = SAMPLES, seed: int = SEED) -> ResampledSums:
    """Resample the units of a table with replacement and return all column sums.

    The order of the table's rows does not matter: units are drawn in the order of their names.
    Counts come out exact, hence the same on every machine; for columns with fractions the last
    bits are those of the linear-algebra library. Memory is bounded for any number of units.

    Raises `ValueError` for a table without units or less than one sample.
    """
    return all_resampled_sums([table], samples=samples, seed=seed)[0]


def all_resampled_sums(
    tables: Sequence[Table], *, samples: int = SAMPLES, seed: int = SEED
) -> list[ResampledSums]:
    """Do as `resampled_sums` for each of several tables with equally many units, drawn only once.

    Raises `ValueError` where these numbers differ, too.
    """
    rows = [by_unit_name(table) for table in tables]
    draws = _count_blocks(common_length(rows), samples, seed)
    sums = products(draws, [table.values for table in rows])
    return [
        ResampledSums(
            units=of.units,
            seed=seed,
            observed=by_column(of.columns, of.values.sum(axis=0)),
            samples=by_column(of.columns, drawn),
            n_samples=samples,
        )
        for of, drawn in zip(rows, sums, strict=True)
    ]


def common_length(tables: Sequence[Table]) -> int:
    """Return how many units each table has. Raises `ValueError` where that is not the same."""
    lengths = {len(table.units) for table in tables}
    if len(lengths) != 1:
        raise ValueError(f"tables that are drawn together have equally many units, not {lengths}")
    return lengths.pop()


def products(
    blocks: Iterable[NDArray[np.float64]], values: Sequence[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Return draws, shape (some samples, units) a block, times each array of (units, columns)."""
    found = [[draws @ of_table for of_table in values] for draws in blocks]
    return [np.vstack(of_table) for of_table in zip(*found, strict=True)]


def bootstrap_interval(
    score: ScoreFunction, sums: ResampledSums, *, confidence: float = CONFIDENCE
) -> Interval:
    """Return the percentile interval of a score, in the unit of the score.

    Samples in which the score has no value are left out and counted in `Interval.undefined`.
    The interval is that of the score on other units like these; it says nothing about another
    training run of the system. Not for statistics that resampling biases (see `jackknife`).

    Raises `ValueError` when the score has a value in no sample.
    """
    return percentile_interval(evaluate(score, sums.samples), confidence, "bootstrap")


def resample_counts(n_units: int, samples: int = SAMPLES, seed: int = SEED) -> NDArray[np.uint32]:
    """Return how often each unit is drawn: shape (samples, n_units), each row sums to `n_units`.

    The draws of `resampled_sums`, from NumPy's PCG64. For 100,000 units it takes 400 kB a sample.
    """
    return np.vstack([block.astype(np.uint32) for block in _count_blocks(n_units, samples, seed)])


def _count_blocks(n_units: int, samples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    generator = np.random.Generator(np.random.PCG64(seed))
    for size in block_sizes(n_units, samples):
        # Uniform draws that are then counted: ten times as fast as Generator.multinomial.
        drawn = generator.integers(0, n_units, size=(size, n_units))
        drawn += np.arange(0, size * n_units, n_units)[:, np.newaxis]
        counts = np.bincount(drawn.ravel(), minlength=size * n_units)
        yield counts.reshape(size, n_units).astype(np.float64)


def block_sizes(n_units: int, samples: int) -> Iterator[int]:
    """Yield how many samples to hold at a time, adding up to `samples`.

    Raises:
        ValueError: Without units or samples.
    """
    if n_units < 1:
        raise ValueError("there are no units to resample")
    if samples < 1:
        raise ValueError(f"at least one sample is needed, not {samples}")
    size = max(1, BLOCK_CELLS // n_units)
    for start in range(0, samples, size):
        yield min(size, samples - start)


def in_blocks(table: Table, size: int) -> Table:
    """Return a table whose units are `size` consecutive units added up, the last one what is left.

    For units that depend on their neighbours; at least some 50 blocks should remain. A block has
    the name of its first unit.

    Raises:
        ValueError: For a size below 1.
    """
    if size < 1:
        raise ValueError(f"a block has at least one unit, not {size}")
    starts = range(0, len(table.units), size)
    if not starts:
        return table
    return Table(table.units[::size], table.columns, np.add.reduceat(table.values, starts, axis=0))


def by_unit_name(table: Table) -> Table:
    """Return the rows in the order of the units' names."""
    order = sorted(range(len(table.units)), key=table.units.__getitem__)
    return Table(tuple(table.units[row] for row in order), table.columns, table.values[order])


def by_column(columns: Sequence[str], sums: NDArray[np.float64]) -> Sums:
    """Return sums of shape (samples, columns), or one row of them, by column."""
    by_row = np.ascontiguousarray(np.atleast_2d(sums).T)
    return dict(zip(columns, by_row, strict=True))


def evaluate(score: ScoreFunction, sums: Sums) -> NDArray[np.float64]:
    """Return the score of each sample. Raises `ValueError` when it is not one number a sample."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.asarray(score(sums), dtype=np.float64)
    if not sums:
        raise ValueError("a table without columns has no scores")
    expected = next(iter(sums.values())).shape
    if scores.shape != expected:
        raise ValueError(
            f"a score function returns an array of shape {expected}, not {scores.shape}"
        )
    return scores


def percentile_interval(values: NDArray[np.float64], confidence: float, method: str) -> Interval:
    """Return the middle `confidence` of the defined values.

    Raises:
        ValueError: When no value is defined.
    """
    tail = (1 - checked_confidence(confidence)) / 2
    defined = values[np.isfinite(values)]
    if not defined.size:
        raise ValueError("the score has a value in no sample, so there is no interval")
    low, high = np.quantile(defined, [tail, 1 - tail]).tolist()
    return Interval(low, high, confidence, method, values.size - defined.size)
