"""Statistics that do not depend on a data set: confidence intervals and significance tests.

* a rate with one case per unit (Success of dialogues): `intervals.wilson`;
* a function of column sums: `bootstrap.percentile_interval` of `bootstrap.resampled_sums`;
* a statistic that is not a function of sums (distinct words): `intervals.Jackknife`;
* two systems on the same units: `tests.mcnemar` for 0/1 outcomes, otherwise
  `bootstrap.swapped_differences` for the p value and resampled differences for the interval;
* many systems: `tests.holm`, then `tests.ranks`;
* several trials of each unit: `trials`; several runs of one or two systems: `runs`.
"""
