"""Statistics that do not depend on a data set: confidence intervals and significance tests.

* a rate whose units are the cases: `intervals.wilson`;
* a function of column sums: `bootstrap.percentile_interval` of `bootstrap.resampled_sums`;
* a statistic that is no function of sums (distinct words, entropies): `intervals.Jackknife`;
* two systems on the same units: `tests.mcnemar` for 0/1 outcomes, otherwise
  `bootstrap.swapped_differences` for the p value and resampled differences for the interval;
* many systems: `tests.holm`, then `tests.ranks`;
* several trials of each unit: `trials`; many runs of one system, and of two systems: `runs`.
"""
