"""How sure a score is, and whether it differs from another: statistics that know no dataset.

Everything starts from units × additive columns, or from one number a unit:

* a rate whose units are the cases — `wilson`;
* any function of column sums — `resampled_sums`, then `bootstrap_interval`;
* a statistic that is no function of sums (distinct words, entropies) — `jackknife`;
* two systems on the same units — `mcnemar` for 0/1 outcomes, `randomization_test` for the p value
  and `Differences.bootstrap` for the interval of any other difference, `wins_ties_losses` for a
  look;
* many systems — `holm`, then `ranks`;
* several trials of each unit — `Trials`, `all_succeed` (pass^k), `some_differ`;
* many runs of one system — `across_runs`, `variance_components`; of two, `ResampledRuns` and
  `hierarchical_bootstrap`.
"""

from mwzeval.scores.score import Interval
from mwzeval.statistics.intervals import CONFIDENCE, Jackknife, UnitStatistic, jackknife, wilson
from mwzeval.statistics.paired import (
    Differences,
    GivenSums,
    McNemar,
    PairedBootstrap,
    PairedRandomization,
    SwappedSums,
    WinsTiesLosses,
    coin_flips,
    given_sums,
    mcnemar,
    randomization_test,
    wins_ties_losses,
)
from mwzeval.statistics.ranking import Place, holm, ranks
from mwzeval.statistics.resampling import (
    SAMPLES,
    SEED,
    ResampledSums,
    ScoreFunction,
    Sums,
    all_resampled_sums,
    bootstrap_interval,
    in_blocks,
    resample_counts,
    resampled_sums,
)
from mwzeval.statistics.runs import (
    FEWEST_RUNS,
    HIERARCHICAL,
    AcrossRuns,
    ResampledRuns,
    VarianceComponents,
    across_runs,
    hierarchical_bootstrap,
    variance_components,
)
from mwzeval.statistics.trials import Trials, all_succeed, item_of_trial, some_differ

__all__ = [
    "CONFIDENCE",
    "FEWEST_RUNS",
    "HIERARCHICAL",
    "SAMPLES",
    "SEED",
    "AcrossRuns",
    "Differences",
    "GivenSums",
    "Interval",
    "Jackknife",
    "McNemar",
    "PairedBootstrap",
    "PairedRandomization",
    "Place",
    "ResampledRuns",
    "ResampledSums",
    "ScoreFunction",
    "Sums",
    "SwappedSums",
    "Trials",
    "UnitStatistic",
    "VarianceComponents",
    "WinsTiesLosses",
    "across_runs",
    "all_resampled_sums",
    "all_succeed",
    "bootstrap_interval",
    "coin_flips",
    "given_sums",
    "hierarchical_bootstrap",
    "holm",
    "in_blocks",
    "item_of_trial",
    "jackknife",
    "mcnemar",
    "randomization_test",
    "ranks",
    "resample_counts",
    "resampled_sums",
    "some_differ",
    "variance_components",
    "wilson",
    "wins_ties_losses",
]
