"""Two systems tested as a comparison tests them, from their tables or their resampled sums."""

from __future__ import annotations

from mwzeval.scores.table import Table
from mwzeval.statistics import (
    CONFIDENCE,
    SAMPLES,
    SEED,
    Differences,
    PairedBootstrap,
    ResampledSums,
    ScoreFunction,
    SwappedSums,
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
