"""Two systems tested as a comparison tests them, from their tables or their resampled sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.table import Table
from mwzeval.statistics import (
    CONFIDENCE,
    SAMPLES,
    SEED,
    Differences,
    PairedBootstrap,
    PairedRandomization,
    ResampledSums,
    ScoreFunction,
    SwappedSums,
    UnitStatistic,
    coin_flips,
    given_sums,
)


def paired_bootstrap(
    score: ScoreFunction, system: ResampledSums, baseline: ResampledSums
) -> PairedBootstrap:
    """Return interval and test of sums that have drawn the same units."""
    return Differences.of(score, system, baseline).bootstrap(CONFIDENCE)


def swapped_sums(
    system: Table, baseline: Table, *, samples: int = SAMPLES, seed: int = SEED
) -> SwappedSums:
    """Return the sums of both after each unit was swapped with probability ½."""
    (mine,), (theirs,) = (
        given_sums([table], samples=samples, seed=seed) for table in (system, baseline)
    )
    return mine.swapped_with(theirs)


def randomization_test_of_units(
    statistic: UnitStatistic, n_units: int, *, samples: int = SAMPLES, seed: int = SEED
) -> PairedRandomization:
    """Do as `randomization_test` for any statistic of the units that each system has.

    `statistic` gets an array of shape (2 * n_units,): which units of the system count, then which
    of the baseline, in the same order. It is called 2 * (samples + 1) times.

    Raises `ValueError` without units or samples, or when the observed difference has no value.
    """

    def scores(swapped: NDArray[np.float64]) -> tuple[float, float]:
        kept = 1 - swapped
        return (
            statistic(np.concatenate([kept, swapped])),
            statistic(np.concatenate([swapped, kept])),
        )

    drawn = [scores(flips) for block in coin_flips(n_units, samples, seed) for flips in block]
    mine, theirs = np.array(drawn, dtype=np.float64).T
    return Differences.between(mine, theirs, *scores(np.zeros(n_units))).randomization()
