"""How sure a score is, and whether it differs from another: statistics that know no dataset.

Everything starts from units × additive columns, or from one number a unit:

* a rate whose units are the cases: `intervals.wilson`;
* any function of column sums: `bootstrap.resampled_sums`, then `bootstrap.bootstrap_interval`;
* a statistic that is no function of sums (distinct words, entropies): `intervals.Jackknife`;
* two systems on the same units: `tests.mcnemar` for 0/1 outcomes, `bootstrap.swapped_differences`
  for the p value and `bootstrap.Differences.interval` for the interval of any other difference;
* many systems: `tests.holm`, then `tests.ranks`;
* several trials of each unit: `trials`;
* many runs of one system, and of two systems: `runs`.
"""
